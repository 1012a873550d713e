"""Numbers of the paper of images that were trained on, and of epochs that were chosen on the test split."""

from hnclip.report.data_notes import MARK
from hnclip.report.paper import TEST_PAIRS, TRAIN_PAIRS, Run

BEST = "‡"  # beside a number of the paper that is of the best epoch on the test split
BEST_SOURCES = ("Table A2",)  # lists a best epoch a benchmark; the paper has no validation split
# (training set, test set) by kinds of benchmark: training pairs that the test set holds. 7,444 = 5,445 + 1,999.
SEEN = {("dci", "long_dci"): TRAIN_PAIRS["dci"]}


def seen_share(run: Run) -> float:
    """The share of the paper's test pairs that its model was trained on, in percent; of the whole training set."""
    return 100 * SEEN.get((run.train, run.test), 0) / TEST_PAIRS[run.test]


def epoch_of(source: str) -> str:
    """Which epoch the paper's numbers are of."""
    return "best on the test split" if source in BEST_SOURCES else "not stated"


def marks(source: str, run: Run) -> str:
    """What stands behind a number of the paper."""
    found = (MARK if seen_share(run) else "") + (BEST if source in BEST_SOURCES else "")
    return f" {found}" if found else ""


def mark_notes(source: str, runs: list[Run]) -> list[str]:
    """What the marks of a table stand for."""
    notes = []
    for train, test in dict.fromkeys((run.train, run.test) for run in runs if seen_share(run)):
        seen, tested = SEEN[train, test], TEST_PAIRS[test]
        notes.append(
            f"{MARK} behind a number of the paper: its models trained on DCI have seen {seen} of its {tested} pairs of "
            f"Long-DCI ({seen / tested:.1%}), its training and its test pairs of DCI together; fewer where they were "
            "trained on a share of the data. Such a number says nothing of unseen images."
        )
    if source in BEST_SOURCES:
        notes.append(
            f"{BEST} The paper's {source} is of the best epoch of each benchmark, chosen on the test split since it "
            "has no validation split; ours is the last epoch."
        )
    else:
        notes.append(
            "Ours is the last epoch. The paper does not say of which epoch these are; it names a best one a benchmark "
            f"elsewhere ({', '.join(BEST_SOURCES)}), and no validation split."
        )
    return notes
