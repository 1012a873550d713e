"""The paper's numbers (arXiv 2608.18521, first version), and which of them a cell of a study reproduces.

`paper.csv` holds them as printed, one R@K a row, in the paper's own terms.
"""

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pandas

from hnclip.report.load import ZERO_SHOT, Study
from hnclip.report.methods import Method

# Image-caption pairs, as the paper states them.
TEST_PAIRS = {"docci": 5100, "dci": 1999, "long_dci": 7444, "urban1k": 1000}
TRAIN_PAIRS = {"docci": 9450, "dci": 5445, "vg_paragraphs": 14579}
TEST_SPLIT = "test"
BACKBONE = "Long-CLIP-L"
# Kind of framework, or zero-shot: the paper's name for it, and whether its token-level term is on.
FRAMEWORKS = {name: (name, 0) for name in (ZERO_SHOT, "longclip", "finelip", "goal", "structxlip", "lora", "dora")}
FRAMEWORKS["hnclip"] = ("longclip", 1)
# Kind of loss: the paper's name for it, and whose captions' cosines boost it.
LOSSES = {
    "zero_shot": ("", ""),
    "plain": ("infonce", ""),
    "boosted": ("boosted", "live"),
    "frozen": ("boosted", "frozen"),
}


class Run(NamedTuple):
    """What a row of the paper's tables stands for, K and direction aside; `train` and `test` are kinds of benchmark."""

    train: str
    test: str
    framework: str
    token_term: int
    loss: str
    boost_source: str
    gamma: float
    fraction: int
    seed: int


class Printed(NamedTuple):
    """A row of one of the paper's tables: its note, and R@K in percent by (direction, K)."""

    note: str
    recalls: dict[tuple[str, int], float]


@lru_cache
def tables() -> dict[str, dict[Run, Printed]]:
    """The paper's rows by table, in the paper's order."""
    text = pandas.read_csv(Path(__file__).with_name("paper.csv"), dtype=str, keep_default_na=False)
    found: dict[str, dict[Run, Printed]] = {}
    for row in text.to_dict("records"):
        run = Run(
            row["train"],
            row["test"],
            row["framework"],
            int(row["token_term"]),
            row["loss"],
            row["boost_source"],
            float(row["gamma"] or 0),
            int(row["fraction_pct"]),
            int(row["seed"]),
        )
        printed = found.setdefault(row["source"], {}).setdefault(run, Printed(row["note"], {}))
        printed.recalls[row["direction"], int(row["k"])] = float(row["recall_pct"])
    return found


def run_of(study: Study, method: Method, target: str, fraction: int, seed: int) -> Run | None:
    """The paper's name for a cell on a test split; None where the paper has no such thing.

    Benchmarks and frameworks go by their kinds. A loss at a fixed scale, or tuned, is none of the paper's. The released
    model is the paper's zero-shot row, which stands under all data and its first seed.
    """
    benchmark, split = target.split("/")
    benchmarks = study.config["benchmarks"]
    untrained = method.kind == ZERO_SHOT
    kind = ZERO_SHOT if untrained else study.config["frameworks"][method.framework]["kind"]
    entry = {} if untrained else study.config["losses"][method.loss]
    if split != TEST_SPLIT or kind not in FRAMEWORKS or method.kind not in LOSSES or method.tuned:
        return None
    if entry.get("scale"):
        return None
    train = "" if untrained else benchmarks[method.train]["kind"]
    loss, source = LOSSES[method.kind]
    gamma = float(entry.get("gamma", 0)) if loss == "boosted" else 0.0
    share, seed = (100, 42) if untrained else (fraction, seed)
    return Run(train, benchmarks[benchmark]["kind"], *FRAMEWORKS[kind], loss, source, gamma, share, seed)
