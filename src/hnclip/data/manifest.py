"""The manifest: the one table that every benchmark becomes, one row a caption."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas
import pyarrow
from pyarrow import parquet

from hnclip.store import write_rows

SCHEMA = pyarrow.schema(
    [
        ("id", pyarrow.string()),  # the image's; rows of one image share it and are adjacent
        ("image", pyarrow.string()),  # path, absolute or from the manifest's folder
        ("caption", pyarrow.string()),
        ("sentences", pyarrow.list_(pyarrow.string())),
        ("boxes", pyarrow.list_(pyarrow.list_(pyarrow.int32()))),  # one a sentence: left, top, right, bottom, or null
        ("family", pyarrow.string()),  # the id where there are no families
        ("split", pyarrow.string()),
        ("width", pyarrow.int32()),  # of the image as stored, before any EXIF rotation
        ("height", pyarrow.int32()),
        ("sha256", pyarrow.string()),  # of the image file's bytes
    ]
)


def write_manifest(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write one split's rows as a whole file. Raises ValueError naming what is wrong with them."""
    faults = _faults(rows)
    if faults:
        raise ValueError(f"{path} was not written: {'; '.join(faults)}")
    write_rows(path, pyarrow.Table.from_pylist(rows, schema=SCHEMA))


def read_manifest(path: Path) -> pandas.DataFrame:
    """The rows of a manifest; sentences and boxes are Python lists, strings stay as they were written."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no manifest at {path}: prepare the benchmark first (python -m hnclip.data.prepare)")
    try:
        found = parquet.read_schema(path)
    except pyarrow.ArrowException as error:
        raise ValueError(f"{path} is no Parquet file ({error}); prepare the benchmark again") from error
    missing = [name for name in SCHEMA.names if name not in found.names]
    if missing:
        raise ValueError(
            f"{path} is no manifest: it lacks the columns {', '.join(missing)} (it has {', '.join(found.names)}); "
            "prepare the benchmark again"
        )
    try:
        rows = parquet.read_table(path, columns=SCHEMA.names).cast(SCHEMA).to_pydict()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{path} is damaged ({reason}); delete it and prepare the benchmark again") from error
    return pandas.DataFrame(rows)


def image_path(manifest_path: Path, image: str) -> Path:
    """Where an image of this manifest lies."""
    return Path(manifest_path).parent / image


def images(frame: pandas.DataFrame) -> pandas.DataFrame:
    """The first row of each image, in order of appearance; the index says which row of the frame it is."""
    return frame.drop_duplicates("id")


def _faults(rows: list[dict[str, Any]]) -> list[str]:
    if not rows:
        return ["it would have no rows"]
    columns = set(SCHEMA.names)
    wrong = sorted(set().union(*(columns ^ row.keys() for row in rows)))
    if wrong:
        return [f"missing or unknown columns: {', '.join(wrong)}"]
    faults = []
    first: dict[str, str] = {}
    torn, moved, uneven, empty = [], [], [], []
    previous = None
    for row in rows:
        name = row["id"]
        if name in first and name != previous:
            torn.append(name)
        if first.setdefault(name, row["image"]) != row["image"]:
            moved.append(name)
        if len(row["sentences"]) != len(row["boxes"]):
            uneven.append(name)
        if not row["caption"].strip():
            empty.append(name)
        previous = name
    for what, names in (
        ("rows of one image are not adjacent", torn),
        ("one id names several images", moved),
        ("sentences and boxes differ in number", uneven),
        ("the caption is empty", empty),
    ):
        if names:
            faults.append(f"{what}: {_list(names)}")
    return faults


def _list(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names))
