"""The main, difference and fraction tables of a study as CSV, Markdown and LaTeX.

python -m hnclip.report.tables results/STUDY/study.json results/STUDY/tables
"""

import argparse
import math
from pathlib import Path

import pandas

from hnclip import store
from hnclip.command import run
from hnclip.report import estimates
from hnclip.report.estimates import DIRECTIONS, MEAN
from hnclip.report.load import Study, read_study, test_targets
from hnclip.report.methods import Method, chosen_plain, scale_words, settings
from hnclip.report.notes import difference_notes, interval_notes, protocol_notes, size_note
from hnclip.report.writer import Table, latex, markdown

WORDS = {"t2i": "caption → image", "i2t": "image → caption", MEAN: "both"}


def write(name: str, tables: list[Table], rows: pandas.DataFrame, folder: Path) -> None:
    """NAME.csv with two decimals, NAME.md and NAME.tex as printed."""
    folder = Path(folder)
    store.write_text(folder / f"{name}.csv", rows.to_csv(index=False, float_format="%.2f", lineterminator="\n"))
    store.write_text(folder / f"{name}.md", markdown(tables))
    store.write_text(folder / f"{name}.tex", latex(tables))


def percent(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.1f}"


def with_interval(found: dict[str, float] | None) -> str:
    """`41.3 [38.0, 44.6]`, or a dash where there is no score."""
    if found is None:
        return "–"
    return f"{percent(found['score'])} [{percent(found['low'])}, {percent(found['high'])}]"


def signed(value: float) -> str:
    """One decimal with a sign; a true minus, and no sign before a zero."""
    text = f"{value:+.1f}".replace("-", "−")
    return "–" if math.isnan(value) else text[1:] if text[1:] == "0.0" else text


def name_columns(study: Study, found: list[Method]) -> list[str]:
    """Backbone and training set are columns only where they differ."""
    varied = [name for name in ("backbone", "train") if len({getattr(m, name) for m in found} - {""}) > 1]
    return [*varied, "framework"]


def names(method: Method, columns: list[str]) -> list[str]:
    return [getattr(method, column).replace("zero_shot", "zero-shot") or "–" for column in columns]


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
        cells = names(method, columns) + ["–" if method.kind == "zero_shot" else method.label]
        cells.append("–" if method.kind == "zero_shot" else str(scores[method, MEAN][first]["seeds"]))
        for direction in DIRECTIONS:
            got = scores[method, direction]
            cells += [with_interval(got.get(first)), *(percent(got[k]["score"]) if k in got else "–" for k in ks[1:])]
        rows.append([*cells, with_interval(scores[method, MEAN][first])])
    blocks = [(m.backbone, m.train, m.framework) for m in here]
    rules = [index for index in range(1, len(blocks)) if blocks[index] != blocks[index - 1]]
    spans = [("", len(columns) + 2), *((WORDS[direction], len(ks)) for direction in DIRECTIONS), ("both", 1)]
    notes = [size_note(study, target), *protocol_notes(study), *_chosen_notes(study), *interval_notes(study)]
    title = f"Retrieval on {target}, recall@K in percent"
    return Table(title, [*columns, "loss", "seeds", *one, *one, one[0]], rows, notes, spans, rules)


def _record(study: Study, method: Method, target: str, direction: str, scores: dict) -> dict:
    """One row of main.csv; of both directions the queries are counted together."""
    counts = estimates.sizes(study, target)
    first = next(iter(scores.values()))
    row = {name: getattr(method, name) for name in ("backbone", "train", "framework", "loss", "label")}
    row |= {"target": target, "direction": direction}
    row["queries"] = sum(n for n, _ in counts.values()) if direction == MEAN else counts[direction][0]
    row["gallery"] = "" if direction == MEAN else counts[direction][1]
    row["seeds"] = first["seeds"]
    for k, found in scores.items():
        row |= {f"R@{k}": found["score"], f"R@{k} low": found["low"], f"R@{k} high": found["high"]}
    return row


def _chosen_notes(study: Study) -> list[str]:
    """Which scale was chosen, for each framework."""
    words = []
    for setting in settings(study):
        chosen = chosen_plain(study, setting)
        if chosen:
            words.append(f"{scale_words(study, chosen)} ({chosen.loss}) for {setting.framework} on {setting.train}")
    if not words:
        return []
    return [
        "Plain, scale chosen on validation: of plain InfoNCE at its learned and at every fixed scale, the one with the "
        "best mean R@1 on the validation split after the last epoch, one choice for all seeds; here " + "; ".join(words) + "."
    ]


