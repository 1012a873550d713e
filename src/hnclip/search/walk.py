"""The image files of folders, found by their names."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

# Names of the formats that `hnclip.data.images` opens.
SUFFIXES = frozenset(
    ".jpg .jpeg .jpe .jfif .png .apng .webp .gif .bmp .dib .tif .tiff .ppm .pgm .pbm .pnm "
    ".jp2 .j2k .jpx .jpf .j2c .jpc .avif .avifs".split()
)
# Pictures, but of formats that are not opened: a folder full of them deserves a word.
CLOSED = frozenset(".heic .heif .jxl .svg .psd .raw .dng .nef .cr2 .cr3 .arw .orf .rw2 .eps .ai .xcf".split())


@dataclass(frozen=True)
class Found:
    """An image file as it is now; `path` is absolute, `mtime` in nanoseconds."""

    path: str
    size: int
    mtime: int


@dataclass
class Walked:
    """What folders hold: image files in the order of their names, and how many files are none."""

    images: list[Found] = field(default_factory=list)
    others: int = 0
    closed: Counter[str] = field(default_factory=Counter)  # suffix -> files of picture formats that are not opened
    faults: list[str] = field(default_factory=list)  # images that cannot be indexed, with the reason


def walk(places: Sequence[Path], recursive: bool, leave_out: Path) -> Walked:
    """The images of folders, and files that were named one by one, whatever they are called.

    Hidden files and folders, and the folder `leave_out`, are passed by; links to folders are not followed.
    """
    walked = Walked()
    seen: set[str] = set()
    for place in map(os.path.abspath, places):
        for path in [place] if os.path.isfile(place) else files(place, recursive, os.path.abspath(leave_out)):
            if path in seen:
                continue
            seen.add(path)
            suffix = os.path.splitext(path)[1].lower()
            if suffix in SUFFIXES or path == place:
                _take(path, walked)
            elif suffix in CLOSED:
                walked.closed[suffix] += 1
            else:
                walked.others += 1
    return walked


def check_there(places: Sequence[Path]) -> None:
    """Raises FileNotFoundError naming every place that is not there."""
    absent = [str(place) for place in places if not Path(place).exists()]
    if absent:
        raise FileNotFoundError(f"no such folder or image: {', '.join(absent)}")


def files(folder: str, recursive: bool, leave_out: str) -> Iterator[str]:
    """The files of a folder, and with `recursive` of those in it, by name; what cannot be listed raises OSError."""
    with os.scandir(folder) as entries:
        listed = sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name)
    yield from (entry.path for entry in listed if _is_file(entry))
    if recursive:
        for entry in listed:
            if entry.is_dir(follow_symlinks=False) and entry.path != leave_out:
                yield from files(entry.path, recursive, leave_out)


def _is_file(entry: os.DirEntry) -> bool:
    """True of a link whose file is gone, cannot be reached or is the link itself, too: an image that cannot be read."""
    return not os.path.isdir(entry.path) if entry.is_symlink() else entry.is_file()


def _take(path: str, walked: Walked) -> None:
    try:
        path.encode()
    except UnicodeEncodeError:
        walked.faults.append(f"{os.fsencode(path)!r}: the name is no UTF-8; rename the file")
        return
    try:
        state = os.stat(path)
    except OSError as error:
        walked.faults.append(f"{path}: cannot be opened ({error.strerror})")
        return
    walked.images.append(Found(path, state.st_size, state.st_mtime_ns))
