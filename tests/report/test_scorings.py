"""Ranks under another score than the cosine are rows of the main table and nothing else."""

import dataclasses

import numpy
import pytest

from hnclip.report.difference_table import difference_table
from hnclip.report.efficiency_table import efficiency_table
from hnclip.report.fraction_table import fraction_table
from hnclip.report.main_table import main_table
from hnclip.report.methods import Setting, methods, rescored, setting_words, settings
from hnclip.report.plugin_table import plugin_table
from hnclip.report.writer import markdown

FINELIP = Setting("tiny", "scenes", "finelip")


@pytest.fixture(scope="module")
def study(study):
    """Two frameworks and one test split, since tables take their time."""
    few = study.ranks["framework"].isin(["hnclip", "finelip"]) & (study.ranks["target"] == "scenes/test")
    return dataclasses.replace(study, ranks=study.ranks[few])


@pytest.fixture(scope="module")
def without(study):
    """The study as if nothing had been re-scored."""
    return dataclasses.replace(study, ranks=study.ranks[study.ranks["scoring"] == "cosine"])


def test_rescored_rows_have_their_own_score_and_a_note(study):
    tables, rows = main_table(study)
    tokens = rows[rows["scoring"] == "tokens"]
    assert set(tokens["framework"]) == {"finelip"} and set(tokens["R@1"]) == {100.0} and len(tokens) == 2 * 3
    assert rows.loc[(rows["framework"] == "finelip") & (rows["scoring"] == "cosine"), "R@1"].max() < 90
    note = [note for note in tables[0].notes if note.startswith("Re-ranked by tokens (0.8 / 0.2): ")]
    assert len(note) == 1 and "0.8 times the cosine plus 0.2 times FineLIP's score of tokens" in note[0]


def test_the_main_table_without_them_is_as_it_was(study, without):
    here, there = main_table(study), main_table(without)
    kept = here[1][here[1]["scoring"] == "cosine"].reset_index(drop=True)
    assert kept.equals(there[1])
    assert not any(note.startswith("Re-ranked") for note in there[0][0].notes)


@pytest.mark.parametrize("make", [difference_table, plugin_table, fraction_table, efficiency_table])
def test_no_other_table_knows_them(study, without, make):
    assert markdown(make(study)[0]) == markdown(make(without)[0])
    assert make(study)[1].equals(make(without)[1])


def test_they_make_no_method_setting_or_size_of_their_own(study, without):
    assert settings(study) == settings(without) and methods(study, FINELIP) == methods(without, FINELIP)
    assert study.sizes == without.sizes
    assert [(m.loss, m.scoring) for m in rescored(study, methods(study, FINELIP))] == [
        ("infonce", "tokens"),
        ("hn", "tokens"),
    ]
    assert rescored(without, methods(without, FINELIP)) == [] and setting_words(study, FINELIP) == "finelip"


def test_a_framework_rescored_at_a_part_of_the_data_has_no_row(study):
    half = study.ranks.assign(fraction=numpy.where(study.ranks["scoring"] == "tokens", 50, study.ranks["fraction"]))
    _, rows = main_table(dataclasses.replace(study, ranks=half))
    assert set(rows["scoring"]) == {"cosine"}


def test_a_scoring_without_words_is_named_as_it_is(study):
    other = study.ranks.assign(scoring=study.ranks["scoring"].replace("tokens", "odd"))
    tables, _ = main_table(dataclasses.replace(study, ranks=other))
    assert tables[0].rows[-1][0] == "finelip, scored by odd"
    assert any(note.startswith("Scored by odd: ") for note in tables[0].notes)
