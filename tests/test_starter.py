"""The embedded backbone: its recipe, its data, and that the shipped file is what it says."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch

from hnclip.data.scene import unseen
from hnclip.models.checkpoints import load_backbone, provenance
from hnclip.models.load import STARTER
from hnclip.starter import Recipe, lr_at, pictures, pretrain, scale_at, score

SMALL = replace(Recipe(), scenes=24, steps=30, batch=8, warmup=3)


@pytest.fixture(scope="module")
def shipped():
    return provenance(Path(str(STARTER)))


def test_the_shipped_file_names_the_recipe_that_the_code_has(shipped):
    assert shipped["recipe"] == json.loads(json.dumps(asdict(Recipe())))


@pytest.mark.parametrize("number", [0, 1])
def test_the_shipped_scores_are_those_of_the_shipped_weights(shipped, number):
    recorded = shipped["scores"][number]
    again = score(load_backbone(Path(str(STARTER))), Recipe().seed, (1, 8)[number])
    assert {**again, "t2i_r1": 0, "i2t_r1": 0} == {**recorded, "t2i_r1": 0, "i2t_r1": 0}
    for direction in ("t2i_r1", "i2t_r1"):  # another processor may turn a near tie
        assert again[direction] == pytest.approx(recorded[direction], abs=0.02)


def test_no_picture_of_the_pre_training_has_a_held_out_look():
    scenes, pixels = pictures(SMALL)
    looks = [(thing.shape, thing.colour) for scene in scenes for thing in scene.things]
    assert len(looks) > 50 and not any(unseen(*look) for look in looks)
    assert pixels.shape == (24, 48, 48, 3) and pixels.std() > 10


@pytest.mark.slow
def test_training_lowers_the_loss_and_repeats():
    losses = []
    first = pretrain(SMALL, lambda step, loss, backbone: losses.append(loss))
    again = pretrain(SMALL)
    assert sum(losses[-5:]) < sum(losses[:5])
    for a, b in zip(first.parameters(), again.parameters(), strict=True):
        assert torch.equal(a, b)


def test_the_schedules():
    recipe = Recipe()
    assert scale_at(recipe, 0) == pytest.approx(14.3) and scale_at(recipe, recipe.steps - 1) == pytest.approx(100.0)
    assert lr_at(recipe, 0) == recipe.lr / recipe.warmup and lr_at(recipe, recipe.warmup) == recipe.lr
    assert lr_at(recipe, recipe.steps - 1) < recipe.lr / 1000
