"""Visual Genome's paragraphs, id lists and pictures, as fetched."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hnclip.data.captions import half_character
from hnclip.data.json_text import read_once
from hnclip.data.problems import Problems

PARAGRAPHS = "paragraphs_v1.json"
IMAGES = ("images.zip", "images2.zip")
IMAGE_FOLDERS = ("VG_100K", "VG_100K_2")
_TORN = f"entries of {PARAGRAPHS} that cannot be used (fetch it again)"


def read_paragraphs(files: dict[str, Path], problems: Problems) -> dict[str, list[str]]:
    """The paragraphs of each image id in the order of the file, spaces at their ends removed."""
    path = _json_file(files, PARAGRAPHS)
    told: dict[str, list[str]] = {}
    for number, entry in enumerate(_list(path), 1):
        name = _id(entry.get("image_id")) if isinstance(entry, dict) else None
        text = entry.get("paragraph") if isinstance(entry, dict) else None
        if name is None or not isinstance(text, str):
            problems.add(_TORN, f"entry {number}: expected an object with image_id and paragraph")
        elif half := half_character(text):
            problems.add(_TORN, f"entry {number} (image {name}): {half} is half a character")
        else:
            told.setdefault(name, []).append(text.strip())
    return told


def read_split_lists(
    files: dict[str, Path], splits: Iterable[str], problems: Problems, warnings: Problems
) -> dict[str, str]:
    """The split of each image id in the lists; an id in two lists goes to `problems`, twice in one to `warnings`."""
    split_of: dict[str, str] = {}
    for split in splits:
        path = _json_file(files, f"{split}_split.json")
        seen = set()
        for number, value in enumerate(_list(path), 1):
            name = _id(value)
            if name is None:
                problems.add("entries of an id list that are no image id (fetch it again)", f"{path}: entry {number}")
            elif name in seen:
                warnings.add("ids that a list has twice, counted once", f"{path.name}: {name}")
            elif split_of.setdefault(name, split) != split:
                problems.add("ids in two lists (fetch the lists again)", f"{name}: {split_of[name]} and {split}")
            seen.add(name)
    return split_of


def read_photos(files: dict[str, Path], problems: Problems) -> dict[str, Path]:
    """The picture of each image id, in the folders of both unpacked archives."""
    found: dict[str, Path] = {}
    folders = [files[f"{archive}/"] for archive in IMAGES]
    for folder in dict.fromkeys(folder / name for folder in folders for name in ("", *IMAGE_FOLDERS)):
        for path in sorted(folder.iterdir()) if folder.is_dir() else []:
            if path.suffix.lower() == ".jpg" and not path.name.startswith("."):
                before = found.setdefault(path.stem, path)
                if before != path and before.read_bytes() != path.read_bytes():
                    problems.add("two different pictures of one id (fetch the archives again)", f"{before} and {path}")
    if not found:
        raise FileNotFoundError(
            f"no pictures in {' or '.join(map(str, folders))}, nor in {' or '.join(IMAGE_FOLDERS)} below: "
            f"fetch {' and '.join(IMAGES)} again"
        )
    return found


def _json_file(files: dict[str, Path], name: str) -> Path:
    """The JSON file itself, or the one in the unpacked archive of its name."""
    if name in files:
        return files[name]
    path = files[f"{name}.zip/"] / name
    if not path.is_file():
        raise FileNotFoundError(f"{path}: the archive {name}.zip does not have it; fetch it again")
    return path


def _list(path: Path) -> list[Any]:
    record = read_once(path)
    if not isinstance(record, list):
        raise ValueError(
            f"{path} is no list, but {type(record).__name__}: it is not the published file; fetch it again"
        )
    return record


def _id(value: Any) -> str | None:
    """An image id as text, whether it was published as a number or as one."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value.isascii() and value.isdigit() else None
