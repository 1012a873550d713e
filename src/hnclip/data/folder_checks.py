"""The checks of a person's own images and captions, before hours are spent on them."""

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from hnclip.data.bounded import PIXELS, Room, bounded
from hnclip.data.images import count_pixels, decode
from hnclip.data.problems import Problems
from hnclip.data.rows import NO_IMAGE, Row

Facts = dict[Path, tuple[str, int, int]]  # sha256, width, height of each image file
Look = tuple[str, int, int] | str  # of one, or why it cannot be read
SHARED = "captions that several images share (`mask_duplicates: true` of a loss keeps them from being negatives)"
_WAY_OUT = "remove the copies, give them one id, or name a family column that split_hash keeps together"
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")  # no tab and no end of a line
_CHUNK = 1024
_SHOWN = 60  # letters of a caption


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


def check_characters(rows: list[Row], problems: Problems, published: bool = False) -> None:
    """Control characters in captions, such as NUL: tokenizers leave them out and join the words at their sides.

    Those of a `published` benchmark are kept, and said to be.
    """
    kind = "captions with control characters, " + ("kept" if published else "which no text has (remove them)")
    for row in rows:
        if found := CONTROL.search(row.caption):
            near = row.caption[max(0, found.start() - _SHOWN // 2) : found.start() + _SHOWN // 2]
            problems.add(kind, f"{row.where}: {near!r}")


def look_at_images(rows: list[Row], problems: Problems, known: Mapping[Path, Look] = MappingProxyType({})) -> Facts:
    """Decode every image once, but for those that are `known`; the missing and the unreadable go to `problems`."""
    where: dict[Path, str] = {}
    for row in rows:
        where.setdefault(row.path, row.where)
    room = Room(PIXELS)

    def look(path: Path) -> Look:
        if path in known:
            return known[path]
        try:
            return look_at(path.read_bytes(), str(path), room)[1]
        except FileNotFoundError:
            return f"{path}: no such file"
        except OSError as error:
            why = "is a folder, not an image" if os.path.isdir(path) else f"cannot be opened ({error.strerror})"
            return f"{path}: {why}"

    facts: Facts = {}
    paths = list(where)
    for path, result in zip(paths, bounded(look, paths, _CHUNK), strict=True):
        if isinstance(result, str):
            problems.add(NO_IMAGE, f"{where[path]}: {result}")
        else:
            facts[path] = result
    return facts


def look_at(data: bytes, name: str, room: Room) -> tuple[str, Look]:
    """The SHA-256 of an image file, and what there is to say of it under its name; `room` is for its pixels."""
    digest = hashlib.sha256(data).hexdigest()
    try:
        with room.taken(count_pixels(data)):
            return digest, (digest, *decode(data, name, "ignore").size)
    except ValueError as error:
        return digest, str(error)


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
