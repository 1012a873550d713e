"""What a study's report holds: every table, figure and gallery, with its number in the paper and its words."""

from typing import NamedTuple


class Entry(NamedTuple):
    """One item of the report: its number in the paper (arXiv 2608.18521), what it shows, the category it stands in."""

    number: str
    label: str
    category: str


RESULTS, CONTROLS, COSTS, DATA = "2 Results", "3 Controls", "5 Costs and protocol", "4 Captions and gradients"

TABLES = {
    "main": Entry("Table 1", "recall of every method", RESULTS),
    "differences": Entry("", "paired differences", RESULTS),
    "fractions": Entry("Table A9", "R@1 by data fraction", RESULTS),
    "plugin": Entry("Tables 2 and A4", "the boost in every framework", RESULTS),
    "efficiency": Entry("Table A3", "cost of every framework", COSTS),
    "overlap": Entry("", "test images that were trained on", COSTS),
    "paper": Entry("", "beside the paper's numbers", RESULTS),
}
FIGURES = {
    "fractions": Entry("Figure 6", "R@1 by data fraction", RESULTS),
    "epochs": Entry("Figures 5 and A9", "R@1 by epoch", RESULTS),
    "caption_cosines": Entry("Figure 1", "how alike the captions are", DATA),
}
GALLERIES: dict[str, Entry] = {}
