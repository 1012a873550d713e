"""DOCCI: 15,000 photographs with human captions of 123 words on average (Onoe et al., ECCV 2024)."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hnclip.data.captions import read_jsonl, require, some
from hnclip.data.prepared_rows import Pair, write_splits
from hnclip.data.problems import Problems
from hnclip.data.published import Counts, check_counts, check_names
from hnclip.data.rows import Row, read_rows
from hnclip.data.sources import fetched
from hnclip.options import from_dict

SOURCES = ("docci",)
DESCRIPTIONS, IMAGES = "docci_descriptions.jsonlines", "docci_images.tar.gz"
_PARTS = {"train": 9647, "qual_dev": 100, "test": 5000, "qual_test": 100}
# By protocol: which of ours each split of DOCCI goes into. `goal` is what GOAL and the studies after it test on.
_SPLITS = {
    "goal": {"train": "train", "qual_dev": "qual_dev", "test": "test", "qual_test": "test"},
    "official": {name: name for name in _PARTS},
}
PUBLISHED = {
    protocol: {ours: sum(_PARTS[theirs] for theirs in into if into[theirs] == ours) for ours in into.values()}
    for protocol, into in _SPLITS.items()
}


@dataclass(frozen=True)
class Options:
    """Which protocol, and how many images it must find.

    protocol: `goal` tests on 5,100 images (test and qual_test together), `official` on 5,000 and has qual_test apart.
    counts: `published`, the images that each split must have (those named), or null for as many as there are.
    """

    protocol: Literal["goal", "official"] = "goal"
    counts: Counts = "published"

    def __post_init__(self):
        check_names(self.counts, PUBLISHED[self.protocol])


@dataclass(frozen=True)
class _Columns:
    image_column: str = "image_file"
    caption_column: str = "description"
    id_column: str = "example_id"
    split_column: str = "split"
    family_column: str | None = None


def splits(options: dict[str, Any]) -> list[str]:
    """The splits that `prepare` would write."""
    return list(PUBLISHED[from_dict(Options, options, "docci").protocol])


def prepare(options: dict[str, Any], folder: Path) -> None:
    """Write the splits of the protocol. Raises ValueError naming every fault; `folder/problems.txt` has them all."""
    wanted = from_dict(Options, options, "docci")
    files = fetched(Path(folder), "docci")
    problems = Problems()
    rows = _read(files[DESCRIPTIONS], files[f"{IMAGES}/"] / "images", problems)
    split_of = _SPLITS[wanted.protocol]
    pairs = [Pair(row.id, row.path, row.caption, split_of[row.split]) for row in rows]
    check_counts(Counter(pair.split for pair in pairs), wanted.counts, wanted.protocol, PUBLISHED, problems)
    write_splits(folder, pairs, splits(options), problems, f"fetch {IMAGES} again, or repair its copy")


def _read(path: Path, images: Path, problems: Problems) -> list[Row]:
    """The rows of the description file, each id once; what is wrong with the others goes to `problems`."""
    table = some(read_jsonl(path, problems), problems)
    columns = _Columns()
    names = [column for column in vars(columns).values() if column]
    require(table, dict(zip(names, names, strict=True)))
    rows, first = [], {}
    for row in read_rows(table, columns, images.absolute(), problems):
        if row.split not in _PARTS:
            problems.add(f"unknown splits (DOCCI has {', '.join(_PARTS)})", f"{row.where}: {row.split!r}")
        elif row.path.parent != images.absolute() or row.path.name in ("", ".", ".."):
            problems.add("image files that are no plain file name", f"{row.where}: {row.path}")
        elif row.id in first:
            problems.add("ids that are there twice", f"{row.where}, as {first[row.id]}: {row.id!r}")
        else:
            rows.append(row)
            first[row.id] = row.where
    return rows
