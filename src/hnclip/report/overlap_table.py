"""The pairs of training set and test split with images in common."""

import pandas

from hnclip.report.load import OVERLAP, Study, named
from hnclip.report.writer import Table

TITLE = "Test images that were trained on"
HOW = (
    "An image counts where a file of the same bytes is in the training split, or an image of its id where both are of "
    "one benchmark or of benchmarks made from one published source; of the full training split, whatever share of it "
    "cells are trained on. Near copies are counted by a perceptual hash (see docs/benchmarks.md), where test images "
    "were once taken from the source that is trained on; equal files are among them."
)


def overlap_table(study: Study) -> tuple[list[Table], pandas.DataFrame]:
    """One row a pair with images or near copies in common, or a sentence; in the CSV the share is in percent."""
    near = study.overlap["near"].fillna(0)
    found = study.overlap[(study.overlap["shared"] > 0) | (near > 0)]
    frame = found.assign(share=100 * found["share"])[list(OVERLAP)].rename(columns={"share": "percent"})
    if found.empty:
        trains, targets = (study.overlap[name].nunique() for name in ("train", "target"))
        said = f"No image of a test split was trained on ({trains} training and {targets} test splits, every pair)."
        return [Table(TITLE, [], [], [said, HOW])], frame
    rows = [
        [
            row.train,
            row.target,
            str(row.images),
            str(row.shared),
            f"{row.percent:.1f}%",
            "–" if pandas.isna(row.near) else str(row.near),
        ]
        for row in frame.itertuples(index=False)
    ]
    pairs = len(study.overlap)
    notes = [f"{len(rows)} of {pairs} pairs of a training set and a test split; the others have no image in common."]
    unseen = [train for train in named(study.config, "train") if train not in set(found["train"])]
    notes += [f"Nothing that is tested on was trained on by {', '.join(unseen)}."] if unseen else []
    header = ["trained on", "test split", "its images", "of these trained on", "share", "near copies"]
    return [Table(TITLE, header, rows, [*notes, HOW], words=2)], frame
