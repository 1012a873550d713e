"""Models on benchmarks that they were not trained on, as the paper's Tables A7 and A10."""

import pandas

from hnclip.report.beside_plain import plain_pairs
from hnclip.report.load import ZERO_SHOT, Study, named, test_targets
from hnclip.report.methods import Setting, methods, settings, zero_shot
from hnclip.report.recall_rows import Row, columns, recall_table
from hnclip.report.writer import Table

TITLE = "Trained on one benchmark, tested on another"
EMPTY = (
    "This study evaluates no model on a benchmark that it was not trained on; none of the grids that it runs names "
    "one under `transfer`."
)


def transfer_table(study: Study) -> tuple[list[Table], pandas.DataFrame]:
    """Every method on every other benchmark's test splits, a table a training set and split; zero-shot above."""
    tables, records = [], []
    for train in named(study.config, "train"):
        for target in test_targets(study):
            here = [s for s in settings(study) if s.train == train and _evaluated(study, s, target)]
            if target.split("/")[0] != train and here:
                table, more = _table(study, train, target, here)
                tables.append(table)
                records += more
    tables = tables or [Table(TITLE, [], [], [EMPTY])]
    return tables, pandas.DataFrame(records, columns=columns(study, "standing"))


def _evaluated(study: Study, setting: Setting, target: str) -> bool:
    return any(method.ranks(study, target) is not None for method in methods(study, setting))


def _table(study: Study, train: str, target: str, here: list[Setting]) -> tuple[Table, list[dict]]:
    rows = []
    for backbone in dict.fromkeys(setting.backbone for setting in here):
        if any(key[0] == backbone and key[2] == ZERO_SHOT for key in study.ranks_of):
            rows.append(Row(zero_shot(study, backbone), ["–"], None, {"standing": "untrained"}))
    for setting in here:
        beside = dict(plain_pairs(study, setting))
        for method in methods(study, setting):
            record = {"standing": "tuned" if method.tuned else "untuned"}
            rows.append(Row(method, [method.label], beside.get(method), record, (setting,)))
    notes = [
        f"Trained on {train} alone, the whole of it, and evaluated on {target} after the last epoch. A difference is "
        "taken to the plain loss of the same framework: a tuned loss to the tuned one, a loss of a fixed scale to "
        "the plain one of that scale where there is one.",
    ]
    title = f"Trained on {train}, tested on {target}: recall@K, percent"
    return recall_table(study, title, target, ["loss"], "minus plain", rows, notes)
