"""Recall and its intervals against loops, and the intervals' coverage on simulated families and seeds."""

import numpy
import pandas
import pytest

from hnclip.report.statistics import Hits, count_hits, difference, interval, seed_spread


def ragged_ranks(seed: int = 0, seeds: tuple[int, ...] = (1, 2)) -> pandas.DataFrame:
    """Families of 1 to 4 images, one or two captions an image."""
    luck = numpy.random.default_rng(seed)
    rows = []
    for family in range(9):
        for item in range(1 + family % 4):
            for direction, queries in (("i2t", 1), ("t2i", 1 + item % 2)):
                for query in range(queries):
                    name = f"{family}-{item}#{query}"
                    rows += [
                        {"direction": direction, "family": f"f{family}", "query": name, "seed": s, "rank": rank}
                        for s, rank in zip(seeds, luck.integers(0, 8, len(seeds)), strict=True)
                    ]
    return pandas.DataFrame(rows)


@pytest.mark.parametrize("k", [1, 3, 8])
def test_score_is_the_share_of_ranks_below_k(k):
    ranks = ragged_ranks()
    wanted = [sum(rank < k for rank in rows["rank"]) / len(rows) for _, rows in ranks.groupby(["direction", "seed"])]
    assert count_hits(ranks, k).score() == pytest.approx(sum(wanted) / len(wanted), abs=1e-12)


def test_k_beyond_the_gallery_finds_every_query():
    assert count_hits(ragged_ranks(), 50).score() == 1.0


def test_order_of_rows_does_not_matter():
    ranks = ragged_ranks()
    a, b = count_hits(ranks, 2), count_hits(ranks.sample(frac=1, random_state=3), 2)
    assert numpy.array_equal(a.hits_FDS, b.hits_FDS) and interval(a, 50, 0.95) == interval(b, 50, 0.95)


def test_seeds_with_other_queries_are_refused():
    ranks = ragged_ranks()
    with pytest.raises(ValueError, match="seeds 1, 2 do not rank the same queries"):
        count_hits(ranks.drop(ranks.index[3]), 1)


def test_interval_equals_a_bootstrap_written_with_loops():
    """One seed: draw families, pool their queries in each direction, take the share, average the directions."""
    ranks = ragged_ranks(seeds=(1,))
    draws, families = 60, sorted(ranks["family"].unique())
    generator = numpy.random.default_rng([0, len(families)])
    scores = []
    for weights in generator.multinomial(len(families), [1 / len(families)] * len(families), size=draws):
        shares = []
        for _, rows in ranks.groupby("direction"):
            found, asked = 0, 0
            for family, weight in zip(families, weights, strict=True):
                own = rows[rows["family"] == family]
                found, asked = found + weight * (own["rank"] < 3).sum(), asked + weight * len(own)
            shares.append(found / asked)
        scores.append(sum(shares) / len(shares))
    got = interval(count_hits(ranks, 3), draws, 0.9)
    assert (got.low, got.high) == pytest.approx(tuple(numpy.quantile(scores, [0.05, 0.95])), abs=1e-12)


def test_one_family_has_no_interval():
    got = interval(count_hits(ragged_ranks()[lambda rows: rows["family"] == "f3"], 3), 20, 0.95)
    assert numpy.isnan(got.low) and numpy.isnan(got.high) and 0 < got.score < 1


def test_difference_is_taken_over_shared_seeds():
    a, b = count_hits(ragged_ranks(1, (1, 2, 3)), 2), count_hits(ragged_ranks(2, (2, 3, 4)), 2)
    got = difference(a, b)
    assert got.seeds == (2, 3)
    assert got.score() == pytest.approx(a.of_seeds((2, 3)).score() - b.of_seeds((2, 3)).score(), abs=1e-12)


def test_difference_of_a_method_with_itself_is_zero_with_an_empty_interval():
    hits = count_hits(ragged_ranks(), 2)
    got = interval(difference(hits, hits), 50, 0.95)
    assert (got.score, got.low, got.high) == (0, 0, 0)


