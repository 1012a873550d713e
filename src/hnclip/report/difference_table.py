"""Paired differences between methods, in points of percent, with their verdicts."""

import pandas

from hnclip.report.comparisons import comparisons
from hnclip.report.data_notes import data_notes, mark, seen_share
from hnclip.report.format import bounds, name_columns, names, p_words, signed
from hnclip.report.judged import Judged, judged
from hnclip.report.load import Study, test_targets
from hnclip.report.methods import Method, settings
from hnclip.report.notes import difference_notes, size_notes, tuned_notes, verdict_notes
from hnclip.report.writer import Table

COLUMNS = (
    "backbone train framework a b a_label b_label target points low high probability p adjusted_p verdict seeds "
    "trained_on hint"
).split()


def difference_table(study: Study) -> tuple[list[Table], pandas.DataFrame]:
    """Paired differences of R@1, mean of both directions, a table a test split, then what would show the others."""
    pairs = [pair for setting in settings(study) for pair in comparisons(study, setting)]
    found = {target: judged(study, target) for target in test_targets(study)}
    tables = [_table(study, target, pairs, rows) for target, rows in found.items()]
    tables += [_hints(study, target, rows) for target, rows in found.items() if any(row.hint for row in rows)]
    records = [difference_record(study, row) for rows in found.values() for row in rows]
    return tables, pandas.DataFrame(records, columns=COLUMNS)


def difference_header(study: Study) -> list[str]:
    """The columns that `difference_cells` fills."""
    level = f"{study.options.confidence:.0%} interval"
    return ["loss a", "minus b", "points", level, "P(a > b)", "adjusted p", "verdict", "seeds"]


def difference_cells(row: Judged) -> list[str]:
    """What a table says of a comparison, behind the columns of names."""
    numbers = [signed(row.points), bounds(row.low, row.high), _probability(row), p_words(row.adjusted)]
    return [row.a.label, row.b.label, *numbers, row.verdict, str(row.seeds)]


def difference_record(study: Study, row: Judged) -> dict:
    """A row of the CSV: points and bounds in percent, probability and p-values from 0 to 1."""
    a, b = row.a, row.b
    names_of = {"backbone": a.backbone, "train": a.train, "framework": a.framework, "a": a.loss, "b": b.loss}
    labels = {"a_label": a.label, "b_label": b.label, "target": row.target}
    numbers = {"points": row.points, "low": row.low, "high": row.high}
    shares = {"probability": row.probability, "p": row.p, "adjusted_p": row.adjusted}
    shares = {name: f"{value:.4g}" for name, value in shares.items()}
    said = {"verdict": row.verdict, "seeds": row.seeds, "trained_on": seen_share(study, a.train, row.target)}
    return names_of | labels | numbers | shares | said | {"hint": row.hint}


def _probability(row: Judged) -> str:
    if row.probability != row.probability:
        return "–"
    return f"{row.probability:.2f}" if 0.005 <= row.probability < 0.995 else "> 0.99" if row.points > 0 else "< 0.01"


def _table(study: Study, target: str, pairs: list[tuple[Method, Method]], rows: list[Judged]) -> Table:
    title = f"Differences of R@1 on {target}, points of percent, mean of both directions"
    if not rows:
        return Table(title, [], [], [_why_empty(study, pairs, target)])
    columns = name_columns(study, [a for a, _ in pairs])
    cells = [[*names(row.a, columns, mark(study, row.a.train, target)), *difference_cells(row)] for row in rows]
    notes = [*size_notes(study, target), *data_notes(study, target, [a.train for a, _ in pairs])]
    notes += [*difference_notes(study), *verdict_notes(study, len(rows)), *tuned_notes(study)]
    header = [*columns, *difference_header(study)]
    return Table(title, header, cells, notes, rules=_rules(rows), words=len(columns) + 2)


def _hints(study: Study, target: str, rows: list[Judged]) -> Table:
    """What would show each difference that is not shown."""
    rows = [row for row in rows if row.hint]
    columns = name_columns(study, [row.a for row in rows])
    cells = [
        [
            *names(row.a, columns, mark(study, row.a.train, target)),
            row.a.label,
            row.b.label,
            row.hint,
            signed(row.points),
        ]
        for row in rows
    ]
    notes = [
        "If the true difference were the one seen: so many queries (in families of the same size) at these seeds, or "
        "so many seeds on these queries, would give p < 0.05 in 80 % of repetitions, for that comparison alone (not "
        "adjusted; normal approximation). The difference seen is itself uncertain, so this is an order of magnitude. "
        "No more: by this reckoning there are enough, and the adjustment or the few seeds' heavy tails stand between.",
        *data_notes(study, target, [row.a.train for row in rows]),
    ]
    title = f"What would show the differences that are not shown on {target}"
    header = [*columns, "loss a", "minus b", "what would show it", "points"]
    return Table(title, header, cells, notes, rules=_rules(rows), words=len(columns) + 3)


def _rules(rows: list[Judged]) -> list[int]:
    """The rows under a line: where another backbone, training set or framework begins."""
    wheres = [(row.a.backbone, row.a.train, row.a.framework) for row in rows]
    return [index for index in range(1, len(wheres)) if wheres[index] != wheres[index - 1]]


def _why_empty(study: Study, pairs: list[tuple[Method, Method]], target: str) -> str:
    """Why a test split has no difference."""
    if not pairs:
        return (
            "This study has nothing to compare here: a difference needs a loss beside the plain one (at the same scale "
            "or at the learned one, or both tuned), with one framework, backbone and training set, on all training "
            "data."
        )
    if all(a.ranks(study, target) is None or b.ranks(study, target) is None for a, b in pairs):
        return f"No two methods that the study compares were both evaluated on {target}."
    return "No two methods that the study compares share seeds here."
