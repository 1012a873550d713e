"""R@1 of every method seed by seed, their mean and spread; the paper's Table A8 is a second seed."""

import statistics

import pandas

from hnclip.report import estimates
from hnclip.report.beside_plain import plain_pairs
from hnclip.report.data_notes import data_notes, mark, seen_share
from hnclip.report.estimates import DIRECTIONS, MEAN
from hnclip.report.format import bounds, name_columns, names, percent, signed, with_interval
from hnclip.report.load import Study, test_targets
from hnclip.report.methods import Method, Setting, methods, settings
from hnclip.report.notes import difference_notes, interval_notes, protocol_notes, size_notes
from hnclip.report.recall_rows import NAMES
from hnclip.report.writer import Table

TITLE = "Seed by seed"
EMPTY = "This study trains every method with one seed on all training data, so there is no spread to show."


def seeds_table(study: Study) -> tuple[list[Table], pandas.DataFrame]:
    """A row a method and a difference to plain, a column a seed; in the CSV a row a method, seed and direction."""
    tables, records = [], []
    for target in test_targets(study):
        kept = {s: [m for m in methods(study, s) if len(_seeds(study, m, target)) > 1] for s in settings(study)}
        kept = {setting: here for setting, here in kept.items() if here}
        tables += [_table(study, target, kept)] if kept else []
        records += [row for here in kept.values() for m in here for row in _records(study, m, target)]
    columns = [*NAMES, "seed", "target", "direction", "trained_on", *(f"R@{k}" for k in study.options.ks)]
    return tables or [Table(TITLE, [], [], [EMPTY])], pandas.DataFrame(records, columns=columns)


def _seeds(study: Study, method: Method, target: str) -> list[int]:
    ranks = method.ranks(study, target)
    return [] if ranks is None else sorted(map(int, ranks["seed"].unique()))


def _table(study: Study, target: str, kept: dict[Setting, list[Method]]) -> Table:
    shown = [method for here in kept.values() for method in here]
    seeds = sorted({seed for method in shown for seed in _seeds(study, method, target)})
    columns = name_columns(study, shown)
    rows, rules = [], []
    for setting, here in kept.items():
        rules += [len(rows)] if rows else []
        for method in here:
            named = names(method, columns, mark(study, method.train, target))
            rows.append([*named, method.label, *_scores(study, method, target, seeds)])
        for a, b in [(a, b) for a, b in plain_pairs(study, setting) if a in here and b in here]:
            named = names(a, columns, mark(study, a.train, target))
            rows.append([*named, f"difference: {a.label} minus {b.label}", *_gains(study, a, b, target, seeds)])
    header = [*columns, "loss", *(f"seed {seed}" for seed in seeds)]
    header += [f"mean [{study.options.confidence:.0%}]", "deviation", "seeds"]
    notes = [
        *size_notes(study, target),
        *data_notes(study, target, [method.train for method in shown]),
        *protocol_notes(study),
        "Deviation: the standard deviation over seeds, points of percent; from few seeds it is rough.",
        "Methods with one seed are left out.",
        *interval_notes(study)[:1],
        difference_notes(study)[0],
    ]
    title = f"{TITLE}: R@1 on {target}, percent, mean of both directions"
    return Table(title, header, rows, notes, rules=rules, words=len(columns) + 1)


def _by_seed(study: Study, method: Method, target: str, direction: str = MEAN, k: int = 1) -> dict[int, float]:
    """Recall@K in percent of each seed."""
    hits = estimates.hits_of(study, method, target, direction, k)
    return {} if hits is None else {seed: 100 * hits.of_seeds((seed,)).score() for seed in hits.seeds}


def _scores(study: Study, method: Method, target: str, seeds: list[int]) -> list[str]:
    found = _by_seed(study, method, target)
    whole = estimates.estimate(study, method, target, MEAN)
    cells = [percent(found[seed]) if seed in found else "–" for seed in seeds]
    return [*cells, with_interval(whole), f"{statistics.stdev(found.values()):.1f}", str(len(found))]


def _gains(study: Study, a: Method, b: Method, target: str, seeds: list[int]) -> list[str]:
    """The difference of each shared seed, their mean with its paired interval, and their spread."""
    one, other = (_by_seed(study, method, target) for method in (a, b))
    found = {seed: one[seed] - other[seed] for seed in seeds if seed in one and seed in other}
    whole = estimates.paired(study, a, b, target)
    cells = [signed(found[seed]) if seed in found else "–" for seed in seeds]
    if whole is None:
        return [*cells, "–", "–", "0"]
    mean = f"{signed(whole['score'])} {bounds(whole['low'], whole['high'])}"
    return [*cells, mean, f"{statistics.stdev(found.values()):.1f}" if len(found) > 1 else "–", str(len(found))]


def _records(study: Study, method: Method, target: str) -> list[dict]:
    base = {name: getattr(method, name) for name in NAMES}
    base |= {"target": target, "trained_on": seen_share(study, method.train, target)}
    rows = []
    for direction in (*DIRECTIONS, MEAN):
        scores = {k: _by_seed(study, method, target, direction, k) for k in study.options.ks}
        rows += [
            base
            | {"seed": seed, "direction": direction}
            | {f"R@{k}": found[seed] for k, found in scores.items() if found}
            for seed in _seeds(study, method, target)
        ]
    return rows
