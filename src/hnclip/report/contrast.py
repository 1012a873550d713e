"""A paired difference judged: interval, probability of improvement and p-value, all of one distribution.

The difference lies where it was seen, give or take two errors. That of the finite test set: the spread over bootstrap
draws of whole families, with Student's t of F - 1 degrees of freedom. That of the seeds: the spread between them beyond
what the draws explain (statistics.seed_spread), with Student's t of S - 1. Their sum (Behrens and Fisher) is
integrated, not drawn, so that p-values stay exact where no draw reaches; a table of forty rows needs that.
Less of the spread is explained away than for a score's interval (a share of ½ - 1/S instead of ½): few seeds may agree
by luck, and their mean would seem certain; in a table of many rows some do. One seed has no spread: its
p-value is that of these weights.

False findings at p < .05 in simulations without a difference (64 or 12 families; seeds' standard deviation 0 to 10
points): one seed 5-6 % where seeds do not differ, two 0-4 %, three 1-5 %, five 3-5 %. A false verdict anywhere in a
table of forty rows, by Holm: 2-5 %, but 8 % with three seeds that differ by 10 points.
"""

from dataclasses import dataclass

import numpy

from hnclip.report import student
from hnclip.report.statistics import Hits, drawn_shares, seed_spread

POINTS = 400  # of the grid that integrates over the test set's error
HALVINGS = 40  # of the bracket around an interval's end


@dataclass(frozen=True)
class Contrast:
    """A difference of shares and its errors (standard errors, in shares), from F families and S seeds.

    `luck` is the part of `family_error` that is the seeds' own (chance flips of single queries), as the variance of
    one seed's share; NaN with one seed, where it cannot be told apart.
    """

    score: float
    family_error: float
    seed_error: float
    luck: float
    families: int
    seeds: int

    def below(self, value: float) -> float:
        """How sure it is that the true difference lies below `value`, 0..1; NaN where nothing tells the error."""
        distance = value - self.score
        if self.families < 2 or (self.family_error == self.seed_error == 0 and self.score != 0):
            return numpy.nan
        if self.family_error == self.seed_error == 0:
            return 0.5 * (1 + float(numpy.sign(distance)))
        if self.seed_error == 0:
            return float(student.below(distance / self.family_error, self.families - 1))
        point_J, weight_J = student.grid(self.families - 1, POINTS)
        place_J = (distance - self.family_error * point_J) / self.seed_error
        return float(weight_J @ student.below(place_J, self.seeds - 1))

    @property
    def probability(self) -> float:
        """Probability of improvement: how sure it is that the true difference is above 0."""
        return 1 - self.below(0.0)

    @property
    def p(self) -> float:
        """Two-sided p-value of no difference; below 1 - confidence where the interval leaves out 0, and only there."""
        low = self.below(0.0)
        return low if numpy.isnan(low) else float(min(1.0, 2 * max(0.0, min(low, 1 - low))))

    def interval(self, confidence: float) -> tuple[float, float]:
        """The bounds that leave out (1 - confidence) / 2 on each side, within -1..1; NaN where there is none."""
        if numpy.isnan(self.below(0.0)):
            return numpy.nan, numpy.nan
        reach, step = 0.0, 2.0 if self.family_error or self.seed_error else 0.0  # shares differ by 2 at most
        for _ in range(HALVINGS):
            step /= 2
            reach += step if self.below(self.score + reach + step) < (1 + confidence) / 2 else 0.0
        return max(-1.0, self.score - reach), min(1.0, self.score + reach)


def contrast(hits: Hits, draws: int, seed: int = 0) -> Contrast:
    """The contrast of a paired difference (statistics.difference), from bootstrap draws of its families."""
    families, seeds = len(hits.families), len(hits.seeds)
    if families < 2:
        return Contrast(hits.score(), numpy.nan, numpy.nan, numpy.nan, families, seeds)
    share_BS = drawn_shares(hits, draws, seed)
    error = float(share_BS.mean(1).std() * numpy.sqrt(families / (families - 1)))
    if seeds == 1:
        return Contrast(hits.score(), error, 0.0, numpy.nan, families, seeds)
    share_S = (hits.hits_FDS.sum(0) / hits.counts_FD.sum(0)[:, None]).mean(0)
    deviation_BS = share_BS - share_BS.mean(1, keepdims=True)
    luck = float(deviation_BS.var(0).sum() / (seeds - 1))
    spread = seed_spread(share_S, share_BS, taken=0.5 - 1 / seeds)
    return Contrast(hits.score(), error, spread, luck, families, seeds)
