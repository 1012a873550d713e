"""How strong should the boost be? R@K by γ, as the paper's Tables 3a and A6."""

import pandas

from hnclip.report.load import Study, test_targets
from hnclip.report.methods import settings
from hnclip.report.recall_rows import Row, columns, recall_tables
from hnclip.report.strength import Sweep, scale_of, sweeps
from hnclip.report.writer import Table

TITLE = "Strength of the boost"
EMPTY = (
    "This study trains no framework with two strengths γ of the boost at one scale, so there is no sweep; "
    "workflow/studies/gamma.yaml has one."
)


def gamma_table(study: Study) -> tuple[list[Table], pandas.DataFrame]:
    """A row a strength, γ = 0 is plain; each with its paired difference to plain; a table a test split."""
    found = [sweep for setting in settings(study) for sweep in sweeps(study, setting)]
    names = columns(study, "gamma", "scale")
    if not found or not test_targets(study):
        return [Table(TITLE, [], [], [EMPTY])], pandas.DataFrame(columns=names)
    rows = [row for sweep in found for row in _rows(study, sweep)]
    notes = [
        "γ = 0 is plain InfoNCE; below 0 the boost has its sign turned. s: the scale that is held fixed, or learned "
        "from the backbone's own. All else is equal within a framework and scale. The strengths are shown, none is "
        "chosen here: the best one on a test split would be too good."
    ]
    tables, records = recall_tables(study, TITLE, ["γ", "s"], "minus γ = 0", rows, notes)
    return tables, pandas.DataFrame(records, columns=names)


def _rows(study: Study, sweep: Sweep) -> list[Row]:
    plain = next((method for gamma, method in sweep if gamma == 0), None)
    rows = []
    for gamma, method in sweep:
        scale = scale_of(study, method)
        words = [f"{gamma:g}".replace("-", "−"), "learned" if scale is None else f"{scale:g}"]
        base = plain if method is not plain else None
        block = (method.backbone, method.train, method.framework, scale)
        rows.append(Row(method, words, base, {"gamma": gamma, "scale": words[1]}, block))
    return rows
