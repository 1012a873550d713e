"""Several tables of one data set become one, each row with its split where the files' names tell it."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from hnclip.data.captions import Table
from hnclip.data.pictures import Picture

SPLITS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("validation", "valid", "val", "dev"), "validation"),
    **dict.fromkeys(("test", "testing"), "test"),
}
NUMBERED = re.compile(r"(.+)-\d{5}-of-\d{5}")


def split_of(path: str) -> str | None:
    """The split that a file's name or one of its folders tells, as Hugging Face's datasets read them."""
    parts = PurePosixPath(path).parts
    for part in parts:
        word = re.split(r"[-_.\d]", part.casefold(), maxsplit=1)[0]
        if word in SPLITS:
            return SPLITS[word]
    found = NUMBERED.match(parts[-1]) if parts else None
    return found[1] if found else None


def with_split(table: Table, files: list[str]) -> Table:
    """The table with a column `split`, where it has none and the name of each row's file tells one."""
    splits = [split_of(name) for name in files]
    if "split" in table.columns or None in splits or not splits:
        return table
    rows = [(where, {**row, "split": split}) for (where, row), split in zip(table.rows, splits, strict=True)]
    return replace(table, columns=[*table.columns, "split"], rows=rows)


def joined(path: Path, tables: dict[str, Table], names_tell: bool = True) -> Table:
    """One table of those of several files, by the files' names, which may tell the splits.

    Raises ValueError where their columns differ.
    """
    (first, table), *others = tables.items()
    for name, other in others:
        if set(other.columns) != set(table.columns):
            raise ValueError(
                f"{path}: its tables have different columns, so they are not one data set: {first} has "
                f"{', '.join(map(repr, table.columns))}; {name} has {', '.join(map(repr, other.columns))}; "
                "name one of them, or one folder"
            )
    several = len(tables) > 1
    rows = [(f"{name}: {where}" if several else where, row) for name, one in tables.items() for where, row in one.rows]
    sources = [one.pictures for one in tables.values() if one.pictures]

    def pictures() -> Iterator[tuple[Picture, bytes]]:
        for source in sources:
            yield from source()

    made = Table(path, table.columns, rows, start=path, pictures=pictures if sources else None)
    return made if not names_tell else with_split(made, [name for name, one in tables.items() for _ in one.rows])
