"""The study's questions are answered by the numbers: planted effects are found, absent ones are not, gaps are said."""

import dataclasses

import numpy
import pandas
import pytest

from hnclip.report.difference_table import difference_table
from hnclip.report.judged import BETTER, NOT_SHOWN, WORSE, judged
from hnclip.report.load import OVERLAP, SOURCES, Study
from hnclip.report.verdict_table import verdict_table
from hnclip.report.verdicts import ABSENT, questions
from hnclip.report.writer import latex, markdown

FAMILIES, SIZE = 24, 6
LOSSES = {
    "plain": {"base": "infonce", "boost": "none"},
    "plain-tuned": {"base": "infonce", "boost": "none", "scale": [None, 33]},
    "hn": {"base": "infonce", "boost": "captions", "gamma": 0.5},
    "hn-tuned": {"base": "infonce", "boost": "captions", "gamma": [0.25, 0.5]},
    "margin": {"base": "infonce", "boost": "matched", "gamma": 0.5},
    "constant": {"base": "infonce", "boost": "constant", "margin": 0.2},
    "centred": {"base": "infonce", "boost": "centred", "gamma": 0.5},
    "shuffled": {"base": "infonce", "boost": "shuffled", "gamma": 0.5},
}
# The share found: the boost helps, a margin as much, its adaptive part harms, a tuned scale does all of it.
SKILL = {"plain": 0.3, "hn": 0.55, "margin": 0.55, "constant": 0.55, "shuffled": 0.55, "centred": 0.1}
SKILL |= {"plain-tuned": 0.55, "hn-tuned": 0.55}
SEEDS = (1, 2, 3, 4)


def made_ranks(framework: str, loss: str, seed: int, target: str) -> pandas.DataFrame:
    """Items differ in difficulty alike for all; a loss finds those below its skill, but for a little luck."""
    items = FAMILIES * SIZE
    ease_I = numpy.random.default_rng(len(target)).random(items)
    frames = []
    for nth, direction in enumerate(("t2i", "i2t")):
        luck = numpy.random.default_rng([seed, nth, len(framework), sorted(LOSSES).index(loss)])
        skill = SKILL[loss] if target == "scenes/test" else 0.4
        rank = (ease_I + luck.normal(0, 0.03, items) > skill).astype(int)
        names = [f"{number:03d}" for number in range(items)]
        frames.append(pandas.DataFrame({"direction": direction, "query": names, "id": names, "rank": rank}))
        frames[-1]["family"] = [f"f{number // SIZE}" for number in range(items)]
    whole = {"backbone": "tiny", "train": "scenes", "framework": framework, "loss": loss, "fraction": 100, "seed": seed}
    return pandas.concat(frames, ignore_index=True).assign(**whole, target=target, gallery=items, scoring="cosine")


def made_study(frameworks: dict[str, dict], seeds: tuple[int, ...] = SEEDS, losses: tuple[str, ...] = tuple(LOSSES)):
    axes = {"backbones": ["tiny"], "train": ["scenes"], "fractions": [100], "losses": list(losses)}
    transform = {"size": 48, "interpolation": "bicubic", "resize": "shortest", "exif": "ignore"}
    config = {
        "study": "asked",
        "run": ["main"],
        "grids": {"main": axes | {"frameworks": list(frameworks), "seeds": list(seeds)}},
        "backbones": {"tiny": {"kind": "starter", "transform": transform}},
        "benchmarks": {"scenes": {"kind": "scenes", "train": "train", "validation": None, "test": ["test", "unseen"]}},
        "frameworks": frameworks,
        "recipe": {"batch": 16, "accumulate": 8, "epochs": 2},
        "losses": LOSSES,
        "report": {"bootstrap": 300},
    }
    targets = ("scenes/test", "scenes/unseen")
    ranks = [made_ranks(f, loss, s, t) for f in frameworks for loss in losses for s in seeds for t in targets]
    entry = {"plain-tuned": {"scale": 33}, "hn-tuned": {"gamma": 0.25}}
    choices = {
        ("tiny", "scenes", framework, loss, 100): {
            "chosen": "x",
            "seed": 9,
            "target": "scenes/validation",
            "settings": [{"name": "x", "entry": LOSSES[loss] | changed}],
        }
        for framework in frameworks
        for loss, changed in entry.items()
    }
    runs = pandas.DataFrame({"captions_cut": [], "framework": [], "warnings": [], "commit": [], "dirty": []})
    runs = runs.reindex(columns=[*runs.columns, "train", "loss", "fraction", "pairs"])
    overlap, sources = pandas.DataFrame(columns=list(OVERLAP)), pandas.DataFrame(columns=list(SOURCES))
    return Study(config, pandas.concat(ranks, ignore_index=True), pandas.DataFrame(), runs, overlap, sources, choices)


BOTH = {
    "longclip": {"kind": "longclip"},
    "longclip-b128": {"kind": "longclip", "recipe": {"batch": 128, "accumulate": 1}},
}


@pytest.fixture(scope="module")
def asked() -> Study:
    return made_study(BOTH)


@pytest.fixture(scope="module")
def lone() -> Study:
    """One framework, one seed, plain and boosted alone."""
    return made_study({"longclip": {"kind": "longclip"}}, (1,), ("plain", "hn"))


