"""Long-DCI: every DCI image with a long caption as one test set (TULIP's benchmark).

Ids are DCI's own, so that images trained on are known: `dci` trains on 5,603 of these 7,602.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hnclip.data.dci import WAY_OUT, read_dci
from hnclip.data.prepare.dci import EMPTY, IMAGES, count_note
from hnclip.data.prepared_rows import Pair, write_splits
from hnclip.data.problems import Problems
from hnclip.data.published import Counts, check_counts, check_names
from hnclip.options import from_dict

SOURCES = ("dci",)
PUBLISHED = {"all": {"test": IMAGES - EMPTY}}


@dataclass(frozen=True)
class Options:
    """counts: `published`, the images that the split `test` must have, or null for as many as there are."""

    counts: Counts = "published"

    def __post_init__(self):
        check_names(self.counts, PUBLISHED["all"])


def splits(options: dict[str, Any]) -> list[str]:
    """The splits that `prepare` would write."""
    from_dict(Options, options, "long_dci")
    return ["test"]


def prepare(options: dict[str, Any], folder: Path) -> None:
    """Write `test.parquet`. Raises ValueError naming every fault; `folder/problems.txt` has them all."""
    wanted = from_dict(Options, options, "long_dci")
    problems, warnings = Problems(), Problems()
    images, empty = read_dci(folder, problems, warnings)
    pairs = [Pair(image.id, image.path, image.caption, "test") for image in images]
    note = f"{count_note(len(images), empty)}; the 7,444 of HN-CLIP's paper are its 5,445 and its 1,999 together"
    check_counts({"test": len(pairs)}, wanted.counts, "all", PUBLISHED, problems, note)
    print(f"Long-DCI: {len(images)} images with a long caption, {empty} without one left out")
    write_splits(folder, pairs, ["test"], problems, WAY_OUT, warnings)