def difference_table(study: Study) -> tuple[list[Table], pandas.DataFrame]:
    """Paired differences of R@1, mean of both directions, a table a test split."""
    tables, records = [], []
    for target in test_targets(study):
        rows, rules, last = [], [], None
        pairs = [pair for setting in settings(study) for pair in estimates.comparisons(study, setting)]
        columns = name_columns(study, [a for a, _ in pairs])
        for a, b in pairs:
            found = estimates.paired(study, a, b, target)
            if found is None:
                continue
            if last not in (None, (a.backbone, a.train, a.framework)):
                rules.append(len(rows))
            last = (a.backbone, a.train, a.framework)
            bounds = f"[{signed(found['low'])}, {signed(found['high'])}]"
            words = [f"{a.label} − {b.label}", signed(found["score"]), bounds, estimates.verdict(found)]
            rows.append([*names(a, columns), *words, str(found["seeds"])])
            records.append(_difference_record(a, b, target, found))
        header = [*columns, "difference", "points", f"{study.options.confidence:.0%} interval", "reading", "seeds"]
        notes = [size_note(study, target), *difference_notes(study), *_chosen_notes(study)]
        title = f"Differences of R@1 on {target}, points of percent, mean of both directions"
        tables.append(Table(title, header, rows, notes if rows else ["No two methods share seeds here."], rules=rules))
    return tables, pandas.DataFrame(records, columns=DIFFERENCE_COLUMNS)


DIFFERENCE_COLUMNS = (
    "backbone train framework a b a_label b_label target fraction points low high reading seeds".split()
)


def _difference_record(a: Method, b: Method, target: str, found: dict[str, float], fraction: int = 100) -> dict:
    row = {"backbone": a.backbone, "train": a.train, "framework": a.framework, "a": a.loss, "b": b.loss}
    row |= {"a_label": a.label, "b_label": b.label, "target": target, "fraction": fraction, "points": found["score"]}
    return row | {key: found[key] for key in ("low", "high", "seeds")} | {"reading": estimates.verdict(found)}


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
                rows.append([*names(method, columns), method.label, *(with_interval(got[f]) for f in shares)])
                base = {name: getattr(method, name) for name in ("backbone", "train", "framework", "loss", "label")}
                records += [base | {"target": target, "fraction": f} | got[f] for f in shares if got[f]]
            rows += _fraction_differences(study, target, found, shares, columns)
        header = [*columns, "loss", *(f"{share} %" for share in shares)]
        title = f"R@1 on {target} by share of the training data, percent, mean of both directions"
        notes = [size_note(study, target), *protocol_notes(study), *interval_notes(study)]
        empty = ["The study trains no cell on more than one data fraction; its config has no such grid in `run`."]
        tables.append(Table(title, header if rows else [], rows, notes if rows else empty, rules=rules))
    columns = "backbone train framework loss label target fraction score low high seeds".split()
    return tables, pandas.DataFrame(records, columns=columns)


def _fraction_differences(study: Study, target: str, found: dict, shares: list[int], columns: list[str]) -> list:
    """Rows `boosted − plain`, paired, at every share."""
    rows = []
    for a in (method for method in found if method.kind in ("boosted", "frozen")):
        for b in (method for method in found if method.kind == "plain"):
            cells = [estimates.paired(study, a, b, target, fraction=share) for share in shares]
            words = [
                f"{signed(cell['score'])} [{signed(cell['low'])}, {signed(cell['high'])}]" if cell else "–"
                for cell in cells
            ]
            rows.append([*names(a, columns), f"{a.label} − {b.label}", *words])
    return rows


def write_tables(study: Study, folder: Path) -> None:
    write("main", *main_table(study), folder)
    write("differences", *difference_table(study), folder)
    write("fractions", *fraction_table(study), folder)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m hnclip.report.tables", description=__doc__.splitlines()[0])
    parser.add_argument("study", type=Path, help="study.json")
    parser.add_argument("tables", type=Path, help="folder of the collected tables; the new files go there too")
    given = parser.parse_args()
    write_tables(read_study(given.study, given.tables), given.tables)


if __name__ == "__main__":
    run(main)
