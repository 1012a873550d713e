"""The table of matched regions, one row a region of an image and the sentence of a caption that it shows."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow
from pyarrow import parquet

from hnclip.store import write_rows

SCHEMA = pyarrow.schema(
    [
        ("id", pyarrow.string()),  # the image's
        ("caption", pyarrow.int32()),  # row of the manifest
        ("left", pyarrow.int32()),  # pixels of the image as stored, ends exclusive
        ("top", pyarrow.int32()),
        ("right", pyarrow.int32()),
        ("bottom", pyarrow.int32()),
        ("start", pyarrow.int32()),  # characters of the sentence in the caption, end exclusive
        ("end", pyarrow.int32()),
        ("score", pyarrow.float32()),  # cosine of the region's and the sentence's embedding
    ]
)
BOX = ["left", "top", "right", "bottom"]
_SHOWN = 20


def write_segments(path: Path, rows: list[dict[str, Any]] | pandas.DataFrame) -> None:
    """Write matched regions, sorted by caption, then the best score first, then by box.

    Raises ValueError naming what is wrong with them.
    """
    frame = pandas.DataFrame(rows, columns=None if len(rows) else SCHEMA.names)
    wrong = sorted(set(SCHEMA.names) ^ set(frame.columns))
    if wrong:
        raise ValueError(f"{path} was not written: missing or unknown columns: {', '.join(wrong)}")
    _stop(f"{path} was not written", frame, _impossible(frame))
    frame = frame.assign(score=frame["score"].astype(np.float32))
    down = [name != "score" for name in ["caption", "score", *BOX]]
    frame = frame.sort_values(["caption", "score", *BOX], ascending=down, kind="stable", ignore_index=True)
    write_rows(path, pyarrow.Table.from_pandas(frame[SCHEMA.names], schema=SCHEMA, preserve_index=False))


def refuse_none(path: Path, rows: int, images: int) -> None:
    """Raise ValueError where a whole split has no region: its cells would train on nothing of it without a word."""
    if not rows:
        raise ValueError(
            f"{path} was not written: no region of any of the {images} images was kept; widen `area` in the options of "
            "these segments, or take another kind"
        )


def read_segments(path: Path) -> pandas.DataFrame:
    """The matched regions, sorted. Raises FileNotFoundError, or ValueError for a file that is none, naming it."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no regions at {path}: run `python -m hnclip.data.derive.segments` for this split")
    try:
        table = parquet.read_table(path)
    except (pyarrow.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{path} is damaged ({reason}); delete it and run again") from error
    missing = [name for name in SCHEMA.names if name not in table.column_names]
    if missing:
        raise ValueError(
            f"{path} is no table of regions: it lacks the columns {', '.join(missing)} "
            f"(it has {', '.join(table.column_names)}); delete it and run again"
        )
    try:
        frame = table.select(SCHEMA.names).cast(SCHEMA).to_pandas()
    except (pyarrow.ArrowException, ValueError) as error:
        raise ValueError(f"{path} is damaged ({error}); delete it and run again") from error
    _stop(f"{path} is damaged (delete it and run again)", frame, _impossible(frame))
    step, fall = np.diff(frame["caption"]), np.diff(frame["score"])
    if (step < 0).any() or ((step == 0) & (fall > 0)).any():
        raise ValueError(f"{path} is damaged: rows are not sorted by caption and score; delete it and run again")
    return frame


def read_segments_of(path: Path, manifest: pandas.DataFrame) -> pandas.DataFrame:
    """As `read_segments`; raises ValueError where the table was not made from this manifest."""
    frame = read_segments(path)
    beyond = frame["caption"] >= len(manifest)
    _stop(f"{path} belongs to another manifest", frame, {"no such caption": beyond})
    own = manifest.iloc[frame["caption"]].reset_index(drop=True)
    faults = {
        "another image's caption": frame["id"] != own["id"],
        "the box leaves the image": (frame["right"] > own["width"]) | (frame["bottom"] > own["height"]),
        "the sentence leaves the caption": frame["end"] > own["caption"].str.len(),
    }
    _stop(f"{path} belongs to another manifest; delete it and run again", frame, faults)
    return frame


def best(frame: pandas.DataFrame, count: int) -> pandas.DataFrame:
    """The first `count` rows of every caption, which are its best; the order is kept."""
    return frame.groupby("caption", sort=False).head(count).reset_index(drop=True)


def _impossible(frame: pandas.DataFrame) -> dict[str, pandas.Series]:
    empty = (frame["left"] >= frame["right"]) | (frame["top"] >= frame["bottom"])
    return {
        "values are missing": frame[SCHEMA.names].isna().any(axis=1),
        "no such caption": frame["caption"] < 0,
        "the box is empty": empty,
        "the box leaves the image": (frame["left"] < 0) | (frame["top"] < 0),
        "the sentence is empty": (frame["start"] < 0) | (frame["start"] >= frame["end"]),
        "the score is not finite": ~np.isfinite(frame["score"].astype(float)),
    }


def _stop(what: str, frame: pandas.DataFrame, faults: dict[str, pandas.Series]) -> None:
    """Raise ValueError where any row is at fault, naming the first rows of each fault."""
    lines = []
    for fault, rows in faults.items():
        at_fault = frame[rows.to_numpy(bool)]
        if len(at_fault):
            named = ", ".join(f"row {row} ({name})" for row, name in at_fault["id"].head(_SHOWN).items())
            lines.append(
                f"{fault}: {named}" + (f" and {len(at_fault) - _SHOWN} more" if len(at_fault) > _SHOWN else "")
            )
    if lines:
        raise ValueError(f"{what}: {'; '.join(lines)}")
