"""Rows of recall@K, each beside another method, which the tables of strength, token term and transfer share."""

from dataclasses import dataclass, field

from hnclip.report import estimates
from hnclip.report.data_notes import data_notes, mark, seen_share
from hnclip.report.estimates import DIRECTIONS, MEAN
from hnclip.report.format import DIRECTION_WORDS, bounds, name_columns, names, percent, signed, with_interval
from hnclip.report.load import Study, test_targets
from hnclip.report.methods import Method
from hnclip.report.notes import difference_notes, interval_notes, protocol_notes, size_notes
from hnclip.report.writer import Table

SHOWN = 3  # how many K are printed; the CSV has all
NAMES = ("backbone", "train", "framework", "loss", "label")


@dataclass(frozen=True)
class Row:
    """One method on one test split: its words behind the columns that name it, and the method it is set against.

    `base` None: nothing is set against it. `record` holds what the CSV says of it beside its names and numbers; a line
    parts rows of different `block`.
    """

    method: Method
    words: list[str]
    base: Method | None = None
    record: dict[str, object] = field(default_factory=dict)
    block: tuple = ()


def columns(study: Study, *own: str) -> list[str]:
    """The CSV's columns; `own` are those of the rows' records."""
    recalls = [f"R@{k}{end}" for k in study.options.ks for end in ("", " low", " high")]
    return [*NAMES, *own, "target", "direction", "seeds", "trained_on", *recalls, "against", "points", "low", "high"]


def recall_table(
    study: Study, title: str, target: str, header: list[str], against: str, rows: list[Row], notes: list[str]
) -> tuple[Table, list[dict]]:
    """The rows that were evaluated on the target, as a table and as records.

    `header` names the rows' words, `against` says what a difference is taken to.
    """
    here = [row for row in rows if estimates.hits_of(study, row.method, target, MEAN, 1) is not None]
    if not here:
        return Table(title, [], [], [f"None of these methods was evaluated on {target}."]), []
    named = name_columns(study, [row.method for row in here])
    ks = study.options.ks[:SHOWN]
    scores = {method: _scores(study, method, target) for method in dict.fromkeys(row.method for row in here)}
    gains = [row.base and estimates.paired(study, row.method, row.base, target) for row in here]
    cells = [
        [*names(row.method, named, mark(study, row.method.train, target)), *row.words]
        + _cells(scores[row.method], ks, gained)
        for row, gained in zip(here, gains, strict=True)
    ]
    level = f"{study.options.confidence:.0%}"
    each = [f"R@{ks[0]} [{level}]", *(f"R@{k}" for k in ks[1:])]
    head = [*named, *header, "seeds", *each, *each, each[0], "points", f"{level} interval"]
    spans = [
        ("", len(named) + len(header) + 1),
        *((DIRECTION_WORDS[d], len(ks)) for d in DIRECTIONS),
        ("both", 1),
        (against, 2),
    ]
    rules = [nth for nth in range(1, len(here)) if here[nth].block != here[nth - 1].block]
    said = [*notes, *standing_notes(study, target, [row.method.train for row in here if row.method.train])]
    table = Table(title, head, cells, said, spans, rules, words=len(named) + len(header))
    return table, [
        record
        for row, gained in zip(here, gains, strict=True)
        for record in _records(study, row, target, scores[row.method], gained)
    ]


def recall_tables(
    study: Study, title: str, header: list[str], against: str, rows: list[Row], notes: list[str]
) -> tuple[list[Table], list[dict]]:
    """The same on every test split: a table each, and the records of all."""
    tables, records = [], []
    for target in test_targets(study):
        words = f"{title}: recall@K on {target}, percent"
        table, more = recall_table(study, words, target, header, against, rows, notes)
        tables.append(table)
        records += more
    return tables, records


def standing_notes(study: Study, target: str, trains: list[str]) -> list[str]:
    """N, data, protocol, intervals and differences: what stands beneath each of these tables."""
    return [
        *size_notes(study, target),
        *data_notes(study, target, trains),
        *protocol_notes(study),
        *interval_notes(study),
        difference_notes(study)[0],
    ]


def _scores(study: Study, method: Method, target: str) -> dict[tuple[str, int], dict[str, float]]:
    found = {(d, k): estimates.estimate(study, method, target, d, k) for d in DIRECTIONS for k in study.options.ks}
    found |= {(MEAN, k): estimates.estimate(study, method, target, MEAN, k) for k in study.options.ks}
    return {key: score for key, score in found.items() if score}


def _cells(scores: dict, ks: tuple[int, ...], gained: dict[str, float] | None) -> list[str]:
    found = [str(scores[MEAN, ks[0]]["seeds"])]
    for direction in DIRECTIONS:
        found.append(with_interval(scores.get((direction, ks[0]))))
        found += [percent(scores[direction, k]["score"]) if (direction, k) in scores else "–" for k in ks[1:]]
    return [*found, with_interval(scores[MEAN, ks[0]]), *gain_cells(gained)]


def gain_cells(gained: dict[str, float] | None) -> list[str]:
    """Points and interval of a paired difference, or dashes."""
    if not gained:
        return ["–", "–"]
    return [signed(gained["score"]), bounds(gained["low"], gained["high"])]


def _records(study: Study, row: Row, target: str, scores: dict, gained: dict[str, float] | None) -> list[dict]:
    """One record a direction; the difference is that of both directions' mean."""
    base = {name: getattr(row.method, name) for name in NAMES} | row.record
    base |= {"target": target, "trained_on": seen_share(study, row.method.train, target)}
    records = []
    for direction in (*DIRECTIONS, MEAN):
        got = {k: scores[direction, k] for k in study.options.ks if (direction, k) in scores}
        if not got:
            continue
        record = base | {"direction": direction, "seeds": next(iter(got.values()))["seeds"]}
        for k, score in got.items():
            record |= {f"R@{k}": score["score"], f"R@{k} low": score["low"], f"R@{k} high": score["high"]}
        if direction == MEAN and gained:
            against = f"{row.base.framework}/{row.base.loss}" if row.base else ""
            record |= {"against": against, "points": gained["score"], "low": gained["low"], "high": gained["high"]}
        records.append(record)
    return records
