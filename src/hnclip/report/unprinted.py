"""Ours in the layout of the paper's tables where the paper has no number: its column stays empty."""

from hnclip.report import estimates
from hnclip.report.data_notes import data_notes, mark, seen_share
from hnclip.report.estimates import DIRECTIONS
from hnclip.report.format import DIRECTION_WORDS, name_columns, names, with_interval
from hnclip.report.load import COSINE, Study, test_targets
from hnclip.report.methods import Method
from hnclip.report.notes import interval_notes, protocol_notes, size_notes
from hnclip.report.writer import Table

SHOWN = 3  # of the study's K, the first so many: those of the paper's main table
NONE = (
    "No cell of this study is a row of the paper's tables (arXiv 2608.18521): same training set, test split, "
    "framework, loss, strength of the boost, share of the data and seed. The paper's column is therefore empty; no "
    "number of other data is set beside ours."
)


def unprinted(study: Study, title: str) -> tuple[list[Table], list[dict]]:
    """A table a test split, a row a method and direction over all its seeds; and the same as records."""
    found = [method for method in estimates.main_methods(study) if method.scoring == COSINE]
    tables, records = [], []
    for target in test_targets(study):
        scores = {
            (method, direction, k): score
            for method in found
            for direction in DIRECTIONS
            for k in study.options.ks[:SHOWN]
            if (score := estimates.estimate(study, method, target, direction, k))
        }
        if scores:
            tables.append(_table(study, title, target, scores))
            records += [_record(study, *key, target, score) for key, score in scores.items()]
    return tables or [Table(title, [], [], [NONE])], records


def _table(study: Study, title: str, target: str, scores: dict[tuple[Method, str, int], dict[str, float]]) -> Table:
    ks = study.options.ks[:SHOWN]
    rows = dict.fromkeys((method, direction) for method, direction, _ in scores)
    columns = name_columns(study, [method for method, _ in rows])
    cells = []
    for method, direction in rows:
        words = [*names(method, columns, mark(study, method.train, target)), _loss(method), DIRECTION_WORDS[direction]]
        numbers = [cell for k in ks for cell in (with_interval(scores.get((method, direction, k))), "–", "–")]
        cells.append([*words, *numbers])
    level = f"ours [{study.options.confidence:.0%}]"
    header = [*columns, "loss", "direction", *[level, "paper", "difference"] * len(ks)]
    spans = [("", len(columns) + 2), *((f"R@{k}", 3) for k in ks)]
    notes = [
        NONE,
        *size_notes(study, target),
        *data_notes(study, target, [method.train for method, _ in rows if method.train]),
        *protocol_notes(study),
        *interval_notes(study),
    ]
    return Table(f"{title}: none on {target}, percent", header, cells, notes, spans, words=len(columns) + 2)


def _loss(method: Method) -> str:
    return "–" if method.kind == "zero_shot" else method.label


def _record(study: Study, method: Method, direction: str, k: int, target: str, score: dict[str, float]) -> dict:
    """One row of the CSV; over several seeds, so that no seed is named."""
    queries, gallery = study.sizes[target][direction]
    row = {name: getattr(method, name) for name in ("backbone", "train", "framework", "loss", "label")}
    row |= {"fraction": 0 if method.kind == "zero_shot" else 100, "target": target, "direction": direction, "k": k}
    row |= {"queries": queries, "gallery": gallery, "ours": score["score"], "low": score["low"], "high": score["high"]}
    return row | {"trained_on": seen_share(study, method.train, target)}
