"""Images that lie within the data's own files, such as shards, become files of a folder."""

import errno
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath

from hnclip.store import remove_unfinished, whole_folder, write_json

MARK = ".unpacked.json"
SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".ppm", ".jp2", ".avif")


@dataclass(frozen=True, eq=False)
class Picture:
    """An image within a file of the data; `name` is the one that it has there, or empty."""

    name: str


@dataclass(frozen=True)
class Unpacked:
    """An image that was unpacked: what it is called, and its file."""

    name: str
    path: Path


@dataclass(frozen=True)
class Absent:
    """An image that is not there, and why."""

    reason: str


Pictures = Callable[[], Iterator[tuple[Picture, bytes]]]


def unpack_pictures(pictures: Pictures, folder: Path) -> dict[Picture, Unpacked]:
    """Write every image into `folder`, in place of what was unpacked there before; the folder is whole, or not there.

    A file is called after its content, so that no name can lead elsewhere. An image keeps its name as long as no
    other image has it; one of several gets a part of its hash, and one without a name is called after it.
    Raises ValueError where the folder holds something else, and OSError where the disk is full.
    """
    folder = Path(folder)
    if folder.exists() and any(folder.iterdir()) and not (folder / MARK).is_file():
        raise ValueError(f"{folder} holds files that were not unpacked by hnclip; move them away, and run again")
    remove_unfinished(folder)
    try:
        with whole_folder(folder) as part:
            written = _write(pictures, part)
            write_json(part / MARK, {"images": len(set(written.values()))})
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise OSError(errno.ENOSPC, f"no room for the images in {folder.parent}; make room and run again") from error
    return named(written, folder)


def _write(pictures: Pictures, part: Path) -> dict[Picture, str]:
    """The hash of each image, its bytes written."""
    written = {}
    for picture, data in pictures():
        written[picture] = sha256(data).hexdigest()
        path = part / file_name(picture, written[picture])
        if not path.exists():
            path.write_bytes(data)
    return written


def file_name(picture: Picture, digest: str) -> str:
    """What an image's file is called, by its SHA-256."""
    return digest[:32] + _suffix(picture.name)


def _suffix(name: str) -> str:
    suffix = PurePosixPath(name).suffix
    return suffix.lower() if suffix.lower() in SUFFIXES else ""


def named(written: dict[Picture, str], folder: Path) -> dict[Picture, Unpacked]:
    """What each image is called and its file, by its SHA-256 and those of the others."""
    contents: dict[str, set[str]] = {}
    for picture, digest in written.items():
        contents.setdefault(picture.name, set()).add(digest)
    made = {}
    for picture, digest in written.items():
        name = picture.name or digest[:16]
        if picture.name and len(contents[picture.name]) > 1:
            name = str(PurePosixPath(name).with_stem(f"{PurePosixPath(name).stem}-{digest[:8]}"))
        made[picture] = Unpacked(name, (folder / file_name(picture, digest)).absolute())
    return made
