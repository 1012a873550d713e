"""R@K of every method on every test split."""

import pandas

from hnclip.report import estimates
from hnclip.report.data_notes import data_notes, mark, seen_share
from hnclip.report.estimates import DIRECTIONS, MEAN
from hnclip.report.format import DIRECTION_WORDS, name_columns, names, percent, with_interval
from hnclip.report.load import Study, test_targets
from hnclip.report.methods import Method
from hnclip.report.notes import interval_notes, protocol_notes, size_notes, tuned_notes
from hnclip.report.scorings import scoring_notes
from hnclip.report.writer import Table


def main_table(study: Study) -> tuple[list[Table], pandas.DataFrame]:
    """R@K of every method, a table a test split; in the CSV one row a method, split and direction."""
    found = estimates.main_methods(study)
    tables, records = [], []
    for target in test_targets(study):
        scores = {(m, d): _scores(study, m, target, d) for m in found for d in (*DIRECTIONS, MEAN)}
        here = [method for method in found if scores[method, MEAN]]
        tables.append(_main(study, target, here, scores))
        records += [_record(study, m, target, d, scores[m, d]) for m in here for d in (*DIRECTIONS, MEAN)]
    return tables, pandas.DataFrame(records)


def _scores(study: Study, method: Method, target: str, direction: str) -> dict[int, dict[str, float]]:
    found = {k: estimates.estimate(study, method, target, direction, k) for k in study.options.ks}
    return {k: score for k, score in found.items() if score}


def _main(study: Study, target: str, here: list[Method], scores: dict) -> Table:
    ks, first = study.options.ks, study.options.ks[0]
    columns = name_columns(study, here)
    level = f"{study.options.confidence:.0%}"
    one = [f"R@{first} [{level}]", *(f"R@{k}" for k in ks[1:])]
    rows = []
    for method in here:
        cells = names(method, columns, mark(study, method.train, target)) + [
            "–" if method.kind == "zero_shot" else method.label
        ]
        cells.append("–" if method.kind == "zero_shot" else str(scores[method, MEAN][first]["seeds"]))
        for direction in DIRECTIONS:
            got = scores[method, direction]
            cells += [with_interval(got.get(first)), *(percent(got[k]["score"]) if k in got else "–" for k in ks[1:])]
        rows.append([*cells, with_interval(scores[method, MEAN][first])])
    blocks = [(m.backbone, m.train, m.framework) for m in here]
    rules = [index for index in range(1, len(blocks)) if blocks[index] != blocks[index - 1]]
    spans = [("", len(columns) + 2), *((DIRECTION_WORDS[direction], len(ks)) for direction in DIRECTIONS), ("both", 1)]
    notes = [*size_notes(study, target), *data_notes(study, target, [method.train for method in here])]
    notes += [*protocol_notes(study), *tuned_notes(study), *scoring_notes(here), *interval_notes(study)]
    title = f"Retrieval on {target}, recall@K in percent"
    return Table(title, [*columns, "loss", "seeds", *one, *one, one[0]], rows, notes, spans, rules, len(columns) + 1)


def _record(study: Study, method: Method, target: str, direction: str, scores: dict) -> dict:
    """One row of main.csv; of both directions the queries are counted together, `trained_on` is in percent."""
    counts = study.sizes[target]
    first = next(iter(scores.values()))
    row = {name: getattr(method, name) for name in ("backbone", "train", "framework", "loss", "label", "scoring")}
    row |= {"target": target, "direction": direction}
    row["queries"] = sum(n for n, _ in counts.values()) if direction == MEAN else counts[direction][0]
    row["gallery"] = "" if direction == MEAN else counts[direction][1]
    row["seeds"] = first["seeds"]
    row["trained_on"] = seen_share(study, method.train, target)
    for k, found in scores.items():
        row |= {f"R@{k}": found["score"], f"R@{k} low": found["low"], f"R@{k} high": found["high"]}
    return row
