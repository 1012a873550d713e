"""The rows of a table of captions: one a caption, with its texts as they were written and where its image lies."""

import os
import reprlib
import unicodedata
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hnclip.data.captions import Table, half_character, visible
from hnclip.data.pictures import Absent, Picture, Unpacked
from hnclip.data.problems import Problems

NO_IMAGE = "images that cannot be used (repair them or remove their rows)"
SWAPPED = (
    "no image is found, and captions are names of files: are the columns swapped? (swap their names, or say "
    "image_column and caption_column)"
)


@dataclass(frozen=True)
class Row:
    """One caption; `where` says where the table has it, `path` where its image lies."""

    where: str
    id: str
    path: Path
    caption: str
    family: str
    split: str


def read_rows(table: Table, options: Any, start: Path, problems: Problems, images: bool = True) -> list[Row]:
    """The rows with all their texts; several captions become one row each. Others go to `problems`.

    Without `images`, an image need not be there: a row without one has its place in the table as its id.
    """
    rows = []
    for where, row in table.rows:
        image, path = _image(row, options.image_column, where, start, problems if images else None)
        name = _text(row, options.id_column, where, problems) if options.id_column else image
        split = _text(row, options.split_column, where, problems) if options.split_column else ""
        family = _family(row, options.family_column) if options.family_column else name
        captions = _captions(row, options.caption_column, where, problems)
        if None in (path, name, split):
            continue
        rows += [Row(where, name, path, text, family or name, split) for text in captions]
    if images and table.pictures is None and (swapped := _if_swapped(rows, start)):
        problems.add(SWAPPED, swapped)
    return rows


def _if_swapped(rows: list[Row], start: Path) -> str | None:
    """The first caption that is the name of a file, where no row's image is one; None of a table as it should be."""
    if any(os.path.isfile(row.path) for row in rows):
        return None
    named = (row for row in rows if os.path.isfile(start / row.caption))
    return next((f"{row.where}: the caption is {row.caption!r}" for row in named), None)


def _image(
    row: dict[str, Any], column: str | None, where: str, start: Path, problems: Problems | None
) -> tuple[str | None, Path | None]:
    """What a row's image is called and where it lies; (None, None) where it has none, which goes to `problems`."""
    value = row.get(column) if column else None
    if isinstance(value, Unpacked):
        return value.name, value.path
    if problems is None:
        known = str(value) if isinstance(value, str | int) and str(value).strip() else getattr(value, "name", "")
        return known or where, start / (known or where)
    if isinstance(value, Absent | Picture):
        problems.add(NO_IMAGE, f"{where}: {getattr(value, 'reason', 'it was not unpacked')}")
        return None, None
    image = _text(row, column, where, problems)
    if image and "\0" in image:
        problems.add(NO_IMAGE, f"{where}: {image!r} has a character that no file name can have")
        return None, None
    return image, None if image is None else _find(start, image)


def _captions(row: dict[str, Any], column: str | tuple[str, ...], where: str, problems: Problems) -> list[str]:
    """A row's captions: of a column, a text or a list, or of several columns, of which some may be empty."""
    if isinstance(column, tuple):
        given = [(name, row.get(name)) for name in column]
        filled = [(name, value) for name, value in given if value is not None and value != ""]
        pairs = filled or given[:1]
    else:
        captions = row.get(column)
        pairs = [(column, one) for one in (captions if isinstance(captions, list) and captions else [captions])]
    texts = [_text({name: value}, name, where, problems) for name, value in pairs]
    return [text for text in texts if text is not None]


def first_captions(rows: list[Row], most: int, warnings: Problems) -> list[Row]:
    """The first `most` rows of each image; images with fewer go to `warnings`."""
    count: Counter[str] = Counter()
    kept = []
    for row in rows:
        count[row.id] += 1
        if count[row.id] <= most:
            kept.append(row)
    for name, captions in count.items():
        if captions < most:
            warnings.add(f"images with fewer than {most} captions", f"{name!r}: {captions}")
    return kept


def _text(row: dict[str, Any], column: str, where: str, problems: Problems) -> str | None:
    value = row.get(column)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if value is None or (isinstance(value, str) and not visible(value)):
        problems.add(f"empty {column!r} (fill them in or remove the rows)", where)
    elif not isinstance(value, str):
        problems.add(f"{column!r} is no text (write it as one)", f"{where}: {_told(value)}")
    elif half_character(value):  # bytes of a file's name
        problems.add("names that are no UTF-8 (rename the files)", f"{where}: {value}")
    else:
        return value
    return None


def _told(value: Any) -> str:
    """What stands in the place of a text, in few letters: an image's bytes may be within."""
    if isinstance(value, Absent):
        return value.reason
    return "bytes" if isinstance(value, Picture) else reprlib.repr(value)


def _family(row: dict[str, Any], column: str) -> str:
    value = row.get(column)
    return "" if value is None else str(value).strip()


def _find(start: Path, image: str) -> Path:
    """The image's path as it is spelled on disk: an accented letter has two spellings that look alike."""
    path = start / image
    for form in ("NFC", "NFD"):
        other = start / unicodedata.normalize(form, image)
        if other != path and os.path.isfile(other) and not os.path.isfile(path):  # too long a name is none
            return other
    return path


def adjacent(rows: list[Row]) -> list[Row]:
    """Rows of one image together, images in the order of the table."""
    by_image: dict[str, list[Row]] = {}
    for row in rows:
        by_image.setdefault(row.id, []).append(row)
    return [row for group in by_image.values() for row in group]
