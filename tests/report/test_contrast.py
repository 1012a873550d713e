"""Intervals, p-values and Holm's verdicts against their definitions, and their errors on simulated data."""

import math

import numpy
import pytest

from hnclip.report import student
from hnclip.report.contrast import Contrast, contrast
from hnclip.report.holm import holm
from hnclip.report.judged import BETTER, NO_INTERVAL, NOT_SHOWN, WORSE, outcome_of, verdict_of
from hnclip.report.sample_size import families_needed, hint, seeds_needed
from hnclip.report.statistics import Hits


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 12, 63])
def test_students_t_is_the_integral_of_its_density(freedom):
    size = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
    for value in (-3.0, -0.4, 0.0, 1.7):
        place = numpy.linspace(0, value, 20001)
        density = size * (1 + place**2 / freedom) ** (-(freedom + 1) / 2)
        assert student.below(value, freedom) == pytest.approx(0.5 + numpy.trapezoid(density, place), abs=1e-8)


@pytest.mark.parametrize("freedom", [1, 2, 5, 63, 5000])
def test_the_grid_averages_over_students_t(freedom):
    point_J, weight_J = student.grid(freedom, 400)
    assert weight_J.sum() == pytest.approx(1) and numpy.allclose(point_J, -point_J[::-1])
    draws = numpy.random.default_rng(1).standard_t(freedom, 200000)
    assert weight_J @ numpy.exp(-(point_J**2)) == pytest.approx(numpy.exp(-(draws**2)).mean(), abs=5e-3)
    assert weight_J @ numpy.arctan(1 + point_J) == pytest.approx(numpy.arctan(1 + draws).mean(), abs=5e-3)


def test_student_needs_a_degree_of_freedom():
    with pytest.raises(ValueError, match="at least one degree of freedom, not 0"):
        student.below(1.0, 0)


@pytest.mark.parametrize(
    "made", [Contrast(0.03, 0.01, 0.006, 1e-4, 64, 3), Contrast(-0.02, 0.011, 0.0, math.nan, 12, 1)]
)
def test_the_contrast_is_the_sum_of_its_two_errors(made):
    luck = numpy.random.default_rng(3)
    draws = made.score + made.family_error * luck.standard_t(made.families - 1, 400000)
    if made.seed_error:
        draws += made.seed_error * luck.standard_t(made.seeds - 1, len(draws))
    assert made.interval(0.9) == pytest.approx(numpy.quantile(draws, [0.05, 0.95]), abs=3e-4)
    assert made.probability == pytest.approx((draws > 0).mean(), abs=3e-3)
    assert made.p == pytest.approx(2 * min((draws > 0).mean(), (draws < 0).mean()), abs=4e-3)


def test_interval_and_p_agree():
    luck = numpy.random.default_rng(4)
    for _ in range(40):
        made = Contrast(luck.normal(0, 0.03), luck.uniform(0.005, 0.02), luck.uniform(0, 0.01), 1e-4, 30, 4)
        low, high = made.interval(0.95)
        assert (low > 0 or high < 0) == (made.p < 0.05)


def test_p_goes_on_falling_where_no_draw_reaches():
    p_values = [Contrast(0.01 * steps, 0.01, 0.0, math.nan, 64, 1).p for steps in range(12)]
    assert p_values[0] == 1 and all(a > b > 0 for a, b in zip(p_values, p_values[1:], strict=False))
    assert p_values[-1] < 1e-12


def test_nothing_differs_and_nothing_is_known():
    same = Contrast(0.0, 0.0, 0.0, 0.0, 30, 2)
    assert (same.p, same.probability, same.interval(0.95)) == (1, 0.5, (0, 0))
    for unknown in (Contrast(0.1, math.nan, math.nan, math.nan, 1, 2), Contrast(0.1, 0.0, 0.0, 0.0, 30, 2)):
        assert math.isnan(unknown.p) and math.isnan(unknown.interval(0.95)[0])


def test_holm_by_hand():
    assert holm([0.01, 0.04, math.nan, 0.03]) == pytest.approx([0.03, 0.06, math.nan, 0.06], nan_ok=True)
    assert holm([0.9, 0.8]) == [1.0, 1.0] and holm([]) == []


def test_verdicts_follow_the_adjusted_p():
    assert outcome_of(0.1, 0.049, 0.05) == BETTER and outcome_of(-0.1, 0.049, 0.05) == WORSE
    assert outcome_of(0.1, 0.05, 0.05) == NOT_SHOWN and outcome_of(0.1, math.nan, 0.05) == NO_INTERVAL
    assert verdict_of(NOT_SHOWN, 512, 3) == "no difference shown at N = 512 (3 seeds)"
    assert verdict_of(BETTER, 512, 3) == "better" and verdict_of(WORSE, 512, 1) == "worse (these weights)"


def test_sample_size_by_hand():
    """A difference of 2.8 standard errors is shown in 80 % of repetitions."""
    made = Contrast(0.028, 0.02, 0.0, 0.0, 50, 2)
    assert families_needed(made) == pytest.approx(200, rel=0.01) and seeds_needed(made) == math.inf
    lucky = Contrast(0.028, 0.02, 0.01, 3 * 0.0004, 50, 3)  # all of the family error is the seeds' own luck
    assert seeds_needed(lucky) == pytest.approx(15, rel=0.01) and families_needed(lucky) == math.inf
    assert "no number of seeds: the test set is too small" in hint(made, 400)
    assert "no number of queries with these 3 seeds" in hint(lucky, 400) and "about 16 seeds" in hint(lucky, 400)
    assert hint(Contrast(0.028, 0.02, 0.0, math.nan, 50, 1), 400).startswith("about 1700 queries (210 families) with")
    enough = hint(Contrast(0.028, 0.009, 0.001, 0.0, 50, 2), 400)
    assert enough == "no more queries with these 2 seeds; no more seeds on these queries"
    assert "over 1000 times" in hint(Contrast(1e-4, 0.02, 0.0, 0.0, 50, 2), 400)
    assert "no difference seen" in hint(Contrast(0.0, 0.02, 0.0, 0.0, 50, 2), 400)


