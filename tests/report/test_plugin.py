"""The boost in every framework: numbers against the ranks, seeds that both sides have, and why a table is empty."""

import dataclasses

import pytest

from hnclip.report.difference_table import difference_table
from hnclip.report.load import test_targets as targets_of
from hnclip.report.methods import Setting
from hnclip.report.plugin_table import plugin_pairs, plugin_table
from hnclip.report.writer import latex, markdown


def share(study, target: str, direction: str, framework: str, loss: str, seeds: tuple[int, ...]) -> float:
    """R@1 in percent by hand."""
    rows = study.ranks[(study.ranks["scoring"] == "cosine") & (study.ranks["fraction"] == 100)]
    wanted = {"target": target, "direction": direction, "framework": framework, "loss": loss}
    for name, value in wanted.items():
        rows = rows[rows[name] == value]
    return sum(100 * (rows.loc[rows["seed"] == seed, "rank"] < 1).mean() for seed in seeds) / len(seeds)


def test_a_row_a_framework_in_the_configs_order(study):
    tables, rows = plugin_table(study)
    assert [table.title.split()[7].rstrip(",") for table in tables] == targets_of(study)
    for table in tables:
        assert [(row[0], row[-1]) for row in table.rows] == [
            ("longclip", "1, 2, 3"),
            ("hnclip", "1, 2, 3"),
            ("finelip", "1, 2"),
        ]
        assert "64 captions search 64 images" in table.notes[0]
    assert len(rows) == 6 and set(rows["boosted"]) == {"hn"} and set(rows["plain"]) == {"infonce"}


@pytest.mark.parametrize(("framework", "seeds"), [("longclip", (1, 2, 3)), ("finelip", (1, 2))])
def test_the_numbers_are_those_of_the_ranks(study, framework, seeds):
    row = plugin_table(study)[1].query(f"framework == '{framework}' and target == 'scenes/unseen'").iloc[0]
    for side, loss in (("plain", "infonce"), ("boosted", "hn")):
        for direction in ("t2i", "i2t"):
            by_hand = share(study, "scenes/unseen", direction, framework, loss, seeds)
            assert row[f"{side}_{direction}"] == pytest.approx(by_hand, abs=1e-9)
    gained = [row[f"boosted_{d}"] - row[f"plain_{d}"] for d in ("t2i", "i2t")]
    assert row["points"] == pytest.approx(sum(gained) / 2, abs=1e-9) and row["low"] <= row["points"] <= row["high"]


def test_a_pair_is_that_of_the_table_of_differences(study):
    _, differences = difference_table(study)
    alike = ["framework", "target", "points", "low", "high", "adjusted_p", "verdict", "seeds"]
    wanted = differences[(differences["a"] == "hn") & (differences["b"] == "infonce")][alike]
    assert plugin_table(study)[1][alike].equals(wanted.reset_index(drop=True))


def test_both_sides_are_scored_over_the_seeds_that_both_have(study):
    fewer = study.ranks[(study.ranks["loss"] != "hn") | (study.ranks["seed"] != 3)]
    tables, rows = plugin_table(dataclasses.replace(study, ranks=fewer))
    assert [row[-1] for row in tables[0].rows] == ["1, 2"] * 3 and set(rows["seed_names"]) == {"1 2"}
    plain = rows[(rows["framework"] == "longclip") & (rows["target"] == "scenes/test")].iloc[0]["plain_t2i"]
    assert plain == pytest.approx(share(study, "scenes/test", "t2i", "longclip", "infonce", (1, 2)), abs=1e-9)


def test_every_boosted_loss_has_a_row(study):
    config = study.config | {"losses": study.config["losses"] | {"margin": study.config["losses"]["hn"] | {"gamma": 1}}}
    more = dataclasses.replace(study, config=config)
    pairs = plugin_pairs(more, Setting("tiny", "scenes", "longclip"))
    assert [(a.loss, b.loss) for a, b in pairs] == [("hn", "infonce"), ("margin", "infonce")]
    tables, _ = plugin_table(more)
    assert [row[:2] for row in tables[0].rows][:3] == [
        ["longclip", "boosted, γ = 0.5"],
        ["longclip", "boosted, γ = 1"],
        ["hnclip", "boosted, γ = 0.5"],
    ]
    assert tables[0].rules == [2, 3] and latex(tables[:1]).count("\\midrule") == 3


def test_a_framework_without_a_pair_is_said(study):
    lone = study.ranks[(study.ranks["framework"] != "hnclip") | (study.ranks["loss"] != "hn")]
    tables, _ = plugin_table(dataclasses.replace(study, ranks=lone))
    assert "Without a pair of plain and boosted on all training data: hnclip." in tables[0].notes
    assert not any("Without a pair" in note for note in plugin_table(study)[0][0].notes)


def test_an_empty_table_says_why(study):
    bare = study.ranks[study.ranks["loss"] != "hn"]
    tables, rows = plugin_table(dataclasses.replace(study, ranks=bare))
    assert rows.empty and "has no framework with a boosted and a plain loss" in tables[0].notes[0]
    boosted, whole = study.ranks["loss"] == "hn", study.ranks["fraction"].isin([0, 100])
    apart = study.ranks[whole & ((boosted & (study.ranks["seed"] == 3)) | (~boosted & (study.ranks["seed"] == 2)))]
    tables, rows = plugin_table(dataclasses.replace(study, ranks=apart))
    assert rows.empty and "with a seed that they share" in tables[0].notes[0] and "|" not in markdown(tables)
