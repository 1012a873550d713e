"""The folder of an index: a record names the files that count, so that replacing it is what changes the index.

Files of vectors, of the table and of FAISS carry the number of the update that wrote them; the record comes last, and
what it does not name is removed then. A command that is stopped halfway leaves the index as it was.
"""

import os
from pathlib import Path
from typing import Any

from hnclip.store import read_json, remove_unfinished, write_json

RECORD, FORMAT = "index.json", "hnclip-index-1"
UNFINISHED = "unfinished"
PREFIXES = ("vectors-", "files-", "faiss-")


def is_index(folder: Path) -> bool:
    return (Path(folder) / RECORD).is_file()


def read_record(folder: Path) -> dict[str, Any]:
    """The record of an index. Raises FileNotFoundError or ValueError saying what to do."""
    folder = Path(folder)
    if not is_index(folder):
        if (folder / UNFINISHED).is_dir():
            raise FileNotFoundError(f"{folder} is not finished: run its `hnclip index` again, it goes on")
        raise FileNotFoundError(f"{folder} is no index (it has no {RECORD}): make one by `hnclip index MODEL IMAGES`")
    record = read_json(folder / RECORD)
    if record.get("format") != FORMAT:
        raise ValueError(
            f"{folder / RECORD}: format {record.get('format')!r} is not known, {FORMAT!r} is: index again with --to "
            "another folder"
        )
    return record


def commit(folder: Path, record: dict[str, Any]) -> None:
    """Put a record in place, and remove the files that it does not name."""
    write_json(folder / RECORD, record)
    remove_unfinished(folder / RECORD)
    sweep(folder, record)


def sweep(folder: Path, record: dict[str, Any]) -> None:
    """Remove what an update left that never came to its end."""
    kept = {name for name in record["files"].values() if name}
    for entry in os.scandir(folder):
        if entry.name.lstrip(".").startswith(PREFIXES) and entry.name not in kept:
            os.unlink(entry.path)
