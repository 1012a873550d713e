from dataclasses import replace

import pytest
import yaml
from doctor_world import alike, lengths

from hnclip.doctor.repeats import find_repeats
from hnclip.doctor.start import Start
from hnclip.doctor.verdict import HEADLINES, adaptive, constant, judge
from hnclip.losses.entry import LossEntry
from hnclip.report.solved import Point

NONE = find_repeats(["1", "2"], ["one thing stands here", "and quite another there"])
TWICE = find_repeats(["1", "2"], ["one thing stands here", "one thing stands here"])
NEAR, APART = {"common": 3.0, "own": 1.0}, {"common": 0.3}
DATA = {
    "one": (1, lengths(), None),
    "few": (99, lengths(), alike(**NEAR)),
    "short": (200, lengths(words=8), alike(**NEAR)),
    "toy": (200, lengths(), alike(**NEAR, toy=True)),
    "flat": (200, lengths(), alike(common=30.0)),
    "apart": (200, lengths(), alike(**APART)),
    "kind": (200, lengths(), alike(**NEAR)),
}


def judged(kind, repeats=NONE, start=None, **said):
    images, length, found = DATA[kind]
    return judge(images, length, repeats, replace(found, **said) if said else found, start)


@pytest.mark.parametrize("kind", HEADLINES)
def test_each_kind_of_data_has_its_verdict_of_three_sentences(kind):
    found = judged(kind)
    assert (found.kind, found.headline) == (kind, HEADLINES[kind])
    assert len(found.sentences) == 3 and all(words.endswith(".") for words in found.sentences)


@pytest.mark.parametrize("kind", sorted(set(HEADLINES) - {"one", "few"}))
@pytest.mark.parametrize("trained", [True, False])
@pytest.mark.parametrize("repeats", [NONE, TWICE])
def test_the_suggested_losses_are_a_config(kind, trained, repeats):
    found = judged(kind, repeats, trained=trained).suggestion
    entries = yaml.safe_load(found.yaml)["losses"]
    assert entries == found.losses and "plain-tuned" in entries
    assert found.yaml.endswith(f"\n#   losses: [infonce, hn, {', '.join(entries)}]\n")
    for entry in entries.values():
        settings = 1
        for key, value in entry.items():
            settings *= len(value) if isinstance(value, list) else 1
            entry[key] = value[0] if isinstance(value, list) else value
        assert settings <= 8 and LossEntry(**entry).mask_duplicates == bool(repeats.exact)


def test_the_temperature_comes_first_and_the_boost_stands_beside_its_control():
    found = judged("kind")
    assert list(found.suggestion.losses) == ["plain-tuned", "boosted-tuned", "matched-tuned"]
    assert found.sentences[2].startswith("Tune the temperature of plain InfoNCE first")
    assert found.suggestion.margin == round(0.5 * DATA["kind"][2].geometry.mean, 2)


def test_no_boost_is_suggested_where_it_does_nothing():
    for kind in ("short", "flat", "apart"):
        assert "boosted-tuned" not in judged(kind).suggestion.losses
    assert judged("few").suggestion.losses == {} and judged("few").suggestion.yaml == ""


def test_a_margin_by_another_encoder_is_measured_anew():
    assert "margin-tuned" in judged("apart").suggestion.losses
    other = judged("apart", trained=False, encoder="sentences")
    assert "matched-tuned" in other.suggestion.losses and "margin-tuned" not in other.suggestion.losses
    assert "by another encoder than yours" in other.sentences[2]


def test_cosines_of_the_toy_have_no_part_in_the_verdict():
    found, other = judged("toy"), judge(200, lengths(), NONE, alike(**APART, toy=True), None)
    assert found.sentences == other.sentences and found.suggestion.margin is None


def test_the_parts_of_the_boost_are_those_of_its_formula():
    batch = DATA["kind"][2].batches[0]
    assert constant(batch, 100) == pytest.approx(50 * batch.mean)
    assert adaptive(batch, 100) == pytest.approx(50 * (batch.hardest - batch.mean))


def test_repeated_captions_ask_for_the_mask():
    (words,) = judged("kind", TWICE).remarks
    assert words.startswith("2 captions have the words") and "mask_duplicates" in words
    assert judged("kind").remarks == []


@pytest.mark.parametrize(
    ("few", "most", "words"), [(0.0, 0.0, "not saturated"), (0.4, 0.0, "larger true batch"), (0.9, 0.8, "lower scale")]
)
def test_solved_batches_say_what_is_lacking(few, most, words):
    points = [Point(16, 400, few, 0.1, 0.1, 0.1), Point(256, 25, most, 0.1, 0.1, 0.1)]
    (said,) = judged("kind", start=Start("given", False, 300, {100.0: points})).remarks
    assert words in said
    assert judged("kind", start=Start("tiny", True, 300, {100.0: points})).remarks == []
