"""DCI: Segment Anything's photographs with long human captions (Urbanek et al., CVPR 2024)."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hnclip.data.dci import WAY_OUT, goal_test_ids, read_dci
from hnclip.data.prepared_rows import Pair, write_splits
from hnclip.data.problems import Problems
from hnclip.data.published import Counts, check_counts, check_names
from hnclip.options import from_dict

SOURCES = ("dci",)
IMAGES, EMPTY = 7805, 203  # annotated images, and those of them without a long caption
PUBLISHED = {"goal": {"train": 5603, "test": 1999}, "full": {"all": IMAGES - EMPTY}}


@dataclass(frozen=True)
class Options:
    """Which protocol, and how many images it must find.

    protocol: `goal` tests on the 1,999 images that GOAL chose and trains on the rest that have a long caption; `full`
    is all of these in one split `all`. counts: `published`, the images that each split must have (those named), or
    null for as many as there are.
    """

    protocol: Literal["goal", "full"] = "goal"
    counts: Counts = "published"

    def __post_init__(self):
        check_names(self.counts, PUBLISHED[self.protocol])


def splits(options: dict[str, Any]) -> list[str]:
    """The splits that `prepare` would write."""
    return list(PUBLISHED[from_dict(Options, options, "dci").protocol])


def prepare(options: dict[str, Any], folder: Path) -> None:
    """Write the splits of the protocol. Raises ValueError naming every fault; `folder/problems.txt` has them all."""
    wanted = from_dict(Options, options, "dci")
    problems, warnings = Problems(), Problems()
    images, empty = read_dci(folder, problems, warnings)
    tested = goal_test_ids() if wanted.protocol == "goal" else []
    absent = sorted(set(tested) - {image.id for image in images})
    for name in absent:
        if wanted.counts == "published":
            problems.add("test images that the annotations lack, or whose long caption is empty", name)
    if absent and wanted.counts != "published":
        warnings.add("test images left out, since the annotations lack them", f"{len(absent)} of {len(tested)}")
    chosen = set(tested)
    split_of = {image.id: "test" if image.id in chosen else "train" for image in images}
    if wanted.protocol == "full":
        split_of = dict.fromkeys(split_of, "all")
    pairs = [Pair(image.id, image.path, image.caption, split_of[image.id]) for image in images]
    counted = Counter(pair.split for pair in pairs)
    note = count_note(len(images), empty)
    check_counts(counted, wanted.counts, wanted.protocol, PUBLISHED, problems, note)
    print(f"DCI: {len(images)} images with a long caption, {empty} without one left out")
    write_splits(folder, pairs, splits(options), problems, WAY_OUT, warnings)


def count_note(kept: int, empty: int) -> str:
    """What was found against what was published, for a message about counts."""
    return (
        f"{kept + empty:,} annotated images, {empty:,} of them without a long caption; published: {IMAGES:,} and "
        f"{EMPTY:,} (5,445 for training in the compared studies: those with a local pair, which the recipe's "
        "`train_filter: local_pairs` chooses later)"
    )
