"""The schedule, and recipes that are refused."""

import math

import pytest
from world import RECIPE

from hnclip.options import from_dict
from hnclip.recipe import Recipe, lr_factor


def test_warm_up_then_cosine():
    recipe = from_dict(Recipe, {**RECIPE, "warmup": 0.25}, "recipe")
    factors = [lr_factor(recipe, step, 20) for step in range(20)]
    assert factors[:5] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert factors[5:] == pytest.approx([0.5 * (1 + math.cos(math.pi * step / 15)) for step in range(15)])


def test_constant_after_warm_up():
    recipe = from_dict(Recipe, {**RECIPE, "warmup": 0.1, "schedule": "constant"}, "recipe")
    assert [lr_factor(recipe, step, 10) for step in (0, 5, 9)] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch": 1}, "`batch` must be at least 2"),
        ({"chunk": 0}, "`chunk` must be at least 1 or null"),
        ({"warmup": 200}, "`warmup`"),
        ({"schedule": "cosin"}, "unknown `schedule` 'cosin'"),
        ({"precision": "fp16"}, "unknown `precision` 'fp16'"),
        ({"scale_clamp": [4.6, 0.0]}, "must rise"),
        ({"acumulate": 8}, "did you mean 'accumulate'"),
        ({"lr": "1e-3"}, "a text"),
    ],
)
def test_wrong_recipes_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        from_dict(Recipe, {**RECIPE, **changes}, "recipe")
