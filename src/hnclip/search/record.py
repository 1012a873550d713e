"""The folder of an index: a record names the files that count, so that replacing it is what changes the index.

Files of vectors, of the table and of FAISS carry the number of the update that wrote them; the record comes last, and
what it does not name is removed then. A command that is stopped halfway leaves the index as it was.
"""

import os
import zlib
from pathlib import Path
from typing import Any

from hnclip.store import read_json, remove_unfinished, write_json

RECORD, FORMAT = "index.json", "hnclip-index-1"
UNFINISHED = "unfinished"
KEYS = ("model", "images", "asked", "kind", "effort", "recall", "update", "next_id", "files")  # of every record
AGAIN = "delete the index and make it again"
READ = 2**22  # bytes of a file in memory at once
PREFIXES = ("vectors-", "files-", "faiss-")


def is_index(folder: Path) -> bool:
    return (Path(folder) / RECORD).is_file()


def read_record(folder: Path) -> dict[str, Any]:
    """The record of an index. Raises FileNotFoundError or ValueError saying what to do."""
    folder = Path(folder)
    if not is_index(folder):
        if (folder / UNFINISHED).is_dir():
            raise FileNotFoundError(f"{folder} is not finished: run its `hnclip index` again, it goes on")
        beside = Path(f"{folder}.index")  # where `hnclip index` puts that of a folder
        meant = f"; its index is {beside}" if is_index(beside) else ": make one by `hnclip index MODEL IMAGES`"
        raise FileNotFoundError(f"{folder} is no index (it has no {RECORD}){meant}")
    record = read_json(folder / RECORD)
    if not isinstance(record, dict):
        raise ValueError(f"{folder / RECORD} is damaged (it is no record); {AGAIN}")
    if record.get("format") != FORMAT:
        raise ValueError(
            f"{folder / RECORD}: format {record.get('format')!r} is not known, {FORMAT!r} is: index again with --to "
            "another folder"
        )
    if lacking := [key for key in KEYS if key not in record]:
        raise ValueError(f"{folder / RECORD} is damaged (it lacks {', '.join(lacking)}); {AGAIN}")
    return record


def checksum(path: Path) -> str:
    """The CRC-32 of a file, 8 hexadecimal digits."""
    found = 0
    with open(path, "rb") as file:
        while some := file.read(READ):
            found = zlib.crc32(some, found)
    return f"{found:08x}"


def check_whole(folder: Path, record: dict[str, Any], part: str) -> None:
    """Raises ValueError where a file of an index (`vectors`, `files`, `faiss`) is not as it was written.

    An index whose record has no checksums is taken as it is.
    """
    path, wanted = folder / record["files"][part], record.get("crc32", {}).get(part)
    if wanted and path.is_file() and checksum(path) != wanted:
        way_out = "remove it and index again: no image is embedded twice" if part == "faiss" else AGAIN
        raise ValueError(f"{path} is damaged (its checksum is not that of what was written); {way_out}")


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
