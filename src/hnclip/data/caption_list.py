"""Captions without pictures: the ids and texts of a table, whole or not at all."""

from pathlib import Path
from typing import Any

from hnclip.data.captions import read_table, visible
from hnclip.data.problems import Problems

IDS = ("id", "image")
SHOWN = 20


def read_captions(path: Path) -> tuple[list[str], list[str]]:
    """(ids, captions) of a .jsonl, .csv, .tsv or .parquet table, a manifest among them, in the order of its rows.

    The id is the image's, from the column `id` or else `image`; captions of one image share it. Raises ValueError
    naming every row that cannot be used.
    """
    problems = Problems()
    table = read_table(path, problems)
    key = next((name for name in IDS if name in table.columns), None)
    if key is None or "caption" not in table.columns:
        raise ValueError(
            f"{path} needs a column 'caption' and a column 'id' or 'image'; its columns: "
            f"{', '.join(map(repr, table.columns))}"
        )
    ids, captions = [], []
    for place, row in table.rows:
        name, caption = row.get(key), row.get("caption")
        if not _is_name(name):
            problems.add(f"rows without {key!r} (a text or a whole number)", place)
        if not (isinstance(caption, str) and visible(caption)):
            problems.add("rows without a visible caption (write it, or remove the row)", place)
        ids.append(str(name))
        captions.append(caption)
    faults = problems.lines(SHOWN)
    if faults:
        raise ValueError("\n  ".join([f"{path}: nothing was embedded", *faults]))
    return ids, captions


def _is_name(value: Any) -> bool:
    return (isinstance(value, str) and bool(value.strip())) or type(value) is int
