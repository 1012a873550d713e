"""A person's own images with captions: read, checked whole, split."""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from hnclip.data.assign import check_splitting, in_splits
from hnclip.data.captions import Table
from hnclip.data.captions_of import columns_of, read_table_of, start_of, with_images
from hnclip.data.columns import Columns
from hnclip.data.folder_checks import check_characters, check_leaks, check_rows, look_at_images
from hnclip.data.layouts import Layout
from hnclip.data.manifest import write_manifest
from hnclip.data.prepared_rows import manifest_rows, print_summary, tell
from hnclip.data.problems import Problems
from hnclip.data.rows import Row, first_captions, read_rows
from hnclip.options import from_dict, unknown


@dataclass(frozen=True)
class Options:
    """Where the data is and how it is split; give exactly one of the three split options.

    The first options are those of `hnclip.data.captions_of.Source`. id_column: names an image (default: its path as
    written). split_column: the split of each row; merge_splits: its values that count as another, such as {restval:
    train}. split_lists: for each split a text file with one image id a line. split_hash: percent for each split.
    family_column: images that belong together, kept in one split by split_hash. captions_per_image: only the first so
    many captions of an image (published tests on COCO: 5). long_words: the share of captions over so many words is
    printed (180 words are about 248 tokens).
    """

    captions: str
    layout: Layout | None = None
    images: str | None = None
    image_column: str | None = None
    caption_column: str | tuple[str, ...] | None = None
    url_column: str | None = None
    txt: Literal["whole", "lines"] = "whole"
    id_column: str | None = None
    split_column: str | None = None
    merge_splits: dict[str, str] | None = None
    split_lists: dict[str, str] | None = None
    split_hash: dict[str, int] | None = None
    family_column: str | None = None
    captions_per_image: int | None = None
    long_words: int = 180

    def __post_init__(self):
        check_splitting(self)
        if self.merge_splits and not self.split_column:
            raise ValueError("merge_splits: it is read with split_column alone")
        if self.captions_per_image is not None and self.captions_per_image < 1:
            raise ValueError(f"captions_per_image must be at least 1, got {self.captions_per_image}")


def splits(options: dict[str, Any]) -> list[str]:
    """The splits that `prepare` would write."""
    wanted = from_dict(Options, options, "folder")
    if not wanted.split_column:
        return list(wanted.split_lists or wanted.split_hash or {})
    table, _, _ = _table(wanted, Problems())
    found = (row.get(wanted.split_column) for _, row in table.rows)
    return list(dict.fromkeys(name for name in found if isinstance(name, str) and name.strip()))


def count(options: dict[str, Any]) -> dict[str, int]:
    """The captions of each split, counted without a look at the images; none where the captions have faults."""
    wanted, problems = from_dict(Options, options, "folder"), Problems()
    table, columns, _ = _table(wanted, problems)
    if wanted.url_column or table.pictures is not None:
        return {}  # how images are called is only known with their files
    rows = assign(wanted, table, columns, problems, Problems())
    return {} if problems.kinds() else dict(Counter(row.split for row in rows))


def prepare(options: dict[str, Any], folder: Path) -> None:
    """Check the table and every image, then write each split's manifest.

    Raises ValueError naming all problems; the whole list is then in `folder/problems.txt`. What is worth
    a look but no fault goes to `folder/warnings.txt`.
    """
    wanted = from_dict(Options, options, "folder")
    problems, warnings = Problems(), Problems()
    table, columns, told = _table(wanted, problems)
    for line in told:
        print(line)
    warnings.merge(table.notes)
    table = with_images(table, columns, wanted, Path(folder) / "images")
    rows = assign(wanted, table, columns, problems, warnings)
    check_rows(rows, problems, warnings, repeats=table.published)
    check_characters(rows, warnings if table.published else problems, table.published)
    facts = look_at_images(rows, problems)
    check_leaks(rows, facts, warnings if table.published else problems, warnings)
    problems.stop(f"the data of {wanted.captions} cannot be used", Path(folder) / "problems.txt")
    tell(warnings, f"the data of {wanted.captions} can be used; worth a look:", Path(folder) / "warnings.txt")
    for split in dict.fromkeys([*splits(options), *(row.split for row in rows)]):
        chosen = [row for row in rows if row.split == split]
        print_summary(split, chosen, wanted.long_words)
        write_manifest(Path(folder) / f"{split}.parquet", manifest_rows(chosen, facts))


def _table(wanted: Options, problems: Problems) -> tuple[Table, Columns, list[str]]:
    """The captions as a table, its splits merged; its columns, and what is to be said of them."""
    table = read_table_of(wanted, problems)
    columns, told = columns_of(table, wanted)
    if not wanted.merge_splits:
        return table, columns, told
    column = wanted.split_column
    found = dict.fromkeys(row.get(column) for _, row in table.rows if isinstance(row.get(column), str))
    absent = [name for name in wanted.merge_splits if name not in found]
    if absent:
        raise ValueError("; ".join(f"merge_splits: {unknown('split', name, found)}" for name in absent))

    def merged(row: dict[str, Any]) -> dict[str, Any]:
        split = row.get(column)
        return {**row, column: wanted.merge_splits.get(split, split) if isinstance(split, str) else split}

    return replace(table, rows=[(where, merged(row)) for where, row in table.rows]), columns, told


def assign(wanted: Options, table: Table, columns: Columns, problems: Problems, warnings: Problems) -> list[Row]:
    """The table's rows, each in its split; rows that no list names are left out with a warning."""
    rows = read_rows(table, columns, start_of(wanted, table), problems)
    if wanted.captions_per_image:
        rows = first_captions(rows, wanted.captions_per_image, warnings)
    rows = in_splits(rows, wanted, problems, warnings)
    if not rows:
        problems.add("the table has no usable row", str(table.path))
    return rows
