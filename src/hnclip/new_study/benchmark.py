"""The entry of `benchmarks` for a person's own data: where it is, and how it is split."""

from pathlib import Path
from typing import Any

from pyarrow import ArrowException, parquet

from hnclip.data.captions_of import Source
from hnclip.new_study.found import look, splits_of
from hnclip.new_study.text import SHARES
from hnclip.new_study.write import relative

Entry = dict[str, Any]
USUAL: Entry = {"train": "train", "validation": "validation", "test": ["test"]}
COLUMN = "split"  # read for what it says, where a table has it


def of_captions(
    captions: str, images: Path | None, columns: dict[str, str], folder: Path, split: str | None
) -> tuple[Entry, list[str]]:
    """The entry for captions and images, and what was chosen where nobody did.

    `columns` are further options of benchmark kind `folder`. Raises ValueError or OSError where the captions cannot be
    read, or where results would land among them.
    """
    home = folder.resolve()
    if Path(captions).is_dir() and home.is_relative_to(Path(captions).resolve()):
        name = Path(captions).resolve().name
        raise ValueError(
            f"{folder} lies within the captions' folder {captions}, and results would land among them: write the study "
            f"beside it, such as `hnclip init {name}-study --captions {captions}`"
        )
    if images and not images.is_dir():
        raise FileNotFoundError(f"--images {images} is no folder (looked in {Path.cwd()})")
    seen = look(Source(captions, images=str(images) if images else None, **columns), folder)
    options: Entry = {"captions": relative(captions, home)}
    if seen.source.images:
        options["images"] = relative(seen.source.images, home)
    parts, splitting, told = _split(split, seen.split_values, home)
    return {"kind": "folder", **parts, "options": {**options, **columns, **splitting}}, [*seen.told, *told]


def of_embeddings(path: Path, folder: Path, split: str | None, family: str | None) -> tuple[Entry, list[str]]:
    """The entry for a file of embeddings, whose further columns are told by their names.

    Raises FileNotFoundError, or ValueError for a file that is no Parquet.
    """
    if not path.is_file():
        raise FileNotFoundError(f"there is no file of embeddings {path}: `hnclip embed` writes one")
    try:
        columns = parquet.read_schema(path).names
    except (ArrowException, OSError) as error:
        raise ValueError(f"{path} is no Parquet file ({' '.join(str(error).split())})") from error
    options = {"file": relative(path, folder.resolve())}
    options |= {f"{name}_column": name for name in ("caption", "path") if name in columns}
    family = family or ("family" if "family" in columns else None)
    options |= {"family_column": family} if family else {}
    found = parquet.read_table(path, columns=[COLUMN])[COLUMN].unique().to_pylist() if COLUMN in columns else []
    values = tuple(value for value in found if isinstance(value, str))
    parts, splitting, told = _split(split, values, folder.resolve())
    return {"kind": "embeddings", **parts, "options": {**options, **splitting}}, told


def _split(text: str | None, values: tuple[str, ...], home: Path) -> tuple[Entry, Entry, list[str]]:
    """The splits' names, the option that makes them, and what was chosen.

    `values` are those of a column `split`. Raises ValueError for a text that cannot be read.
    """
    if text is None:
        if parts := splits_of(values):
            return parts, {"split_column": COLUMN}, [f"splits are read from the column 'split': {', '.join(values)}"]
        return USUAL, {"split_hash": SHARES}, []
    kind, _, rest = text.partition(":")
    if kind == "column" and rest:
        parts = splits_of(values) if rest == COLUMN else None
        return parts or USUAL, {"split_column": rest}, []
    lists = [relative(one, home) for one in rest.split(",")]
    if kind == "lists" and len(lists) == 3:
        return USUAL, {"split_lists": dict(zip(USUAL, lists, strict=True))}, []
    shares = text.split("/")
    if len(shares) == 3 and all(share.isdigit() for share in shares) and sum(map(int, shares)) == 100:
        return USUAL, {"split_hash": dict(zip(USUAL, map(int, shares), strict=True))}, []
    raise ValueError(
        f"--split {text}: expected per cents of train, validation and test that add up to 100, such as 80/10/10; or "
        "column:NAME; or lists:TRAIN.txt,VALIDATION.txt,TEST.txt, one image id a line"
    )
