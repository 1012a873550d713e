"""Recall at k of one table of ranks, with intervals over families: what commands print of a run."""

from dataclasses import dataclass
from pathlib import Path

import pandas
from pyarrow import ArrowInvalid, parquet

from hnclip.report.load import COSINE, SCORING, ReportOptions
from hnclip.report.statistics import count_hits, interval

DEFAULTS = ReportOptions()


@dataclass(frozen=True)
class Recall:
    """R@k in percent of one direction on a target; `whole` where the gallery has no more than k: all is found."""

    target: str
    direction: str
    k: int
    score: float
    low: float
    high: float
    queries: int
    gallery: int

    @property
    def whole(self) -> bool:
        return self.gallery <= self.k


def read_ranks(path: Path) -> pandas.DataFrame:
    """The ranks by cosine in a file that a training or an evaluation wrote. Raises ValueError for another file."""
    try:
        found = pandas.read_parquet(path)
    except ArrowInvalid as error:
        raise ValueError(f"{path} is no Parquet file ({' '.join(str(error).split())})") from error
    lacking = {"target", "direction", "query", "family", "rank", "gallery"} - set(found.columns)
    if lacking and len(found):
        raise ValueError(f"{path} holds no ranks: it lacks the columns {', '.join(sorted(lacking))}")
    return found[found[SCORING] == COSINE] if SCORING in found else found


def ranked_captions(path: Path) -> str | None:
    """Where the captions lie of whose ranks `hnclip evaluate` made this file; None of a training's."""
    said = (parquet.read_schema(path).metadata or {}).get(b"captions")
    return said.decode() if said else None


def recalls(ranks: pandas.DataFrame, ks: tuple[int, ...], options: ReportOptions = DEFAULTS) -> list[Recall]:
    """A row a target, direction and k, of one model's ranks."""
    rows = []
    for (target, direction), found in ranks.assign(seed=0).groupby(["target", "direction"], sort=False):
        queries, gallery = len(found), int(found["gallery"].iloc[0])
        for k in ks:
            got = interval(count_hits(found, k), options.bootstrap, options.confidence)
            percent = (100 * got.score, 100 * got.low, 100 * got.high)
            rows.append(Recall(str(target), str(direction), k, *percent, queries, gallery))
    return rows