def test_planted_effects_are_found_and_absent_ones_are_not(asked):
    found = {(row.a.framework, row.a.loss, row.b.loss): row.outcome for row in judged(asked, "scenes/test")}
    for framework in BOTH:
        assert found[framework, "hn", "plain"] == found[framework, "plain-tuned", "plain"] == BETTER
        assert found[framework, "centred", "plain"] == WORSE
        assert found[framework, "hn", "margin"] == found[framework, "hn-tuned", "plain-tuned"] == NOT_SHOWN
    assert all(row.outcome == NOT_SHOWN for row in judged(asked, "scenes/unseen"))


def test_a_row_holds_together(asked):
    rows = judged(asked, "scenes/test")
    for row in rows:
        assert row.low <= row.points <= row.high and row.p <= row.adjusted <= 1 and row.queries == FAMILIES * SIZE
        assert (row.low > 0 or row.high < 0) == (row.p < 0.05)
        assert (row.outcome == NOT_SHOWN) == bool(row.hint) == (row.adjusted >= 0.05)
        assert (row.probability > 0.5) == (row.points > 0) or row.points == 0
    assert max(row.adjusted for row in rows) == max(1.0, max(row.p for row in rows))


def test_the_questions_are_answered_from_the_rows(asked):
    boost, adaptive, temperature, batch, elsewhere = questions(asked)
    assert "with the paper's strength at the learned scale: better in all 2" in boost.short
    assert "each at its best setting (chosen on validation): no difference shown in all 2" in boost.short
    assert "longclip, boosted, γ = 0.5 against plain: better, +" in boost.answer and "4 seeds, N = 144" in boost.answer
    assert "the adaptive part alone (centred) against plain: worse in all 2" in adaptive.short
    assert "boost against the margin that matches its mean: no difference shown" in adaptive.short
    assert "boost against plain with a tuned scale, both tuned: no difference shown in all 2" in temperature.short
    assert "plain with a tuned scale against plain with the learned one: better in all 2" in temperature.short
    assert "A contrast of 16 pairs, 8 batches a step: " in batch.answer and "A contrast of 128 pairs: " in batch.answer
    assert {row.a.framework for row in batch.details} == set(BOTH)
    assert "boost against plain on scenes/unseen: no difference shown" in elsewhere.short
    assert "boost against plain with a tuned scale on scenes/unseen: " in elsewhere.short
    assert {row.target for row in elsewhere.details} == {"scenes/unseen"}


def test_batches_are_compared_at_the_losses_that_the_large_one_has(asked):
    """A tuned pair of small batches alone is none that a large batch could survive."""
    large = (asked.ranks["framework"] == "longclip-b128") & asked.ranks["loss"].isin(["plain-tuned", "hn-tuned"])
    batch = questions(dataclasses.replace(asked, ranks=asked.ranks[~large]))[3]
    assert {(row.a.loss, row.b.loss) for row in batch.details} == {("hn", "plain")} and len(batch.details) == 2


def test_a_batch_counts_by_the_pairs_that_there_are(asked):
    config = asked.config
    epochs = {**config["recipe"], **config["frameworks"]["longclip-b128"].get("recipe", {})}["epochs"]
    keys = {"train": "scenes", "framework": "longclip-b128", "fraction": 100, "pairs": 96 * epochs}
    runs = pandas.DataFrame([{**keys, "loss": loss} for loss in asked.ranks["loss"].unique()])
    few = dataclasses.replace(asked, runs=pandas.concat([asked.runs, runs]))
    assert "contrast of 128 pairs" in questions(asked)[3].answer
    assert questions(few)[3].answer == ABSENT


def test_what_a_study_lacks_is_said(lone):
    boost, adaptive, temperature, batch, _ = questions(lone)
    assert adaptive.answer == temperature.answer == batch.answer == ABSENT and adaptive.details == ()
    assert boost.answer.endswith("Not in this study: each at its best setting (chosen on validation).")
    assert "one seed: these weights" in boost.short and "1 seed, these weights" in boost.answer
    bare = dataclasses.replace(lone, ranks=lone.ranks[lone.ranks["loss"] == "plain"])
    assert [question.answer for question in questions(bare)] == [ABSENT] * 5


def test_the_table_of_verdicts(asked, lone):
    tables, rows = verdict_table(asked)
    assert [table.title[:2] for table in tables] == ["1.", "2.", "3.", "4.", "5."]
    assert [table.notes[0] for table in tables] == [question.answer for question in questions(asked)]
    assert "better" in markdown(tables) and "Does the boost beat" in latex(tables)
    assert all(len(row) == len(table.header) for table in tables for row in table.rows)
    tables, rows = verdict_table(lone)
    assert len(rows) == 5 and rows["a"].isna().sum() == 3 and tables[1].rows == [] and tables[1].notes == [ABSENT]
    assert list(rows["answer"][rows["a"].isna()]) == [ABSENT] * 3


def test_the_table_of_differences_says_what_would_show_the_rest(asked):
    tables, rows = difference_table(asked)
    assert [table.title.split(" on ")[0] for table in tables] == [
        "Differences of R@1",
        "Differences of R@1",
        "What would show the differences that are not shown",
        "What would show the differences that are not shown",
    ]
    hinted = rows[(rows["target"] == "scenes/test") & (rows["hint"] != "")]
    assert len(tables[2].rows) == len(hinted) and hinted["verdict"].str.startswith("no difference shown at N = ").all()
    said = f"adjusted by Holm over all {len(tables[0].rows)} comparisons of the test split"
    assert any(said in note for note in tables[0].notes)
    assert rows["adjusted_p"].astype(float).between(0, 1).all()
