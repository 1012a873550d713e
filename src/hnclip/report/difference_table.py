"""Paired differences between methods, in points of percent."""

import pandas

from hnclip.report import estimates
from hnclip.report.data_notes import data_notes, mark, seen_share
from hnclip.report.format import name_columns, names, signed
from hnclip.report.load import Study, test_targets
from hnclip.report.methods import Method, settings
from hnclip.report.notes import difference_notes, size_notes, tuned_notes
from hnclip.report.writer import Table

COLUMNS = "backbone train framework a b a_label b_label target points low high reading seeds trained_on".split()


def difference_table(study: Study) -> tuple[list[Table], pandas.DataFrame]:
    """Paired differences of R@1, mean of both directions, a table a test split."""
    tables, records = [], []
    pairs = [pair for setting in settings(study) for pair in estimates.comparisons(study, setting)]
    for target in test_targets(study):
        rows, rules, last = [], [], None
        columns = name_columns(study, [a for a, _ in pairs])
        for a, b in pairs:
            found = estimates.paired(study, a, b, target)
            if found is None:
                continue
            if last not in (None, (a.backbone, a.train, a.framework)):
                rules.append(len(rows))
            last = (a.backbone, a.train, a.framework)
            bounds = f"[{signed(found['low'])}, {signed(found['high'])}]"
            words = [a.label, b.label, signed(found["score"]), bounds, estimates.verdict(found)]
            rows.append([*names(a, columns, mark(study, a.train, target)), *words, str(found["seeds"])])
            records.append(_difference_record(a, b, target, found) | {"trained_on": seen_share(study, a.train, target)})
        header = [*columns, "loss", "minus", "points", f"{study.options.confidence:.0%} interval", "reading", "seeds"]
        notes = [*size_notes(study, target), *data_notes(study, target, [a.train for a, _ in pairs])]
        notes += [*difference_notes(study), *tuned_notes(study)]
        title = f"Differences of R@1 on {target}, points of percent, mean of both directions"
        notes = notes if rows else [_why_empty(study, pairs, target)]
        tables.append(Table(title, header, rows, notes, rules=rules, words=len(columns) + 2))
    return tables, pandas.DataFrame(records, columns=COLUMNS)


def _why_empty(study: Study, pairs: list[tuple[Method, Method]], target: str) -> str:
    """Why a test split has no difference."""
    if not pairs:
        return (
            "This study has nothing to compare here: a difference needs a boosted loss or a margin beside a plain one "
            "(at the same scale or at the learned one), with one framework, backbone and training set, on all "
            "training data."
        )
    if all(a.ranks(study, target) is None or b.ranks(study, target) is None for a, b in pairs):
        return f"No two methods that the study compares were both evaluated on {target}."
    return "No two methods that the study compares share seeds here."


def _difference_record(a: Method, b: Method, target: str, found: dict[str, float]) -> dict:
    row = {"backbone": a.backbone, "train": a.train, "framework": a.framework, "a": a.loss, "b": b.loss}
    row |= {"a_label": a.label, "b_label": b.label, "target": target, "points": found["score"]}
    return row | {key: found[key] for key in ("low", "high", "seeds")} | {"reading": estimates.verdict(found)}
