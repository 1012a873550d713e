"""The paper's smaller tables, on a made-up study with data for each: numbers against the ranks, words, emptiness."""

import dataclasses

import pandas
import pytest
from sweep_world import SEEDS, TARGETS, swept_study

from hnclip.report import estimates
from hnclip.report.beside_plain import plain_pairs
from hnclip.report.gamma_table import gamma_table
from hnclip.report.load import OVERLAP, Study
from hnclip.report.methods import Setting, methods
from hnclip.report.recomputed_table import recomputed_table
from hnclip.report.seeds_table import seeds_table
from hnclip.report.strength import sweeps
from hnclip.report.token_table import token_table
from hnclip.report.transfer_table import transfer_table
from hnclip.report.tuning_table import tuning_table
from hnclip.report.writer import latex, markdown

LONGCLIP = Setting("tiny", "scenes", "longclip")
ALL = (gamma_table, token_table, recomputed_table, transfer_table, seeds_table, tuning_table)
BY_TARGET = ALL[:-1]


@pytest.fixture(scope="module")
def swept() -> Study:
    return swept_study()


@pytest.fixture(scope="module")
def made(swept) -> dict:
    """Every table, made once."""
    return {make: make(swept) for make in ALL}


def share(study: Study, target: str, direction: str, framework: str, loss: str, seed: int | None = None, k: int = 1):
    """R@K in percent by hand, mean over seeds."""
    rows = study.ranks
    for name, value in {"target": target, "direction": direction, "framework": framework, "loss": loss}.items():
        rows = rows[rows[name] == value]
    seeds = SEEDS[framework] if seed is None else [seed]
    return sum(100 * (rows.loc[rows["seed"] == each, "rank"] < k).mean() for each in seeds) / len(seeds)


def points(study: Study, target: str, a: tuple[str, str], b: tuple[str, str], seeds: tuple[int, ...]) -> float:
    """a - b over these seeds, mean of both directions, by hand."""
    return sum(
        share(study, target, direction, *a, seed) - share(study, target, direction, *b, seed)
        for direction in ("t2i", "i2t")
        for seed in seeds
    ) / (2 * len(seeds))


def without(study: Study, *losses: str) -> Study:
    return dataclasses.replace(study, ranks=study.ranks[~study.ranks["loss"].isin(losses)])


def test_a_sweep_holds_all_strengths_of_one_scale_from_the_smallest(swept):
    (found,) = sweeps(swept, LONGCLIP)
    assert [(gamma, method.loss) for gamma, method in found] == [
        (-0.5, "hn-m050"),
        (0.0, "infonce"),
        (0.25, "hn-025"),
        (0.5, "hn"),
        (1.0, "hn-100"),
    ]
    (margin,) = sweeps(swept, LONGCLIP, ("margin",))
    assert [gamma for gamma, _ in margin] == [0.0, 0.5, 1.0]
    assert sweeps(swept, LONGCLIP, ("frozen",)) == []


def test_strengths_stand_beside_no_strength(swept, made):
    tables, rows = made[gamma_table]
    assert [table.title for table in tables] == [
        f"Strength of the boost: recall@K on {target}, percent" for target in TARGETS
    ]
    assert [row[:4] for row in tables[0].rows][:3] == [
        ["longclip", "−0.5", "learned", "3"],
        ["longclip", "0", "learned", "3"],
        ["longclip", "0.25", "learned", "3"],
    ]
    assert tables[0].rules == [5] and tables[0].rows[1][-2:] == ["–", "–"]
    keep = (rows["framework"] == "longclip") & (rows["gamma"] == 1) & (rows["target"] == "scenes/unseen")
    found = rows[keep].set_index("direction")
    assert found.loc["t2i", "R@5"] == pytest.approx(
        share(swept, "scenes/unseen", "t2i", "longclip", "hn-100", k=5), abs=1e-9
    )
    wanted = points(swept, "scenes/unseen", ("longclip", "hn-100"), ("longclip", "infonce"), (42, 43, 44))
    assert found.loc["mean", "points"] == pytest.approx(wanted, abs=1e-9)
    assert found.loc["mean", "low"] <= wanted <= found.loc["mean", "high"]
    assert found.loc["mean", "against"] == "longclip/infonce" and pandas.isna(found.loc["t2i", "points"])


