from dataclasses import dataclass, field
from typing import Literal

import pytest

from hnclip.options import from_dict, nearest


@dataclass(frozen=True)
class Recipe:
    epochs: int
    lr: float = 1e-3
    schedule: Literal["cosine", "flat"] = "cosine"
    objects: tuple[int, int] = (3, 5)
    names: tuple[str, ...] = ()
    pairs: dict[str, int] = field(default_factory=dict)
    clip: float | None = None
    resume: bool = False

    def __post_init__(self):
        if self.epochs < 1:
            raise ValueError("epochs must be at least 1")


def test_lists_become_tuples_and_whole_numbers_floats():
    given = {"epochs": 2, "lr": 1, "objects": [1, 2], "names": ["a", "b"], "pairs": {"train": 8}, "clip": 1}
    recipe = from_dict(Recipe, given, "recipe")
    assert recipe == Recipe(2, 1.0, "cosine", (1, 2), ("a", "b"), {"train": 8}, 1.0)
    assert isinstance(recipe.lr, float) and isinstance(recipe.clip, float)


def test_every_fault_is_named_at_once():
    with pytest.raises(ValueError) as caught:
        from_dict(Recipe, {"epoch": 3, "schedule": "cosin", "resume": 1, "zzz": 0}, "recipe of longclip")
    message = str(caught.value)
    assert message.startswith("recipe of longclip:")
    assert "unknown option 'epoch' (did you mean 'epochs'?); known: epochs, lr" in message
    assert "unknown option 'zzz'; known" in message
    assert "'epochs' is missing (expected a whole number)" in message
    assert "expected 'cosine' or 'flat', got 'cosin'" in message
    assert "'resume': expected true or false, got 1" in message


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"epochs": True}, "expected a whole number, got True"),
        ({"epochs": 2.0}, "expected a whole number, got 2.0"),
        ({"epochs": 2, "objects": [1, 2, 3]}, "a list of 2"),
        ({"epochs": 2, "pairs": {"train": "8"}}, "expected a whole number, got '8'"),
        ({"epochs": 2, "lr": "1e-3"}, "1.0e-03"),
        ({"epochs": 2, "clip": "no"}, "a number or null"),
        ({"epochs": 0}, "epochs must be at least 1"),
        (["epochs"], "expected options by name"),
    ],
)
def test_wrong_values_are_refused(options, said):
    with pytest.raises(ValueError, match=said.replace("(", r"\(")):
        from_dict(Recipe, options, "recipe")


def test_nearest_ignores_case_and_knows_when_nothing_is_near():
    assert nearest("Caption", ["image", "caption"]) == " (did you mean 'caption'?)"
    assert nearest("q", ["image", "caption"]) == ""
