"""What a study's report holds: every table, figure and gallery, with its number in the paper and its words."""

from typing import NamedTuple


class Entry(NamedTuple):
    """One item of the report: its number in the paper (arXiv 2608.18521), what it shows, the category it stands in."""

    number: str
    label: str
    category: str

    @property
    def title(self) -> str:
        """The heading of its page."""
        words = self.label[:1].upper() + self.label[1:]
        return f"{words} ({self.number} of the paper)" if self.number else words


VERDICTS, RESULTS, CONTROLS = "1 Verdicts", "2 Results", "3 Controls"
DATA, COSTS = "4 Captions and gradients", "5 Costs and protocol"

TABLES = {
    "verdicts": Entry("", "the questions and their answers", VERDICTS),
    "main": Entry("Table 1", "recall of every method", RESULTS),
    "differences": Entry("", "paired differences", RESULTS),
    "fractions": Entry("Table A9", "R@1 by data fraction", RESULTS),
    "plugin": Entry("Tables 2 and A4", "the boost in every framework", RESULTS),
    "efficiency": Entry("Table A3", "cost of every framework", COSTS),
    "overlap": Entry("", "test images that were trained on", COSTS),
    "gamma": Entry("Tables 3a and A6", "strength of the boost", CONTROLS),
    "token_term": Entry("Tables 3b and A5", "token-level term and boost", CONTROLS),
    "recomputed": Entry("Tables 3c and A2", "recomputed or frozen cosines", CONTROLS),
    "tuning": Entry("", "what was tried on the validation split", CONTROLS),
    "transfer": Entry("Tables A7 and A10", "transfer to other benchmarks", RESULTS),
    "seeds": Entry("Table A8", "seed by seed", RESULTS),
    "geometry": Entry("Table A1", "how alike the captions are", DATA),
    "gradients": Entry("", "gradients along a training", DATA),
    "saturation": Entry("", "solved batches by contrast", DATA),
    "paper": Entry("", "beside the paper's numbers", RESULTS),
}
FIGURES = {
    "controls": Entry("", "what each loss gains over plain", CONTROLS),
    "gamma": Entry("", "R@1 by strength of the boost", CONTROLS),
    "fractions": Entry("Figure 6", "R@1 by data fraction", RESULTS),
    "epochs": Entry("Figures 5 and A9", "R@1 by epoch", RESULTS),
    "caption_cosines": Entry("Figure 1", "how alike the captions are", DATA),
    "geometry": Entry("Figure A6", "captions at a glance", DATA),
    "heat_map": Entry("Figure A5", "cosines within one batch", DATA),
    "near_twins": Entry("Figures A1 to A4", "near-twins", DATA),
    "gradients": Entry("Figure 4", "gradients along a training", DATA),
    "gradients_by": Entry("Figure A8", "gradients by data and share", DATA),
    "saturation": Entry("", "solved batches by contrast", DATA),
    "retrieved": Entry("Figures 3 and A10", "queries that change most", RESULTS),
}
GALLERIES: dict[str, Entry] = {
    "near_twins": Entry("Figures A1 to A4", "near-twins with pictures", DATA),
    "retrieved": Entry("Figures 3 and A10", "queries that change most", RESULTS),
}
PAGES = {"record": Entry("", "config, versions, hardware, costs", COSTS)}
