"""Caption cosines recomputed at each step, or those of the frozen backbone, as the paper's Tables 3c and A2."""

import pandas

from hnclip.report.load import Study, test_targets
from hnclip.report.methods import Setting, methods, settings
from hnclip.report.recall_rows import Row, columns, recall_tables
from hnclip.report.strength import gamma_of, scale_of
from hnclip.report.writer import Table

TITLE = "Recomputed or frozen caption cosines"
EMPTY = (
    "This study has no framework with a boost by recomputed and one by frozen caption cosines of the same strength "
    "and scale (boost captions and boost frozen), so there is nothing to compare."
)


def recomputed_table(study: Study) -> tuple[list[Table], pandas.DataFrame]:
    """Rows without the boost, recomputed, and frozen beside recomputed; a table a test split."""
    names = columns(study, "cosines", "gamma")
    rows = [row for setting in settings(study) for row in _rows(study, setting)]
    if not rows or not test_targets(study):
        return [Table(TITLE, [], [], [EMPTY])], pandas.DataFrame(columns=names)
    notes = [
        "Recomputed: the cosines of the batch's captions under the text tower that is being trained, anew each "
        "step. Frozen: under the backbone as it was before training, computed once. A difference is that of the "
        "frozen row to the recomputed one, over the seeds that both have. The paper's own Table A2 prints a best "
        "epoch a benchmark; here it is the last one."
    ]
    tables, records = recall_tables(study, TITLE, ["Ḡ", "γ"], "minus recomputed", rows, notes)
    return tables, pandas.DataFrame(records, columns=names)


def _rows(study: Study, setting: Setting) -> list[Row]:
    """Of each strength and scale that has both: plain, recomputed, frozen."""
    found = [method for method in methods(study, setting) if not method.tuned]
    kinds = {kind: {} for kind in ("boosted", "frozen")}
    for method in found:
        if method.kind in kinds:
            kinds[method.kind][gamma_of(study, method), scale_of(study, method)] = method
    rows = []
    for gamma, scale in [key for key in kinds["boosted"] if key in kinds["frozen"]]:
        live, frozen = (kinds[kind][gamma, scale] for kind in ("boosted", "frozen"))
        plain = [m for m in found if m.kind in ("plain", "scale") and scale_of(study, m) == scale]
        here = [(method, "none", 0.0, None) for method in plain[:1]]
        here += [(live, "recomputed", gamma, None), (frozen, "frozen", gamma, live)]
        rows += [
            Row(method, [cosines, f"{strength:g}"], base, {"cosines": cosines, "gamma": strength}, (live,))
            for method, cosines, strength, base in here
        ]
    return rows