def tables_of(
    luck: numpy.random.Generator, tables: int, methods: int, families: int, seeds: int, between: float, gain: float = 0
) -> numpy.ndarray:
    """Hits of `methods`, `gain` better, minus those of one plain method: [tables, methods, families, seeds].

    Families of 8 near-twins share their difficulty, a family suits a method or not, seeds differ in level.
    """
    size = 8
    ease = luck.normal(0, 0.7, (tables, 1, families, 1, 1)) + luck.normal(0, 0.7, (tables, 1, families, size, 1))

    def found(count: int, level: float) -> numpy.ndarray:
        suits = luck.normal(0, 0.3, (tables, count, families, 1, 1))
        seed = luck.normal(0, between, (tables, count, 1, 1, seeds))
        own = luck.normal(0, 0.5, (tables, count, families, size, seeds))
        return (ease + suits + seed + own + level > 0).sum(3)

    return found(methods, gain) - found(1, 0.0)


def contrast_of(hits_FS: numpy.ndarray) -> Contrast:
    families, seeds = hits_FS.shape
    counts_FD = numpy.full((families, 1), 8.0)
    names = tuple(map(str, range(families)))
    return contrast(Hits(hits_FS[:, None].astype(float), counts_FD, names, ("t2i",), tuple(range(seeds))), 200)


CASES = [(1, 0.0), (2, 0.1), (3, 0.0), (3, 0.1), (5, 0.1)]


@pytest.mark.parametrize(("seeds", "between"), CASES)
def test_few_false_findings_where_there_is_no_difference(seeds, between):
    """At p < .05 about one in twenty, never many more: 300 tables of one row."""
    drawn = tables_of(numpy.random.default_rng(5), 300, 1, 40, seeds, between)
    false = numpy.mean([contrast_of(table[0]).p < 0.05 for table in drawn])
    assert false <= 0.08, false


def test_holm_keeps_a_table_of_ten_rows_honest():
    drawn = tables_of(numpy.random.default_rng(6), 100, 10, 40, 3, 0.1)
    p_values = [[contrast_of(row).p for row in table] for table in drawn]
    assert numpy.mean([min(holm(row)) < 0.05 for row in p_values]) <= 0.09
    assert numpy.mean([min(row) < 0.05 for row in p_values]) > 0.1  # what the adjustment is for


def test_a_large_difference_is_found():
    drawn = tables_of(numpy.random.default_rng(7), 60, 1, 64, 3, 0.03, gain=0.5)
    assert numpy.mean([contrast_of(table[0]).p < 0.05 for table in drawn]) > 0.9


def truth(gain: float, between: float) -> float:
    """The difference that `tables_of` draws from: normal sums above 0, with and without the gain."""
    spread = math.sqrt(0.7**2 + 0.7**2 + 0.3**2 + between**2 + 0.5**2)
    return 0.5 * math.erf(gain / spread / math.sqrt(2))


@pytest.mark.parametrize(("seeds", "between"), CASES)
def test_intervals_cover_the_true_difference(seeds, between):
    """A bound lies beyond the truth where less than 2.5 % of the distribution does."""
    drawn = tables_of(numpy.random.default_rng(10), 300, 1, 40, seeds, between, gain=0.4)
    below = numpy.array([contrast_of(table[0]).below(truth(0.4, between)) for table in drawn])
    assert ((below > 0.025) & (below < 0.975)).mean() >= 0.92


@pytest.mark.slow
@pytest.mark.parametrize("families", [12, 64])
@pytest.mark.parametrize(("seeds", "between"), [*CASES, (2, 0.0), (2, 0.3), (3, 0.3), (5, 0.0), (5, 0.3)])
def test_false_findings_in_many_tables(seeds, between, families):
    """Without a difference, 0 is covered where p is not below .05; small p-values are rare too."""
    luck = numpy.random.default_rng([8, seeds, families])
    drawn = numpy.concatenate([tables_of(luck, 200, 1, families, seeds, between)[:, 0] for _ in range(15)])
    p_values = numpy.array([contrast_of(hits_FS).p for hits_FS in drawn])
    assert (p_values < 0.05).mean() <= 0.065 and (p_values < 0.01).mean() <= 0.018, p_values
    assert (p_values < 0.00125).mean() <= 0.005


@pytest.mark.slow
@pytest.mark.parametrize(("seeds", "between"), [(1, 0.0), (2, 0.1), (3, 0.1), (5, 0.2)])
def test_a_false_verdict_is_rare_in_a_table_of_forty_rows(seeds, between):
    luck = numpy.random.default_rng([9, seeds])
    drawn = numpy.concatenate([tables_of(luck, 10, 40, 64, seeds, between) for _ in range(40)])
    smallest = [min(holm([contrast_of(hits_FS).p for hits_FS in table])) for table in drawn]
    assert numpy.mean(numpy.array(smallest) < 0.05) <= 0.08