def test_the_token_term_and_the_boost_make_a_square(swept, made):
    tables, rows = made[token_table]
    assert [row[:4] for row in tables[0].rows][:5] == [
        ["longclip", "no", "no", "–"],
        ["hnclip", "yes", "no", "neither"],
        ["longclip", "no", "yes (γ = 0.25)", "neither"],
        ["hnclip", "yes", "yes (γ = 0.25)", "neither"],
        ["hnclip", "yes", "yes (γ = 0.25)", "L_HN alone"],
    ]
    assert ["hnclip", "yes", "yes (tuned)", "neither"] in [row[:4] for row in tables[0].rows]
    tuned = rows[(rows["loss"] == "hn-tuned") & (rows["framework"] == "hnclip") & (rows["direction"] == "mean")]
    assert set(tuned["against"]) == {"longclip/plain-tuned", "longclip/hn-tuned"}
    keep = (rows["loss"] == "hn") & (rows["framework"] == "hnclip") & (rows["target"] == "scenes/test")
    found = rows[keep & (rows["direction"] == "mean")].set_index("against")["points"]
    assert list(found.index) == ["longclip/infonce", "longclip/hn"]
    both = ("hnclip", "hn")
    for against, base in (("longclip/infonce", "infonce"), ("longclip/hn", "hn")):
        assert found[against] == pytest.approx(points(swept, "scenes/test", both, ("longclip", base), (42,)), abs=1e-9)


def test_a_token_term_of_another_recipe_is_no_pair(swept):
    frameworks = {"longclip": {"kind": "longclip"}, "hnclip": {"kind": "hnclip", "recipe": {"batch": 128}}}
    tables, rows = token_table(dataclasses.replace(swept, config=swept.config | {"frameworks": frameworks}))
    assert rows.empty and "with the same recipe" in tables[0].notes[0]


def test_frozen_cosines_stand_beside_recomputed_ones(swept, made):
    tables, rows = made[recomputed_table]
    assert [row[:3] for row in tables[0].rows][:3] == [
        ["longclip", "none", "0"],
        ["longclip", "recomputed", "0.5"],
        ["longclip", "frozen", "0.5"],
    ]
    keep = (rows["loss"] == "frozen") & (rows["framework"] == "longclip") & (rows["target"] == "stamps/test")
    (found,) = rows[keep & (rows["direction"] == "mean")]["points"]
    wanted = points(swept, "stamps/test", ("longclip", "frozen"), ("longclip", "hn"), (42, 43, 44))
    assert found == pytest.approx(wanted, abs=1e-9)


def test_transfers_are_to_other_benchmarks_alone(swept, made):
    tables, rows = made[transfer_table]
    assert [table.title for table in tables] == ["Trained on scenes, tested on stamps/test: recall@K, percent"]
    assert set(rows["target"]) == {"stamps/test"}
    assert set(rows["loss"]) == {m.loss for m in methods(swept, LONGCLIP)}
    assert dict(rows[["loss", "standing"]].to_numpy())["hn-tuned"] == "tuned"
    tuned = rows[(rows["loss"] == "hn-tuned") & (rows["direction"] == "mean")]
    assert set(tuned["against"]) == {"longclip/plain-tuned", "hnclip/plain-tuned"}


def test_images_that_were_trained_on_are_marked(swept):
    overlap = pandas.DataFrame([("scenes", "stamps/test", 24, 6, 0.25, None)], columns=list(OVERLAP))
    tables, rows = transfer_table(dataclasses.replace(swept, overlap=overlap))
    assert tables[0].rows[0][0] == "longclip †" and "(25.0%)" in " ".join(tables[0].notes)
    assert set(rows["trained_on"]) == {25.0}


def test_every_seed_has_a_column_and_the_spread_is_that_of_the_seeds(swept, made):
    tables, rows = made[seeds_table]
    assert tables[0].header[1:5] == ["loss", "seed 42", "seed 43", "seed 44"]
    assert {row[0] for row in tables[0].rows} == {"longclip"}
    plain = next(row for row in tables[0].rows if row[1] == "plain")
    by_seed = [
        sum(share(swept, "scenes/test", d, "longclip", "infonce", seed) for d in ("t2i", "i2t")) / 2
        for seed in (42, 43, 44)
    ]
    assert plain[2:5] == [f"{score:.1f}" for score in by_seed]
    assert plain[-2:] == [f"{pandas.Series(by_seed).std():.1f}", "3"]
    keep = (rows["loss"] == "infonce") & (rows["target"] == "scenes/test") & (rows["direction"] == "mean")
    assert list(rows[keep]["R@1"]) == pytest.approx(by_seed, abs=1e-9)


