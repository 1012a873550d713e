"""The captions that a diagnosis is about, read and checked as the `folder` benchmark reads and checks them."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hnclip.caption_places import visible_files
from hnclip.data.captions import Table
from hnclip.data.captions_of import Source, columns_of, read_table_of, start_of, with_files_of, with_images
from hnclip.data.columns import Columns
from hnclip.data.folder_checks import Facts, check_characters, check_leaks, check_rows, look_at_images
from hnclip.data.held import Held
from hnclip.data.pictures import SUFFIXES
from hnclip.data.problems import Problems
from hnclip.data.readers.places import is_place
from hnclip.data.rows import SWAPPED, Row, adjacent, read_rows
from hnclip.doctor.words import is_placeholder

SPLIT = "split"


@dataclass(frozen=True)
class Captions:
    """N captions, those of one image adjacent, and what is wrong with them.

    named: the table names images; without, every caption counts as one of an image of its own. pictured: the images
    were looked at, `facts` holds those that can be read. held: those that lie within the data's own files, and are no
    files until `bring`. problems are faults, warnings are worth a look, told says
    what was chosen where nobody did.
    """

    path: Path
    columns: Columns
    rows: list[Row]
    named: bool
    pictured: bool
    held: Held | None = None
    facts: Facts = field(default_factory=dict)
    problems: Problems = field(default_factory=Problems)
    warnings: Problems = field(default_factory=Problems)
    told: list[str] = field(default_factory=list)

    @property
    def ids_N(self) -> list[str]:
        return [row.id for row in self.rows]

    @property
    def captions_N(self) -> list[str]:
        return [row.caption for row in self.rows]

    @property
    def images(self) -> int:
        return len(set(self.ids_N))

    def bring(self, rows: Iterable[int]) -> None:
        """Have the images of these rows as files."""
        if self.held:
            self.held.bring(path for row in rows if (path := self.rows[row].path) in self.held.looks)


def read(source: Source, unpack_to: Path, split: str | None = None) -> Captions:
    """Read and check captions; their pictures are looked at where `images` names their folder or they come with them.

    `unpack_to`: a folder for images that lie within the data's own files. `split` keeps one split's captions. Raises
    ValueError where columns cannot be told or no caption can be read, OSError where there is no file.
    """
    problems, warnings = Problems(), Problems()
    table = read_table_of(source, problems)
    look = source.images is not None or table.pictures is not None or is_place(str(source.captions))
    if source.images is not None and not Path(source.images).is_dir():
        raise NotADirectoryError(f"--images {source.images} is no folder (looked in {Path.cwd()})")
    if source.split_column is None and _has_splits(table):
        source = replace(source, split_column=SPLIT)
    columns, told = columns_of(table, source, look)
    warnings.merge(table.notes)
    held = None
    if look and table.pictures is not None and columns.image_column and not source.url_column:
        held = Held(table.pictures, unpack_to)
        table = with_files_of(table, columns.image_column, held.unpacked)
    elif look:
        table = with_images(table, columns, source, unpack_to)
    rows = read_rows(table, columns, start_of(source, table), problems, look)
    check_rows(rows, problems, warnings, repeats=table.published)
    check_characters(rows, warnings if table.published else problems, table.published)
    every, rows = rows, _of_split(source.captions, rows, columns, split)
    if not rows:
        raise ValueError("\n  ".join([f"{source.captions}: no row has a caption that can be read", *problems.lines(5)]))
    for row in rows:
        if is_placeholder(row.caption):
            warnings.add("captions that look like a placeholder", f"{row.where}: {row.caption!r} ({row.id})")
    facts = _pictures(rows, every, held, source, problems, warnings) if look else {}
    if look and rows and not facts and SWAPPED not in problems.kinds():
        told.append("no image was found: give --images the folder where the paths of the captions start")
    named = columns.image_column is not None
    if not named:
        told.append(
            "no column names the images: every caption counts as that of an image of its own, and several captions of "
            "one image as each other's negatives (--image-column)"
        )
    where = Path(source.captions)
    return Captions(where, columns, adjacent(rows), named, look, held, facts, problems, warnings, told)


def _has_splits(table: Table) -> bool:
    """True where every row says its split."""
    return SPLIT in table.columns and all(isinstance(row.get(SPLIT), str) and row[SPLIT] for _, row in table.rows)


def _of_split(path: str, rows: list[Row], chosen: Columns, split: str | None) -> list[Row]:
    if split is None:
        return rows
    kept = [row for row in rows if row.split == split]
    if not kept:
        known = ", ".join(sorted({repr(row.split) for row in rows})) if chosen.split_column else "it has no such column"
        raise ValueError(f"{path} has no captions of split {split!r}; its splits: {known}")
    return kept


def _pictures(
    rows: list[Row], every: list[Row], held: Held | None, source: Source, problems: Problems, warnings: Problems
) -> Facts:
    """Every image looked at once; files of `images` that none of `every` row names are worth a look."""
    facts = look_at_images(rows, problems, held.looks if held else {})
    check_leaks(rows, facts, problems, warnings)
    if source.images is None:
        return facts
    named = {os.path.realpath(row.path) for row in every}
    for name in visible_files(Path(source.images)):
        path = Path(source.images, name)
        if path.suffix.lower() in SUFFIXES and os.path.realpath(path) not in named:
            warnings.add("images without a caption", str(path))
    return facts


def record(captions: Captions) -> dict[str, Any]:
    """What was read, for scripts."""
    columns = captions.columns
    return {
        "captions": len(captions.rows),
        "images": captions.images,
        "images_named": captions.named,
        "images_looked_at": captions.pictured,
        "columns": {
            "image": columns.image_column,
            "caption": columns.caption_column,
            "split": columns.split_column,
        },
        "told": captions.told,
        "faults": captions.problems.kinds(),
        "warnings": captions.warnings.kinds(),
    }
