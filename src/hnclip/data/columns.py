"""Which column of a table has the image and which the caption, where nobody says."""

import re
from dataclasses import dataclass
from typing import Any

from hnclip.data.captions import Table, require, without_head

IMAGE = (
    "image", "images", "image_path", "image_file", "image_name", "image_filename", "img", "img_path", "filename",
    "file_name", "filepath", "file_path", "path", "file", "picture", "photo", "jpg", "png", "webp",
)  # fmt: skip
CAPTION = (
    "caption", "captions", "text", "texts", "txt", "description", "long_caption", "detailed_caption",
    "dense_caption", "sentence", "sentences", "paragraph", "title",
)  # fmt: skip
NUMBERED = re.compile(r"(caption|text|description|sentence|long_caption)_?(\d+)")


@dataclass(frozen=True)
class Columns:
    """The columns of a table that are read. Several caption columns are several captions of the row's image."""

    image_column: str | None
    caption_column: str | tuple[str, ...]
    id_column: str | None = None
    split_column: str | None = None
    family_column: str | None = None


def find_columns(table: Table, options: Any, images: bool = True) -> tuple[Columns, list[str]]:
    """The columns that the options name, or else the only ones that they can be; and what is to be said of that.

    `options` has the attributes of `Columns`, None where it does not say. Without `images` a table needs no image.
    Raises ValueError with the table's columns where an option names none of them, or where it cannot be told.
    """
    caption = options.caption_column
    named = {"image_column": None if getattr(options, "url_column", None) else options.image_column}
    named |= {name: getattr(options, name) for name in ("id_column", "split_column", "family_column")}
    named["url_column"] = getattr(options, "url_column", None)
    wanted = {name: column for name, column in named.items() if column}
    several = [caption] if isinstance(caption, str) else list(caption or ())
    wanted |= {f"caption_column{f' {number}' * (number > 1)}": column for number, column in enumerate(several, 1)}
    require(table, wanted)
    told = []
    image = named["url_column"] or named["image_column"]
    if image is None:
        image, said = _only(table, IMAGE, "image_column", "image", not images)
        told += said
    if caption is None:
        caption, said = _only_caption(table)
        told += said
    rest = {name: getattr(options, name) for name in ("id_column", "split_column", "family_column")}
    return Columns(image, tuple(caption) if isinstance(caption, list) else caption, **rest), told


def _only_caption(table: Table) -> tuple[str | tuple[str, ...], list[str]]:
    numbered: dict[str, list[tuple[int, str]]] = {}
    for column in table.columns:
        if found := NUMBERED.fullmatch(column.casefold()):
            numbered.setdefault(found[1], []).append((int(found[2]), column))
    if numbered and not any(column.casefold() in CAPTION for column in table.columns):
        if len(numbered) > 1:
            raise ValueError(
                _unclear(table, "caption_column", "caption", [name for _, name in sum(numbered.values(), [])])
            )
        names = tuple(name for _, name in sorted(*numbered.values()))
        return names, [f"captions are read from the columns {', '.join(map(repr, names))}"]
    found, told = _only(table, CAPTION, "caption_column", "caption", False)
    assert found is not None
    return found, told


def _only(table: Table, names: tuple[str, ...], option: str, what: str, optional: bool) -> tuple[str | None, list[str]]:
    """The column of the name itself, or the only one of a well-known name."""
    if what in table.columns:
        alike = [column for column in table.columns if column != what]
        others = [name for name in alike if name.casefold() in names or NUMBERED.fullmatch(name.casefold())]
        also = f"{what}s are read from the column {what!r}; {', '.join(map(repr, others))} may hold some, too"
        return what, [f"{also} ({option} chooses)"] if others and what == "caption" else []
    found = [column for column in table.columns if column.strip().casefold() in names]
    if len(found) == 1:
        return found[0], [f"{what}s are read from the column {found[0]!r}"]
    if not found and optional:
        return None, []
    raise ValueError(_unclear(table, option, what, found))


def _unclear(table: Table, option: str, what: str, found: list[str]) -> str:
    start = (
        f"{table.path}: the {what} may be in {' or '.join(map(repr, found))}"
        if found
        else f"{table.path} has no column that is surely the {what}"
    )
    if said := without_head(table):
        return said
    way = f"name it as {option} (--{option.replace('_', '-')} of a command)"
    return f"{start}; {way}; its columns: {', '.join(map(repr, table.columns))}"
