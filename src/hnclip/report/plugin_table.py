"""What the boost adds to each framework: R@1 of its plain and its boosted loss, and their paired difference."""

from dataclasses import dataclass

import pandas

from hnclip.report import estimates
from hnclip.report.data_notes import data_notes, mark, seen_share
from hnclip.report.estimates import DIRECTIONS
from hnclip.report.format import DIRECTION_WORDS, bounds, name_columns, names, p_words, percent, signed
from hnclip.report.judged import Judged, judged
from hnclip.report.load import Study, test_targets
from hnclip.report.methods import Method, Setting, methods, settings
from hnclip.report.notes import difference_notes, size_notes, verdict_notes
from hnclip.report.writer import Table

COLUMNS = (
    "backbone train framework plain boosted plain_label boosted_label target plain_t2i boosted_t2i plain_i2t "
    "boosted_i2t points low high adjusted_p verdict seeds seed_names trained_on"
).split()

Pair = tuple[Method, Method]


@dataclass(frozen=True)
class Gain:
    """A pair on one test split: R@1 in percent of each side by direction, their difference, the seeds of both."""

    plain: dict[str, float]
    boosted: dict[str, float]
    difference: dict[str, float]
    seeds: tuple[int, ...]


def plugin_pairs(study: Study, setting: Setting) -> list[Pair]:
    """(boosted, plain) of a framework on all training data: every boosted loss with the plain ones of its scale."""
    found = methods(study, setting)
    boosted = [method for method in found if method.kind == "boosted"]
    return [(a, b) for a in boosted for b in estimates.plain_beside(study, a, found)]


def gain(study: Study, boosted: Method, plain: Method, target: str) -> Gain | None:
    """Both sides over the seeds that both have; None where one was not evaluated or no seed is shared."""
    difference = estimates.paired(study, boosted, plain, target)
    if difference is None:
        return None
    sides = [{d: estimates.hits_of(study, m, target, d, 1) for d in DIRECTIONS} for m in (plain, boosted)]
    seeds = tuple(seed for seed in sides[0]["t2i"].seeds if seed in sides[1]["t2i"].seeds)
    scores = [{d: 100 * hits.of_seeds(seeds).score() for d, hits in side.items()} for side in sides]
    return Gain(*scores, difference, seeds)


def plugin_table(study: Study) -> tuple[list[Table], pandas.DataFrame]:
    """The pairs of every framework, a table a test split."""
    tables, records = [], []
    pairs = [pair for setting in settings(study) for pair in plugin_pairs(study, setting)]
    for target in test_targets(study):
        found = {pair: got for pair in pairs if (got := gain(study, *pair, target))}
        said = {(row.a, row.b): row for row in judged(study, target)}
        tables.append(_table(study, target, pairs, found, said))
        records += [
            _record(a, b, target, got, said[a, b]) | {"trained_on": seen_share(study, a.train, target)}
            for (a, b), got in found.items()
        ]
    return tables, pandas.DataFrame(records, columns=COLUMNS)


def _table(study: Study, target: str, pairs: list[Pair], found: dict[Pair, Gain], said: dict[Pair, Judged]) -> Table:
    columns = name_columns(study, [a for a, _ in pairs])
    rows = [
        [*names(a, columns, mark(study, a.train, target)), a.label, b.label, *_cells(got, said[a, b])]
        for (a, b), got in found.items()
    ]
    level = f"{study.options.confidence:.0%} interval"
    header = [*columns, "boosted loss", "plain loss", *["plain", "boosted"] * 2]
    header += ["points", level, "adjusted p", "verdict", "seeds"]
    spans = [
        ("", len(columns) + 2),
        *((f"R@1 {DIRECTION_WORDS[d]}", 2) for d in DIRECTIONS),
        ("boosted minus plain", 5),
    ]
    wheres = [(a.backbone, a.train, a.framework) for a, _ in found]
    rules = [index for index in range(1, len(wheres)) if wheres[index] != wheres[index - 1]]
    rules = rules if len(set(wheres)) < len(wheres) else []  # lines part frameworks of several rows
    title = f"The boost in every framework: R@1 on {target}, percent"
    if not rows:
        return Table(title, [], [], [_why_empty(pairs, target)])
    notes = [
        *size_notes(study, target),
        *data_notes(study, target, [a.train for a, _ in found]),
        "Points: boosted minus plain, mean of both directions. Every number of a row is a mean over the seeds that it "
        "names, those that both sides have, on all training data.",
        *_lone_notes(study, pairs),
        *difference_notes(study),
        *verdict_notes(study, len(said)),
    ]
    return Table(title, header, rows, notes, spans, rules, words=len(columns) + 2)


def _cells(got: Gain, said: Judged) -> list[str]:
    scores = [percent(side[direction]) for direction in DIRECTIONS for side in (got.plain, got.boosted)]
    words = [signed(said.points), bounds(said.low, said.high), p_words(said.adjusted), said.verdict]
    return [*scores, *words, ", ".join(map(str, got.seeds))]


def _lone_notes(study: Study, pairs: list[Pair]) -> list[str]:
    """The frameworks without a pair."""
    paired = {a.framework for a, _ in pairs}
    lone = dict.fromkeys(s.framework for s in settings(study) if s.framework not in paired)
    return [f"Without a pair of plain and boosted on all training data: {', '.join(lone)}."] if lone else []


def _why_empty(pairs: list[Pair], target: str) -> str:
    if not pairs:
        return (
            "This study has no framework with a boosted and a plain loss on all training data (at the same scale or at "
            "the learned one), so there is nothing to show here."
        )
    return f"No framework's boosted and plain losses were both evaluated on {target} with a seed that they share."


def _record(a: Method, b: Method, target: str, got: Gain, said: Judged) -> dict:
    row = {"backbone": a.backbone, "train": a.train, "framework": a.framework, "plain": b.loss, "boosted": a.loss}
    row |= {"plain_label": b.label, "boosted_label": a.label, "target": target}
    for direction in DIRECTIONS:
        row |= {f"plain_{direction}": got.plain[direction], f"boosted_{direction}": got.boosted[direction]}
    row |= {"points": said.points, "low": said.low, "high": said.high, "seeds": said.seeds}
    row |= {"adjusted_p": f"{said.adjusted:.4g}", "verdict": said.verdict}
    return row | {"seed_names": " ".join(map(str, got.seeds))}