def test_differences_by_seed_are_those_of_the_pair(swept, made):
    tables, _ = made[seeds_table]
    words = "difference: boosted, γ = 0.5 minus plain"
    row = next(row for row in tables[0].rows if row[1] == words)
    pair = next((a, b) for a, b in plain_pairs(swept, LONGCLIP) if a.loss == "hn")
    found = estimates.paired(swept, *pair, "scenes/test")
    assert row[5].startswith(f"{found['score']:+.1f}".replace("-", "−")) and row[-1] == "3"
    assert not any(
        "s = 33 minus plain, s = 33" in row[1] and "plain, s = 33" in row[1][12:25] for row in tables[0].rows
    )


def test_losses_stand_beside_plain_of_their_own_standing(swept):
    found = {a.loss: b.loss for a, b in plain_pairs(swept, LONGCLIP)}
    assert found["hn"] == found["frozen"] == found["margin"] == found["infonce-s33"] == "infonce"
    assert found["hn-s33"] == "infonce-s33" and found["hn-tuned"] == "plain-tuned" and "plain-tuned" not in found


def test_every_setting_tried_is_there_with_the_chosen_one(made):
    tables, rows = made[tuning_table]
    assert [table.title for table in tables] == [
        f"What was tried on the validation split: {name} on scenes from tiny, R@1 in percent" for name in SEEDS
    ]
    assert tables[0].rows == [
        ["plain-tuned", "plain", "s learned", "–", "42.0", "40.0", "41.0"],
        ["plain-tuned", "plain", "s = 33", "chosen", "46.0", "44.0", "45.0"],
        ["hn-tuned", "boosted", "γ = 0.25, s learned", "chosen", "48.0", "46.0", "47.0"],
        ["hn-tuned", "boosted", "γ = 0.5, s learned", "–", "45.0", "43.0", "44.0"],
    ]
    notes = " ".join(tables[0].notes)
    assert "with seed 41, and scored on scenes/validation" in notes and "the same budget: 2 settings" in notes
    assert "hn-tuned (γ = 0.25)" in notes and list(rows["chosen"]) == ["no", "yes", "yes", "no"] * 2


def test_budgets_that_differ_are_said(swept):
    found = dict(swept.choices)
    key = ("tiny", "scenes", "longclip", "hn-tuned", 100)
    found[key] = found[key] | {"settings": found[key]["settings"][:1]}
    tables, _ = tuning_table(dataclasses.replace(swept, choices=found))
    assert "The budgets differ, in settings: plain-tuned 2, hn-tuned 1." in " ".join(tables[0].notes)


@pytest.mark.parametrize("make", BY_TARGET)
def test_n_seeds_and_protocol_stand_beneath_every_table(made, make):
    for table in made[make][0]:
        notes = " ".join(table.notes)
        assert "N on " in notes and "24 captions search 24 images" in notes and "6 families" in notes
        assert "Seeds 42, 43, 44" in notes and "Last epoch" in notes and "200 draws" in notes


@pytest.mark.parametrize("make", ALL)
def test_rows_are_as_wide_as_their_header(made, make):
    tables, rows = made[make]
    for table in tables:
        assert table.rows and {len(row) for row in table.rows} == {len(table.header)}
        assert not table.spans or sum(width for _, width in table.spans) == len(table.header)
    assert len(rows) and latex(tables) and markdown(tables)


@pytest.mark.parametrize("make", ALL)
def test_without_data_a_table_says_so(swept, make):
    lone = without(swept, *(name for name in swept.config["losses"] if name not in ("infonce", "margin")))
    lone = dataclasses.replace(lone, ranks=lone.ranks[(lone.ranks["seed"] == 42)], choices={})
    lone = dataclasses.replace(lone, ranks=lone.ranks[lone.ranks["target"] != "stamps/test"])
    (table,), rows = make(lone)
    assert not table.rows and rows.empty and len(rows.columns) > 5 and table.notes[0].startswith("This study")
    none = dataclasses.replace(lone, ranks=lone.ranks[:0])
    assert not make(none)[0][0].rows
