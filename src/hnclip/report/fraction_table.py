"""R@1 by share of the training data."""

import pandas

from hnclip.report import estimates
from hnclip.report.data_notes import data_notes, mark, seen_share
from hnclip.report.estimates import MEAN
from hnclip.report.format import bounds, name_columns, names, signed, with_interval
from hnclip.report.load import Study, test_targets
from hnclip.report.methods import Method, settings
from hnclip.report.notes import interval_notes, protocol_notes, size_notes
from hnclip.report.writer import Table


def fraction_table(study: Study) -> tuple[list[Table], pandas.DataFrame]:
    """R@1, mean of both directions, by share of the training data, and the boosted losses' gain at each share."""
    tables, records = [], []
    for target in test_targets(study):
        per_setting = {setting: estimates.fractions(study, setting) for setting in settings(study)}
        shares = sorted({share for found in per_setting.values() for shares in found.values() for share in shares})
        columns = name_columns(study, [method for found in per_setting.values() for method in found])
        rows, rules = [], []
        for found in per_setting.values():
            rules += [len(rows)] if rows and found else []
            for method in found:
                got = {f: estimates.estimate(study, method, target, MEAN, fraction=f) for f in shares}
                rows.append(
                    [*_names(study, method, columns, target), method.label, *(with_interval(got[f]) for f in shares)]
                )
                base = {name: getattr(method, name) for name in ("backbone", "train", "framework", "loss", "label")}
                base |= {"target": target, "trained_on": seen_share(study, method.train, target)}
                records += [base | {"fraction": f} | got[f] for f in shares if got[f]]
            rows += _fraction_differences(study, target, found, shares, columns)
        header = [*columns, "loss", *(f"{share} %" for share in shares)]
        title = f"R@1 on {target} by share of the training data, percent, mean of both directions"
        trains = [setting.train for setting, found in per_setting.items() if found]
        notes = [
            *size_notes(study, target),
            *data_notes(study, target, trains),
            *protocol_notes(study),
            *interval_notes(study),
        ]
        empty = ["The study trains no cell on more than one data fraction; its config has no such grid in `run`."]
        tables.append(
            Table(title, header if rows else [], rows, notes if rows else empty, rules=rules, words=len(columns) + 1)
        )
    columns = "backbone train framework loss label target fraction score low high seeds trained_on".split()
    return tables, pandas.DataFrame(records, columns=columns)


def _names(study: Study, method: Method, columns: list[str], target: str) -> list[str]:
    return names(method, columns, mark(study, method.train, target))


def _fraction_differences(study: Study, target: str, found: dict, shares: list[int], columns: list[str]) -> list:
    """Rows `boosted − plain`, paired, at every share."""
    rows = []
    for a in (method for method in found if method.kind in ("boosted", "frozen")):
        for b in estimates.plain_beside(study, a, found):
            cells = [estimates.paired(study, a, b, target, fraction=share) for share in shares]
            words = [f"{signed(cell['score'])} {bounds(cell['low'], cell['high'])}" if cell else "–" for cell in cells]
            rows.append([*_names(study, a, columns, target), f"difference: {a.label} minus {b.label}", *words])
    return rows
