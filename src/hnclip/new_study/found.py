"""What lies in a folder: the captions, the folder of their images, a column that splits them."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hnclip.data.captions import Table
from hnclip.data.captions_of import Source, read_table_of
from hnclip.data.columns import Columns, find_columns
from hnclip.data.problems import Problems

TABLES = (".jsonl", ".jsonlines", ".ndjson", ".csv", ".tsv", ".parquet", ".json")
NAMED = ("caption", "annotation", "metadata", "dataset")  # of several tables, the one whose name says so
LOOKED_AT = 200  # rows whose images are looked for
SPLITS = {"train": ("train", "training"), "validation": ("validation", "val", "valid", "dev"), "test": ("test",)}


@dataclass(frozen=True)
class Found:
    """The captions as they will be read: the folder of images where it is not the captions' own, and what was chosen.

    `split_values` are the values of a column `split`, if there is one.
    """

    source: Source
    columns: Columns
    rows: int
    told: list[str] = field(default_factory=list)
    split_values: tuple[str, ...] = ()


def find_captions(folder: Path) -> Path:
    """The one table of captions in a folder. Raises ValueError naming what is there where it is none, or several."""
    tables = [path for path in sorted(folder.glob("*")) if path.is_file() and path.suffix.lower() in TABLES]
    tables = [path for path in tables if not path.name.startswith(".")]
    named = [path for path in tables if any(word in path.stem.casefold() for word in NAMED)]
    if len(tables) == 1 or len(named) == 1:
        return (named or tables)[0]
    if tables:
        names = ", ".join(path.name for path in named or tables)
        raise ValueError(f"which of these are the captions: {names}? Say so with --captions")
    raise ValueError(
        f"there are no captions in {folder.absolute()}: neither {', '.join(TABLES)}. Name them with --captions: "
        "a table, or a folder (with a .txt beside each image, or shards)"
    )


def look(source: Source, folder: Path) -> Found:
    """How the captions will be read. Raises ValueError or OSError where there is no table or no telling its columns."""
    table = read_table_of(source, Problems())
    columns, told = find_columns(table, source)
    if source.images is None and table.pictures is None and (images := find_images(table, columns, folder)):
        told = [*told, f"images lie in {images}"]
        source = Source(**{**vars(source), "images": str(images)})
    values = dict.fromkeys(row.get("split") for _, row in table.rows) if "split" in table.columns else {}
    return Found(source, columns, len(table.rows), told, tuple(value for value in values if isinstance(value, str)))


def find_images(table: Table, columns: Columns, folder: Path) -> Path | None:
    """The folder in which most of the first images are, where it is not the captions' own; None where that is."""
    column = columns.image_column
    names = [row.get(column) for _, row in table.rows[:LOOKED_AT]]
    names = [name for name in names if isinstance(name, str)]
    start = Path(table.start or table.path.parent)
    near = [
        place for parent in {start, folder} if parent.is_dir() for place in sorted(parent.iterdir()) if place.is_dir()
    ]
    places = list(dict.fromkeys([start, folder, *near]))
    hits = {place: sum(os.path.isfile(place / name) for name in names) for place in places}
    best = max(places, key=lambda place: hits[place])
    return None if hits[best] == hits[start] else best


def splits_of(values: tuple[str, ...]) -> dict[str, Any] | None:
    """The benchmark's `train`, `validation` and `test` by the values of a column; None without train and test."""
    known = {value.casefold(): value for value in values}
    found = {part: next((known[name] for name in names if name in known), None) for part, names in SPLITS.items()}
    if found["train"] is None or found["test"] is None:
        return None
    return {"train": found["train"], "validation": found["validation"], "test": [found["test"]]}
