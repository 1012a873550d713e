"""The captions of every test split as the boost sees them: length, cosines, hardness, duplicates."""

import numpy
import pandas

from hnclip.report.caption_sets import CaptionSet, read_sets
from hnclip.report.geometry import Geometry, caption_geometry, duplicates
from hnclip.report.load import Study
from hnclip.report.writer import Table

TITLE = "Geometry of the captions"
BUCKETS = ("below 0.8", "0.8 to 0.9", "0.9 to 0.95", "from 0.95")
COLUMNS = ["encoder", "captions_of", "captions", "images", "words", "mean", "hardest"]
COLUMNS += ["below_80", "from_80", "from_90", "from_95", "pairs_alike", "duplicates"]
HEADER = ["captions of", "encoder", "N", "words", "mean", "hardest", *BUCKETS, "pairs from 0.8", "duplicates"]
SPANS = [("", 4), ("cosine", 2), ("hardest companion (%)", len(BUCKETS)), ("", 2)]
NOTES = [
    "N captions, embedded by the frozen encoder named beside them; nothing is trained and no seed is drawn. Words are "
    "parted by spaces; their number is a mean over captions.",
    "Cosines are of two captions of different images. mean: over all pairs. hardest: of each caption with the one most "
    "like it, mean over captions; the four shares sort captions by that cosine (a lower edge belongs).",
    "pairs from 0.8: share of all pairs with a cosine of at least 0.8, in percent. duplicates: captions that are word "
    "for word another image's as well; no loss can part them.",
    "The paper (arXiv 2608.18521) has for its own encoder: DOCCI 123 words, mean 0.84, hardest 0.93; DCI 133, 0.85, "
    "0.92; Long-DCI 134, 0.85, 0.93; Urban-1K 107, 0.88, 0.94; 86 to 99 % of a batch's pairs at 0.8 or above. Cosines "
    "of different encoders are no measure of each other.",
]
NONE = "No geometry: the study lists no embeddings of captions."


def geometry_table(study: Study) -> tuple[list[Table], pandas.DataFrame]:
    """One row a set of captions and encoder; shares in percent, and empty where a set has one image."""
    frame = pandas.DataFrame([_row(found) for found in read_sets(study)], columns=COLUMNS)
    bare = frame.loc[frame["words"].isna(), "captions_of"].unique()
    if frame.empty:
        return [Table(TITLE, [], [], [NONE])], frame
    rows = [_printed(row) for row in frame.to_dict("records")]
    lone = [row["captions_of"] for row in frame.to_dict("records") if row["images"] < 2]
    notes = [f"{name} has one image: its captions have no companions." for name in dict.fromkeys(lone)]
    notes += [f"{name} has embeddings without words: lengths and duplicates are not known." for name in bare]
    return [Table(TITLE, HEADER, rows, [*NOTES, *notes], spans=SPANS, words=2)], frame


def _row(found: CaptionSet) -> list:
    worded = found.worded
    words = float(numpy.mean([len(caption.split()) for caption in found.captions])) if worded else numpy.nan
    row = [found.encoder, found.name, len(found.captions), found.images, words]
    numbers = _numbers(caption_geometry(found.ids_N, found.text_ND)) if found.images > 1 else [numpy.nan] * 7
    return [*row, *numbers, duplicates(found.ids_N, found.captions) if worded else numpy.nan]


def _numbers(geometry: Geometry) -> list[float]:
    """Means, and shares in percent, in the order of COLUMNS."""
    return [geometry.mean, geometry.mean_hardest, *(100 * geometry.buckets), 100 * geometry.alike]


def _printed(row: dict) -> list[str]:
    def number(name: str, decimals: int) -> str:
        return "–" if pandas.isna(row[name]) else f"{row[name]:.{decimals}f}".replace("-", "−")

    shares = [number(name, 1) for name in COLUMNS[7:12]]
    front = [row["captions_of"], row["encoder"], str(row["captions"]), number("words", 0)]
    return [*front, number("mean", 3), number("hardest", 3), *shares, number("duplicates", 0)]
