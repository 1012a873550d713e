"""Unpacks archives from elsewhere: a folder holds the whole archive, or is not there."""

import errno
import shutil
import tarfile
import zipfile
import zlib
from pathlib import Path
from typing import BinaryIO

from rich.filesize import decimal

from hnclip.data.archives import CHUNK, read_archive
from hnclip.data.members import Limits, Member, Members, TooMuch
from hnclip.data.sources import MARK
from hnclip.store import read_json, remove_unfinished, whole_folder, write_json

DAMAGE = (EOFError, RuntimeError, ValueError, zlib.error, tarfile.TarError, zipfile.BadZipFile, OSError)
_SHOWN = 20


def is_unpacked(folder: Path, sha256: str) -> bool:
    """True where the folder holds the whole of the archive of that hash."""
    mark = Path(folder) / MARK
    record = read_json(mark) if mark.is_file() else None
    return isinstance(record, dict) and record.get("sha256") == sha256


def unpack(archive: Path, folder: Path, sha256: str, limits: Limits | None = None) -> int:
    """Put the files of a tar, tar.gz or zip archive into `folder`, in place of what was there; returns their number.

    Raises ValueError for archives that are damaged or hold anything but files and folders under names of their own,
    naming each, and OSError where the disk is full. Either way nothing of it is left.
    """
    archive, folder = Path(archive), Path(folder)
    remove_unfinished(folder)
    with whole_folder(folder) as part:
        found = _write(archive, part, limits or Limits.of(archive.stat().st_size))
        write_json(part / MARK, {"archive": archive.name, "sha256": sha256, "files": found.files, "bytes": found.bytes})
        shutil.rmtree(folder, ignore_errors=True)
    return found.files


def _write(archive: Path, part: Path, limits: Limits) -> Members:
    """Write each member. From the first bad one on the others are only looked at, so that all of them are named."""
    found, free = Members(limits), shutil.disk_usage(part).free
    try:
        for member, stream in read_archive(archive):
            path = found.add(member)
            if found.faults:
                continue
            if found.bytes > free:
                raise OSError(
                    errno.ENOSPC,
                    f"no room in {part.parent}, where {decimal(free)} are free; make room and run again",
                )
            if path is not None:
                _put(stream, part / path, member)
    except TooMuch as error:
        found.faults.append(str(error))
    except DAMAGE as error:
        if isinstance(error, OSError) and error.errno is not None:
            reason = error.strerror or error
            raise OSError(f"{archive} could not be unpacked, and nothing was kept: {reason}") from error
        found.faults.append(f"it is damaged or cut short: {error or type(error).__name__}; fetch it again")
    if not found.faults and not found.files:
        found.faults.append("it holds no file")
    if found.faults:
        more = [f"and {len(found.faults) - _SHOWN} more"] * (len(found.faults) > _SHOWN)
        listed = "\n  ".join([*found.faults[:_SHOWN], *more])
        raise ValueError(f"{archive} cannot be used, and nothing of it was kept:\n  {listed}")
    return found


def _put(stream: BinaryIO | None, path: Path, member: Member) -> None:
    """Write one file, or make one folder."""
    if stream is None:
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with path.open("xb") as file:
        while data := stream.read(CHUNK):
            written += file.write(data)
            if written > member.size:
                break
    if written != member.size:
        raise EOFError(f"{member.name!r} has not the {member.size} bytes that are announced")
