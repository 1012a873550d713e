"""A folder with a text beside each image: `dir/a.jpg` and `dir/a.txt`."""

from pathlib import Path, PurePosixPath
from typing import Any

from hnclip.caption_places import visible_files
from hnclip.data.captions import Table, not_utf8
from hnclip.data.pictures import SUFFIXES, Absent
from hnclip.data.problems import Problems
from hnclip.data.readers.joining import with_split

UNREADABLE = "texts that cannot be read (repair them)"


def read_txt(folder: Path, images: Path | None, lines: bool, problems: Problems) -> Table:
    """One row a text, and one for each image without a text, which then lacks its caption.

    The images stand beside the texts, or under `images` in the same folders and with the same names.
    """
    pictures: dict[str, list[str]] = {}
    for name in visible_files(images or folder):
        if PurePosixPath(name).suffix.lower() in SUFFIXES:
            pictures.setdefault(_stem(name), []).append(name)
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for name in visible_files(folder):
        if not name.lower().endswith(".txt"):
            continue
        try:
            caption = as_caption((folder / name).read_bytes(), lines)
        except (OSError, UnicodeDecodeError) as error:
            unread = isinstance(error, OSError)
            problems.add(UNREADABLE, f"{name}: {error.strerror}" if unread else not_utf8(Path(name), error))
            pictures.setdefault(_stem(name), [])
            found[_stem(name)] = (name, {})
            continue
        found[_stem(name)] = (name, {"image": _image(name, pictures.get(_stem(name), [])), "caption": caption})
    for stem, names in pictures.items():
        if stem not in found:
            found[stem] = (f"{', '.join(names)} (no {stem}.txt)", {"image": names[0], "caption": None})
    rows = [found[stem] for stem in sorted(found) if found[stem][1]]
    table = Table(folder, ["image", "caption"], rows, start=images or folder, read_as="texts beside images")
    return with_split(table, [where for where, _ in rows])


def as_caption(data: bytes, lines: bool) -> str | list[str]:
    """A text's bytes as a caption, without the end of its last line; with `lines`, one caption a line."""
    text = data.decode("utf-8-sig").replace("\r\n", "\n").rstrip("\n")
    if not lines:
        return text
    return [line for line in text.split("\n") if line.strip()] or ""


def _stem(name: str) -> str:
    return str(PurePosixPath(name).with_suffix(""))


def _image(text: str, found: list[str]) -> str | Absent:
    if len(found) == 1:
        return found[0]
    stem = PurePosixPath(text).stem
    if found:
        return Absent(f"several images have this name: {', '.join(found)}")
    return Absent(f"no image has this name ({stem}.jpg, {stem}.png, ...)")
