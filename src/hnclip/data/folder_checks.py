"""The checks of a person's own images and captions, before hours are spent on them."""

import hashlib
import reprlib
import unicodedata
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hnclip.data.bounded import PIXELS, Room, bounded
from hnclip.data.captions import Table, half_character, visible
from hnclip.data.images import count_pixels, decode
from hnclip.data.pictures import Absent, Picture, Unpacked
from hnclip.data.problems import Problems

_WAY_OUT = "remove the copies, give them one id, or name a family column that split_hash keeps together"
Facts = dict[Path, tuple[str, int, int]]  # sha256, width, height of each image file
NO_IMAGE = "images that cannot be used (repair them or remove their rows)"
SHARED = "captions that several images share (`mask_duplicates: true` of a loss keeps them from being negatives)"
_CHUNK = 1024
_SHOWN = 60  # letters of a caption


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
    return rows


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
        if other != path and other.is_file() and not path.is_file():
            return other
    return path


def check_rows(rows: list[Row], problems: Problems, warnings: Problems, repeats: bool = False) -> None:
    """Repeated rows, ids that mean two images or stand in two splits; the same caption for several images.

    With `repeats`, a caption that an image has twice was published so: it stays, and is a warning.
    """
    seen: dict[tuple[str, str], str] = {}
    first: dict[str, Row] = {}
    told: dict[str, set[str]] = {}
    families: dict[str, set[str]] = {}
    for row in rows:
        before = first.setdefault(row.id, row)
        if before.path != row.path:
            problems.add("ids that name two images", f"{row.id!r}: {before.path} and {row.path} ({row.where})")
        if before.split != row.split:
            problems.add("ids in two splits (keep one)", f"{row.id!r}: {before.split} and {row.split} ({row.where})")
        if (row.id, row.caption) in seen:
            earlier = seen[row.id, row.caption]
            kind = "captions that an image has twice, kept" if repeats else "repeated image and caption (remove one)"
            caption = repr(row.caption[:_SHOWN])
            twice = f"twice in {row.where}: {caption}"  # a list of captions, or several columns
            item = twice if earlier == row.where else f"{row.where}, as {earlier}: {row.id!r}, {caption}"
            (warnings if repeats else problems).add(kind, item)
        seen.setdefault((row.id, row.caption), row.where)
        told.setdefault(row.caption, set()).add(row.id)
        families.setdefault(row.family, set()).add(row.split)
    for caption, names in told.items():
        if len(names) > 1:
            warnings.add(SHARED, f"{len(names)} images: {caption[:_SHOWN]!r}")
    for family, splits in families.items():
        if len(splits) > 1 and family not in first:
            warnings.add("families in several splits", f"{family!r}: {', '.join(sorted(splits))}")


def look_at_images(rows: list[Row], problems: Problems) -> Facts:
    """Decode every image once; the missing and the unreadable go to `problems`."""
    where: dict[Path, str] = {}
    for row in rows:
        where.setdefault(row.path, row.where)
    room = Room(PIXELS)

    def look(path: Path) -> tuple[str, int, int] | str:
        try:
            data = path.read_bytes()
            with room.taken(count_pixels(data)):
                size = decode(data, str(path), "ignore").size
        except FileNotFoundError:
            return f"{path}: no such file"
        except OSError as error:
            return f"{path}: {'is a folder, not an image' if path.is_dir() else f'cannot be opened ({error.strerror})'}"
        except ValueError as error:
            return str(error)
        return hashlib.sha256(data).hexdigest(), *size

    facts: Facts = {}
    paths = list(where)
    for path, result in zip(paths, bounded(look, paths, _CHUNK), strict=True):
        if isinstance(result, str):
            problems.add(NO_IMAGE, f"{where[path]}: {result}")
        else:
            facts[path] = result
    return facts


def check_leaks(rows: list[Row], facts: Facts, problems: Problems, warnings: Problems) -> None:
    """The same image file under two ids: in two splits it is a leak, in one split a warning.

    Rows without a split, which a study may still put apart, are a warning that says so.
    """
    by_bytes: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row.path in facts:
            by_bytes.setdefault(facts[row.path][0], {}).setdefault(row.id, row)
    for same in by_bytes.values():
        if len(same) < 2:
            continue
        listed = ", ".join(f"{row.id!r} ({row.split})" if row.split else repr(row.id) for row in same.values())
        if len({row.split for row in same.values()}) > 1:
            problems.add(f"the same image in two splits ({_WAY_OUT})", listed)
        else:
            kind = "the same image under two ids"
            unsplit = f" (a study whose split puts them apart refuses them as a leak: {_WAY_OUT})"
            warnings.add(kind if all(row.split for row in same.values()) else kind + unsplit, listed)
