"""What is compared with what, and what an empty table of differences says."""

import dataclasses
from pathlib import Path

import pytest

from hnclip.report import estimates
from hnclip.report.difference_table import difference_table
from hnclip.report.methods import Setting, methods
from hnclip.report.style import look as look_of
from hnclip.report.summary import summary

LONGCLIP = Setting("tiny", "scenes", "longclip")


def test_an_empty_table_of_differences_says_why(study):
    hn, plain = study.ranks["loss"] == "hn", study.ranks["loss"] == "infonce"
    apart = study.ranks[(hn & (study.ranks["seed"] == 2)) | (plain & (study.ranks["seed"] == 3))]
    tables, _ = difference_table(dataclasses.replace(study, ranks=apart))
    assert [table.notes for table in tables] == [["No two methods that the study compares share seeds here."]] * 2
    half = study.ranks[~hn | (study.ranks["target"] == "scenes/test")]
    tables, _ = difference_table(dataclasses.replace(study, ranks=half[half["loss"] != "margin"]))
    assert tables[0].rows and tables[1].rows == []
    assert tables[1].notes == ["No two methods that the study compares were both evaluated on scenes/unseen."]


@pytest.fixture
def scaled(study):
    """The study with the margin's cells as a boost at s = 17, and the plain ones at s = 17 beside it."""
    losses = study.config["losses"] | {"margin": study.config["losses"]["hn"] | {"scale": 17.0}}
    return dataclasses.replace(study, config=study.config | {"losses": losses})


def test_a_boost_at_a_fixed_scale_meets_plain_at_that_scale(scaled):
    pairs = [(a.loss, b.loss, b.kind) for a, b in estimates.comparisons(scaled, LONGCLIP)]
    assert ("hn", "infonce", "plain") in pairs and ("margin", "infonce-s17", "scale") in pairs
    assert ("margin", "infonce", "plain") not in pairs and ("hn", "infonce-s17", "scale") not in pairs
    tables, _ = difference_table(scaled)
    assert ["boosted, γ = 0.5, s = 17.0", "plain, s = 17"] in [row[1:3] for row in tables[0].rows]
    text = summary(scaled, Path("tables"))
    assert "  plain, s = 17 " in text and "(boosted, γ = 0.5, s = 17.0) − plain, s = 17 " in text
    assert "(boosted, γ = 0.5) − plain " in text


def test_a_boost_at_a_scale_without_a_plain_twin_meets_plain(scaled):
    scaled = dataclasses.replace(scaled, ranks=scaled.ranks[scaled.ranks["loss"] != "infonce-s17"])
    pairs = [(a.loss, b.loss, b.kind) for a, b in estimates.comparisons(scaled, LONGCLIP)]
    assert ("margin", "infonce", "plain") in pairs and ("margin", "infonce-s100", "scale") not in pairs


def test_a_boost_at_a_fixed_scale_has_its_family_of_colour_and_its_own_dash(scaled):
    found = {method.loss: look for method, look in look_of(scaled, methods(scaled, LONGCLIP)).items()}
    assert found["margin"]["color"] == found["hn"]["color"] != found["infonce-s17"]["color"]
    assert found["margin"]["linestyle"] != found["hn"]["linestyle"]
