"""Every comparison of a test split with its verdict; p-values are adjusted over all of them (Holm)."""

from dataclasses import dataclass

import numpy

from hnclip.report.comparisons import comparisons
from hnclip.report.contrast import Contrast
from hnclip.report.estimates import MEAN, contrast_of, hits_of
from hnclip.report.holm import holm
from hnclip.report.load import Study
from hnclip.report.methods import Method, settings
from hnclip.report.sample_size import hint

BETTER, WORSE, NO_INTERVAL, NOT_SHOWN = "better", "worse", "no interval", "no difference shown"


@dataclass(frozen=True)
class Judged:
    """A difference a - b of R@1, mean of both directions, in points of percent, and what may be said of it.

    `p` is two-sided, `adjusted` by Holm over all comparisons of the test split; `probability` (0..1) that a is better.
    `outcome` is BETTER, WORSE, NOT_SHOWN or NO_INTERVAL; `verdict` the same in full words; `hint` what would show a
    difference of this size where none is shown, else empty. `queries`: of the direction that has more of them.
    """

    a: Method
    b: Method
    target: str
    points: float
    low: float
    high: float
    p: float
    adjusted: float
    probability: float
    seeds: int
    queries: int
    outcome: str
    verdict: str
    hint: str


def judged(study: Study, target: str) -> list[Judged]:
    """Every comparison that the study can make on a test split, in the order of its settings."""
    pairs = [pair for setting in settings(study) for pair in comparisons(study, setting)]
    hits = {method: hits_of(study, method, target, MEAN, 1) for pair in pairs for method in pair}
    found = {(a, b): made for a, b in pairs if (made := contrast_of(study, hits[a], hits[b]))}
    adjusted = holm([made.p for made in found.values()])
    return [
        _judged(study, pair, target, made, value) for (pair, made), value in zip(found.items(), adjusted, strict=True)
    ]


def _judged(study: Study, pair: tuple[Method, Method], target: str, made: Contrast, adjusted: float) -> Judged:
    low, high = made.interval(study.options.confidence)
    queries = max(count for count, _ in study.sizes[target].values())
    outcome = outcome_of(made.score, adjusted, 1 - study.options.confidence)
    return Judged(
        *pair,
        target,
        100 * made.score,
        100 * low,
        100 * high,
        made.p,
        adjusted,
        made.probability,
        made.seeds,
        queries,
        outcome,
        verdict_of(outcome, queries, made.seeds),
        hint(made, queries) if outcome == NOT_SHOWN else "",
    )


def outcome_of(score: float, adjusted: float, level: float) -> str:
    """What an adjusted p-value says of a difference: shown where it is below the level."""
    if numpy.isnan(adjusted):
        return NO_INTERVAL
    if adjusted >= level:
        return NOT_SHOWN
    return BETTER if score > 0 else WORSE


def verdict_of(outcome: str, queries: int, seeds: int) -> str:
    """The outcome in words; one seed speaks for its weights alone, and what is not shown is not shown at this N."""
    if outcome == NOT_SHOWN:
        return f"{outcome} at N = {queries} ({seeds} seed{'s' if seeds > 1 else ''})"
    return f"{outcome} (these weights)" if seeds == 1 and outcome != NO_INTERVAL else outcome
