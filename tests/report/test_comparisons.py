"""What is compared with what, and what an empty table of differences says."""

import dataclasses

import pandas
import pytest

from hnclip.report.comparisons import comparisons
from hnclip.report.difference_table import difference_table
from hnclip.report.methods import Setting, methods
from hnclip.report.style import look as look_of

LONGCLIP = Setting("tiny", "scenes", "longclip")


def test_an_empty_table_of_differences_says_why(study):
    hn, plain = study.ranks["loss"] == "hn", study.ranks["loss"] == "infonce"
    apart = study.ranks[(hn & (study.ranks["seed"] == 2)) | (plain & (study.ranks["seed"] == 3))]
    tables, _ = difference_table(dataclasses.replace(study, ranks=apart))
    assert [table.notes for table in tables] == [["No two methods that the study compares share seeds here."]] * 2
    half = study.ranks[~hn | (study.ranks["target"] == "scenes/test")]
    tables, _ = difference_table(dataclasses.replace(study, ranks=half[half["loss"].isin(["hn", "infonce"])]))
    assert tables[0].rows and tables[1].rows == []
    assert tables[1].notes == ["No two methods that the study compares were both evaluated on scenes/unseen."]


@pytest.fixture
def scaled(study):
    """The study with the margin's cells as a boost at s = 17, and the plain ones at s = 17 beside it."""
    losses = study.config["losses"] | {"margin": study.config["losses"]["hn"] | {"scale": 17.0}}
    return dataclasses.replace(study, config=study.config | {"losses": losses})


def test_a_boost_at_a_fixed_scale_meets_plain_at_that_scale(scaled):
    pairs = [(a.loss, b.loss, b.kind) for a, b in comparisons(scaled, LONGCLIP)]
    assert ("hn", "infonce", "plain") in pairs and ("margin", "infonce-s17", "scale") in pairs
    assert ("margin", "infonce", "plain") not in pairs and ("hn", "infonce-s17", "scale") not in pairs
    tables, _ = difference_table(scaled)
    assert ["boosted, γ = 0.5, s = 17", "plain, s = 17"] in [row[1:3] for row in tables[0].rows]


def test_a_boost_at_a_scale_without_a_plain_twin_meets_plain(scaled):
    scaled = dataclasses.replace(scaled, ranks=scaled.ranks[scaled.ranks["loss"] != "infonce-s17"])
    pairs = [(a.loss, b.loss, b.kind) for a, b in comparisons(scaled, LONGCLIP)]
    assert ("margin", "infonce", "plain") in pairs and ("margin", "infonce-s100", "scale") not in pairs


CONTROLS = {
    "plain": {"base": "infonce", "boost": "none"},
    "plain-s33": {"base": "infonce", "boost": "none", "scale": 33},
    "plain-tuned": {"base": "infonce", "boost": "none", "scale": [None, 33]},
    "hn": {"base": "infonce", "boost": "captions", "gamma": 0.5},
    "hn-100": {"base": "infonce", "boost": "captions", "gamma": 1.0},
    "hn-s33": {"base": "infonce", "boost": "captions", "gamma": 0.5, "scale": 33},
    "hn-tuned": {"base": "infonce", "boost": "captions", "gamma": [0.25, 0.5]},
    "margin": {"base": "infonce", "boost": "matched", "gamma": 0.5},
    "margin-tuned": {"base": "infonce", "boost": "matched", "gamma": [0.25, 0.5]},
    "constant-2": {"base": "infonce", "boost": "constant", "margin": 0.2},
    "constant-4": {"base": "infonce", "boost": "constant", "margin": 0.42},
    "centred": {"base": "infonce", "boost": "centred", "gamma": 0.5},
    "smooth": {"base": "infonce", "boost": "none", "label_smoothing": 0.1},
    "sigmoid": {"base": "sigmoid", "boost": "none", "threshold": 0.5},
    "sigmoid-hn": {"base": "sigmoid", "boost": "captions", "gamma": 0.5, "threshold": 0.5},
}
MET = {
    "plain-tuned": ["plain"],
    "hn": ["plain", "margin", "constant-2", "constant-4", "centred", "plain-tuned"],
    "hn-100": ["plain", "constant-2", "constant-4", "plain-tuned"],
    "hn-s33": ["plain-s33", "plain-tuned"],
    "hn-tuned": ["plain-tuned", "margin-tuned"],
    "margin": ["plain", "plain-tuned"],
    "margin-tuned": ["plain-tuned"],
    "constant-2": ["plain"],
    "constant-4": ["plain"],
    "centred": ["plain"],
    "smooth": ["plain"],
    "sigmoid": ["plain"],
    "sigmoid-hn": ["sigmoid"],
}


def test_each_control_meets_its_own(study):
    """Tuned with tuned, fixed scale with fixed scale, equal strengths; each pair once."""
    one = study.ranks[(study.ranks["loss"] == "infonce") & (study.ranks["framework"] == "longclip")]
    one = one[(one["fraction"] == 100) & (one["seed"] == 1)]
    ranks = pandas.concat([one.assign(loss=name) for name in CONTROLS])
    choices = {
        ("tiny", "scenes", "longclip", name, 100): {"chosen": "x", "settings": [{"name": "x", "entry": CONTROLS["hn"]}]}
        for name in CONTROLS
        if name.endswith("tuned")
    }
    config = study.config | {"losses": CONTROLS}
    pairs = comparisons(dataclasses.replace(study, config=config, ranks=ranks, choices=choices), LONGCLIP)
    met = {name: sorted(b.loss for a, b in pairs if a.loss == name) for name in CONTROLS}
    assert {name: found for name, found in met.items() if found} == {name: sorted(found) for name, found in MET.items()}
    assert len(pairs) == len(set(pairs))


def test_a_boost_at_a_fixed_scale_has_its_family_of_colour_and_its_own_dash(scaled):
    found = {method.loss: look for method, look in look_of(scaled, methods(scaled, LONGCLIP)).items()}
    assert found["margin"]["color"] == found["hn"]["color"] != found["infonce-s17"]["color"]
    assert found["margin"]["linestyle"] != found["hn"]["linestyle"]
