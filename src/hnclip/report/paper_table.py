"""This study's numbers beside the paper's, wherever a cell of the one is a row of the other."""

from dataclasses import dataclass

import pandas

from hnclip.report import estimates, paper, paper_marks, protocol
from hnclip.report.data_notes import data_notes, mark, seen_share
from hnclip.report.estimates import DIRECTIONS
from hnclip.report.format import DIRECTION_WORDS, name_columns, names, signed, with_interval
from hnclip.report.load import Study, named, test_targets
from hnclip.report.methods import Method, methods, settings, zero_shot
from hnclip.report.notes import size_notes
from hnclip.report.paper import BACKBONE, TEST_PAIRS, Printed, Run
from hnclip.report.unprinted import unprinted
from hnclip.report.writer import Table

TITLE = "Beside the paper's numbers"
COLUMNS = (
    "source backbone train framework loss label fraction seed target direction k queries gallery ours low high paper "
    "difference paper_within_interval note trained_on paper_trained_on paper_epoch protocol"
).split()


@dataclass(frozen=True)
class Match:
    """A cell of the study on a test split, with the row of one of the paper's tables that it reproduces."""

    source: str
    run: Run
    printed: Printed
    method: Method
    target: str
    fraction: int
    seed: int


def paper_table(study: Study) -> tuple[list[Table], pandas.DataFrame]:
    """A table each of the paper's tables and test splits; without a row of the paper, ours beside an empty column."""
    scores: dict[tuple, dict[str, float]] = {}
    tables, records = [], []
    for target in test_targets(study):
        cells = _cells(study, target)
        for source, printed in paper.tables().items():
            found = [Match(source, run, printed[run], *cell) for run in printed for cell in cells.get(run, ())]
            if found:
                tables.append(_table(study, source, target, found, scores))
                records += [row for match in found for row in _records(study, match, scores)]
    if not tables:
        tables, records = unprinted(study, TITLE)
    return tables, pandas.DataFrame(records, columns=COLUMNS)


def _cells(study: Study, target: str) -> dict[Run, list[tuple[Method, str, int, int]]]:
    """Every cell that was ranked on the target, by the paper's name for it."""
    shares = sorted({key[4] for key in study.ranks_of} - {0})
    known = [(zero_shot(study, backbone), 0) for backbone in named(study.config, "backbones")]
    known += [(m, share) for setting in settings(study) for share in shares for m in methods(study, setting, share)]
    found: dict[Run, list[tuple[Method, str, int, int]]] = {}
    for method, share in known:
        ranks = method.ranks(study, target, share)
        for seed in [] if ranks is None else sorted(map(int, ranks["seed"].unique())):
            run = paper.run_of(study, method, target, share, seed)
            if run is not None:
                found.setdefault(run, []).append((method, target, share, seed))
    return found


def _score(study: Study, match: Match, direction: str, k: int, scores: dict) -> dict[str, float]:
    """Ours; kept, since several of the paper's tables repeat a row."""
    key = (match.method, match.target, direction, k, match.fraction, match.seed)
    if key not in scores:
        scores[key] = estimates.estimate(study, *key)
    return scores[key]


def _table(study: Study, source: str, target: str, found: list[Match], scores: dict) -> Table:
    ks = sorted({k for match in found for _, k in match.printed.recalls})
    columns = name_columns(study, [match.method for match in found])
    shares = ["share of data"] if {match.fraction for match in found} - {0, 100} else []
    header = [*columns, "loss", *shares, "seed", "the paper's row", "direction"]
    words = len(header)
    rows = []
    for match in found:
        for direction in DIRECTIONS:
            cells = [cell for k in ks for cell in _compared(study, match, direction, k, scores)]
            if set(cells) != {"–"}:
                rows.append([*_named(study, match, columns, bool(shares)), DIRECTION_WORDS[direction], *cells])
    level = f"ours [{study.options.confidence:.0%}]"
    spans = [("", words), *((f"R@{k}", 3) for k in ks)]
    title = f"{TITLE}: its {source} on {target}, percent"
    return Table(
        title,
        header + [level, "paper", "difference"] * len(ks),
        rows,
        _notes(study, source, target, found),
        spans,
        words=words,
    )


def _named(study: Study, match: Match, columns: list[str], shares: bool) -> list[str]:
    method, untrained = match.method, match.method.kind == "zero_shot"
    share = ["–" if untrained else f"{match.fraction} %"] if shares else []
    words = names(method, columns, mark(study, method.train, match.target))
    return [
        *words,
        "–" if untrained else method.label,
        *share,
        "–" if untrained else str(match.seed),
        match.printed.note or "–",
    ]


def _compared(study: Study, match: Match, direction: str, k: int, scores: dict) -> list[str]:
    printed = match.printed.recalls.get((direction, k))
    if printed is None:
        return ["–"] * 3
    ours = _score(study, match, direction, k, scores)
    theirs = f"{printed:.2f}{paper_marks.marks(match.source, match.run)}"
    return [with_interval(ours), theirs, signed(ours["score"] - printed)]


def _records(study: Study, match: Match, scores: dict) -> list[dict]:
    """Rows of the CSV, one an R@K."""
    method = match.method
    base = {name: getattr(method, name) for name in ("backbone", "train", "framework", "loss", "label")}
    base |= {name: getattr(match, name) for name in ("source", "target", "fraction", "seed")}
    base |= {"note": match.printed.note, "trained_on": seen_share(study, method.train, match.target)}
    base |= {"paper_trained_on": paper_marks.seen_share(match.run), "paper_epoch": paper_marks.epoch_of(match.source)}
    base["protocol"] = "; ".join(protocol.differences(study, method, match.target))
    rows = []
    for (direction, k), printed in match.printed.recalls.items():
        ours = _score(study, match, direction, k, scores)
        queries, gallery = study.sizes[match.target][direction]
        row = {"direction": direction, "k": k, "queries": queries, "gallery": gallery, "ours": ours["score"]}
        row |= {"low": ours["low"], "high": ours["high"], "paper": printed, "difference": ours["score"] - printed}
        row["paper_within_interval"] = "yes" if ours["low"] <= printed <= ours["high"] else "no"
        rows.append(base | row)
    return rows


def _notes(study: Study, source: str, target: str, found: list[Match]) -> list[str]:
    kind = study.config["benchmarks"][target.split("/")[0]]["kind"]
    trains = [match.method.train for match in found]
    return [
        *size_notes(study, target),
        f"The paper tests on {TEST_PAIRS[kind]} pairs here. It starts from {BACKBONE}, this study from "
        f"{'; '.join(_start(study, name) for name in dict.fromkeys(match.method.backbone for match in found))}.",
        "Difference: ours minus the paper's, points of percent. The bootstrap interval is that of our row's one seed "
        "and says nothing about another; the paper prints no interval, so its own number may stray as far.",
        *protocol.protocol_differences(study, [match.method for match in found], target),
        *protocol.train_notes(study, trains),
        *paper_marks.mark_notes(source, [match.run for match in found]),
        *data_notes(study, target, trains),
    ]


def _start(study: Study, backbone: str) -> str:
    """A backbone with what the config says that it is."""
    entry = study.config["backbones"][backbone]
    what = [str(entry[key]) for key in ("model", "pretrained", "weights") if entry.get(key)]
    return f"{backbone} ({', '.join([entry['kind'], *what])})"
