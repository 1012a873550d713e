"""The table of an index: which file each vector is of."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hnclip.store import write_rows

COLUMNS = ("id", "path", "size", "mtime", "sha256")


@dataclass(frozen=True, slots=True)
class Row:
    """A file of an index: its number for good, where it lies, and what it was when it was embedded."""

    id: int
    path: str  # relative to the folder that holds the index where it lies in there, else absolute
    size: int
    mtime: int  # nanoseconds
    sha256: str


def stored(path: str, index: Path) -> str:
    """An absolute path as the table has it, so that an index beside its images can move with them."""
    home = os.path.dirname(os.path.abspath(index))
    inside = path.startswith(home.rstrip(os.sep) + os.sep)
    return os.path.relpath(path, home) if inside else path


def located(path: str, index: Path) -> str:
    """Where a file of the table lies, absolute."""
    return os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(index)), path))


def write_table(path: Path, rows: Sequence[Row]) -> None:
    import pyarrow

    kinds = {"id": pyarrow.int64(), "size": pyarrow.int64(), "mtime": pyarrow.int64()}
    columns = {
        name: pyarrow.array([getattr(row, name) for row in rows], kinds.get(name, pyarrow.string())) for name in COLUMNS
    }
    write_rows(path, pyarrow.table(columns))


def read_table(path: Path, columns: Sequence[str] = COLUMNS) -> dict[str, list]:
    """Columns of the table by name. Raises ValueError for a damaged file, naming it."""
    import pyarrow
    from pyarrow import parquet

    try:
        return parquet.read_table(path, columns=list(columns), memory_map=True).to_pydict()
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{path} is damaged ({error}); delete the index and make it again") from None


def read_rows(path: Path) -> list[Row]:
    return [Row(*values) for values in zip(*read_table(path).values(), strict=True)]