def test_difference_refuses_other_queries_and_disjoint_seeds():
    hits = count_hits(ragged_ranks(), 2)
    fewer = count_hits(ragged_ranks()[lambda rows: rows["family"] != "f0"], 2)
    with pytest.raises(ValueError, match="the same queries"):
        difference(hits, fewer)
    with pytest.raises(ValueError, match="shared seeds"):
        difference(hits, count_hits(ragged_ranks(0, (7, 8)), 2))


def test_two_seeds_far_apart_widen_the_interval():
    counts = numpy.full((40, 1), 10.0)
    luck = numpy.random.default_rng(1)
    near = luck.binomial(10, 0.5, (40, 1, 2)).astype(float)
    far = near + numpy.array([-3.0, 3.0]).clip(0)
    families, names = tuple(map(str, range(40))), ("i2t",)
    wide = interval(Hits(far.clip(0, 10), counts, families, names, (1, 2)), 500, 0.95)
    narrow = interval(Hits(near, counts, families, names, (1, 2)), 500, 0.95)
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_seed_spread_by_hand():
    """Draws without spread: the whole variance counts. Draws as spread as the seeds: half of it. More: none."""
    share_S = numpy.array([0.4, 0.5, 0.6])
    standard_error = 0.1 / numpy.sqrt(3)
    assert seed_spread(share_S, numpy.full((5, 3), 0.5)) == pytest.approx(standard_error)
    draws_BS = numpy.array([[0.1, 0.0, -0.1], [-0.1, 0.0, 0.1]])
    assert seed_spread(share_S, 0.5 + draws_BS) == pytest.approx(standard_error * numpy.sqrt(0.5))
    assert seed_spread(share_S, 0.5 + 2 * draws_BS) == 0


def simulate(luck: numpy.random.Generator, families: int, size: int, seeds: int, between_seeds: float) -> Hits:
    """A difference of two methods: shared difficulty of families and items, own luck of seeds and queries."""
    ease = luck.normal(0, 0.7, (families, 1, 1)) + luck.normal(0, 0.7, (families, size, 1))

    def found(level: float) -> numpy.ndarray:
        own = between_seeds * luck.normal(size=(1, 1, seeds)) + 0.5 * luck.normal(size=(families, size, seeds))
        return (ease + own + level > 0).sum(1).astype(float)

    hits_FDS = (found(0.3) - found(0.0))[:, None, :]
    counts_FD = numpy.full((families, 1), float(size))
    return Hits(hits_FDS, counts_FD, tuple(map(str, range(families))), ("t2i",), tuple(range(seeds)))


def normal_cdf(value: float) -> float:
    from math import erf, sqrt

    return 0.5 * (1 + erf(value / sqrt(2)))


@pytest.mark.parametrize(("seeds", "between_seeds"), [(1, 0.0), (3, 0.04), (4, 0.06)])
def test_difference_intervals_cover_the_truth_as_often_as_they_say(seeds, between_seeds):
    luck = numpy.random.default_rng(11)
    spread = numpy.sqrt(0.7**2 + 0.7**2 + between_seeds**2 + 0.5**2)
    truth = normal_cdf(0.3 / spread) - 0.5
    covered = 0
    for _ in range(1000):
        got = interval(simulate(luck, 96, 6, seeds, between_seeds), 400, 0.95)
        covered += got.low <= truth <= got.high
    assert 0.93 <= covered / 1000 <= 0.97, covered


def test_recall_intervals_cover_the_truth_as_often_as_they_say():
    """One seed, families of 8 that rise and fall together; intervals over single queries would miss far too often."""
    luck = numpy.random.default_rng(12)
    truth, covered, covered_by_queries = 0.5, 0, 0
    for _ in range(1000):
        ease = luck.normal(0, 1, (96, 1)) + luck.normal(0, 0.7, (96, 8))
        found_FI = (ease > 0).astype(float)
        hits = Hits(
            found_FI.sum(1)[:, None, None], numpy.full((96, 1), 8.0), tuple(map(str, range(96))), ("t2i",), (1,)
        )
        got = interval(hits, 400, 0.95)
        covered += got.low <= truth <= got.high
        covered_by_queries += abs(found_FI.mean() - truth) <= 1.96 * numpy.sqrt(0.25 / found_FI.size)
    assert 0.93 <= covered / 1000 <= 0.97, covered
    assert covered_by_queries / 1000 < 0.85
