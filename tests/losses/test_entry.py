"""Loss entries: what each base and boost reads, and what is refused."""

from dataclasses import fields
from pathlib import Path

import pytest

from hnclip.losses.entry import BASE_KEYS, STRENGTH, LossEntry
from hnclip.losses.objective import BASES, BOOSTS

KEYS = {"infonce": {}, "reweighted": {"beta": 0.25}, "hardest": {"hinge": 0.2}, "sigmoid": {"threshold": 0.3}}
KEYS["soft"] = {"mix": 0.2, "sharpness": 10.0}


@pytest.mark.parametrize("boost", ["none", *BOOSTS])
@pytest.mark.parametrize("base", BASES)
def test_every_base_goes_with_every_boost(base, boost):
    strength = {} if boost == "none" else {STRENGTH[boost]: 0.3}
    entry = LossEntry(base=base, boost=boost, **KEYS[base], **strength, mask_duplicates=True)
    assert entry.base_options == KEYS[base] and entry.boost_options == strength


def test_names_and_functions_agree():
    assert set(BASE_KEYS) == set(BASES) == set(KEYS) and set(STRENGTH) == set(BOOSTS)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"base": "siglipp"}, r"unknown base 'siglipp'"),
        ({"base": "sigmoids"}, r"did you mean 'sigmoid'"),
        ({"boost": "caption", "gamma": 0.5}, r"unknown boost 'caption' \(did you mean 'captions'"),
        ({"boost": "captions"}, "boost 'captions' needs `gamma`"),
        ({"boost": "constant", "gamma": 0.5}, "needs `margin`; boost 'constant' does not read `gamma`"),
        ({"boost": "captions", "gamma": 0.5, "margin": 0.1}, "boost 'captions' does not read `margin`"),
        ({"gamma": 0.5}, "boost 'none' does not read `gamma`"),
        ({"beta": 0.5}, "base 'infonce' does not read `beta`"),
        ({"base": "reweighted"}, "base 'reweighted' needs `beta`"),
        ({"base": "soft", "mix": 0.2}, "base 'soft' needs `sharpness`"),
        ({"base": "soft", "mix": 1.5, "sharpness": 0.0}, "share from 0 to 1, not 1.5|inverse temperature above 0"),
        ({"base": "hardest", "hinge": 0.2, "scale": 33.0}, "base 'hardest' does not read `scale`"),
        ({"base": "hardest", "hinge": -0.2}, "`hinge` must be at least 0"),
        ({"base": "sigmoid", "threshold": 0.3, "label_smoothing": 0.1}, "does not read `label_smoothing`"),
        ({"base": "sigmoid", "threshold": float("nan")}, "`threshold` must be finite"),
        ({"boost": "matched", "gamma": -0.5}, "at least 0, not -0.5; below 0 it belongs to boost 'captions'"),
        ({"label_smoothing": 1.0}, "below 1, not 1.0"),
        ({"scale": 0.0}, "inverse temperature above 0"),
    ],
)
def test_wrong_entries_are_refused(entry, message):
    with pytest.raises(ValueError, match=message):
        LossEntry(**entry)


def test_every_fault_is_named_at_once():
    with pytest.raises(ValueError) as caught:
        LossEntry(base="soft", boost="frozen", beta=0.5, scale=-1.0)
    for words in ("needs `mix`", "needs `sharpness`", "needs `gamma`", "not read `beta`", "`scale` is an inverse"):
        assert words in str(caught.value)


def test_a_negative_gamma_is_the_opposite_sign_of_captions():
    assert LossEntry(boost="captions", gamma=-0.5).gamma == -0.5


def test_the_page_on_losses_tells_every_base_boost_and_key():
    page = (Path(__file__).parents[2] / "docs" / "losses.md").read_text(encoding="utf-8")
    keys = [field.name for field in fields(LossEntry) if field.name not in ("base", "boost")]
    assert [name for name in (*BASE_KEYS, "none", *STRENGTH, *keys) if f"`{name}`" not in page] == []
