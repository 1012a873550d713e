"""Images with captions in any format that people have them in, read and checked by one function for all commands."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from hnclip.data.captions import Table
from hnclip.data.columns import Columns, find_columns
from hnclip.data.folder_checks import Facts, check_characters, check_rows, look_at_images
from hnclip.data.layouts import Layout, read_captions
from hnclip.data.pictures import Picture, Unpacked, unpack_pictures
from hnclip.data.problems import Problems
from hnclip.data.readers.urls import with_files
from hnclip.data.rows import Row, read_rows
from hnclip.options import unknown


@dataclass(frozen=True)
class Source:
    """Where captions are, and how they are read; the benchmark kind `folder` has the same options.

    captions: a file, a folder or a pattern (docs/your_data.md). layout: how they stand there; null tells it from what
    is there. images: the folder where relative image paths start (default: the captions'). image_column,
    caption_column: null takes the one that has a well-known name; several caption columns are several captions.
    url_column: the URLs of images that were downloaded into `images`. txt: what a .txt file is, one caption or one a
    line.
    """

    captions: str
    layout: Layout | None = None
    images: str | None = None
    image_column: str | None = None
    caption_column: str | tuple[str, ...] | None = None
    id_column: str | None = None
    split_column: str | None = None
    family_column: str | None = None
    url_column: str | None = None
    txt: Literal["whole", "lines"] = "whole"

    def __post_init__(self):
        for name, value, known in (("layout", self.layout, get_args(Layout)), ("txt", self.txt, ("whole", "lines"))):
            if value is not None and value not in known:
                raise ValueError(unknown(name, str(value), known))


@dataclass(frozen=True)
class Data:
    """What was read: one row a caption, what is known of each image file, and what is wrong or worth a look.

    facts: by the path of each image that could be read: SHA-256, width, height. A row whose image could not is among
    `rows`, too. told: lines that say what was chosen where nobody did, such as the columns.
    """

    rows: list[Row]
    facts: Facts
    problems: Problems
    warnings: Problems
    columns: Columns
    told: list[str] = field(default_factory=list)


def read_data(source: Source, unpack_to: Path, images: bool = True) -> Data:
    """Read the captions, and look at every image once.

    unpack_to: the folder for images that lie within the data's own files (shards, Parquet); nothing is written
    otherwise. Without `images` no image is looked at or unpacked, and none need be there: a row without one then has
    its place in the table as its id, and `Row.path` is not to be opened.

    `problems` has what a benchmark would be refused for, by kind: `problems.lines(20)` to show them, `problems.stop`
    to end with them. Raises ValueError or OSError where there is no table at all, or a column cannot be told.
    """
    problems, warnings = Problems(), Problems()
    table = read_table_of(source, problems)
    columns, told = columns_of(table, source, images)
    warnings.merge(table.notes)
    if images:
        table = with_images(table, columns, source, Path(unpack_to))
    rows = read_rows(table, columns, start_of(source, table), problems, images)
    check_rows(rows, problems, warnings, repeats=table.published)
    check_characters(rows, warnings if table.published else problems, table.published)
    facts = look_at_images(rows, problems) if images else {}
    if not rows:
        problems.add("the table has no usable row", str(table.path))
    return Data(rows, facts, problems, warnings, columns, told)


def read_table_of(source: Any, problems: Problems) -> Table:
    """The table that `captions` names, by the options of a `Source`."""
    images = Path(source.images) if source.images else None
    return read_captions(source.captions, source.layout, problems, images, source.txt)


def columns_of(table: Table, source: Any, images: bool = True) -> tuple[Columns, list[str]]:
    """The columns to be read, and lines that say what was chosen where nobody did."""
    columns, told = find_columns(table, source, images)
    return columns, [f"{table.path} is read as {table.read_as}"] * bool(table.read_as) + told


def start_of(source: Any, table: Table) -> Path:
    """The folder where a table's relative image paths start."""
    return Path(source.images or table.start or table.path.parent).absolute()


def with_images(table: Table, columns: Columns, source: Any, folder: Path) -> Table:
    """The table with its images as files: its own are unpacked into the folder, URLs are found under `images`."""
    column = columns.image_column
    if source.images and not Path(source.images).is_dir():
        raise FileNotFoundError(f"{source.images}: no such folder of images (looked in {Path.cwd()})")
    if source.url_column:
        return with_files(table, column, start_of(source, table))
    if table.pictures is None or column is None:
        return table
    return with_files_of(table, column, unpack_pictures(table.pictures, folder))


def with_files_of(table: Table, column: str, unpacked: dict[Picture, Unpacked]) -> Table:
    """The table with the files of its own images in their places."""
    rows = [(where, {**row, column: _file(row.get(column), unpacked)}) for where, row in table.rows]
    return replace(table, rows=rows)


def _file(value: Any, unpacked: dict[Picture, Unpacked]) -> Any:
    return unpacked.get(value, value) if isinstance(value, Picture) else value
