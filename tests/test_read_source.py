"""Attributes of a framework read from its source are those of the imported class, or nothing is said of them."""

import subprocess
import sys
from dataclasses import fields
from importlib import import_module
from typing import get_type_hints

import pytest

from hnclip import frameworks
from hnclip.frameworks.base import Framework
from hnclip.options import from_dict

HEAD = """
from dataclasses import dataclass
from typing import Literal
import math

import torch

from hnclip.frameworks import goal
from hnclip.frameworks.base import Framework
from hnclip.frameworks.goal import Goal, Options as GoalOptions
from hnclip.frameworks.lora import Lora
"""
# The body of a file, and options that the training refuses.
TOLD = {
    "a subclass of another's options": (
        "@dataclass(frozen=True)\nclass Options(goal.Options):\n    edge_weight: float = 1.0\n"
        "class Mine(goal.Goal):\n    Options = Options\n    fields = (*goal.Goal.fields, 'edge')\n",
        {"edge_weight": "much", "span_weight": -1},
    ),
    "through the class": (
        "@dataclass(frozen=True)\nclass Options(Goal.Options):\n    edge_weight: float = 1.0\n"
        "class Mine(Goal):\n    Options = Options\n",
        {"placing": "near"},
    ),
    "another's options as they are": ("class Mine(Lora):\n    pass\n", {"rank": 0}),
    "its own constants and functions": (
        "MOST = math.sqrt(4)\nKINDS = ('near', 'far')\n"
        "def share(value):\n    if not 0 <= value <= MOST:\n"
        "        raise ValueError(f'{value} is no share of {MOST}')\n"
        "@dataclass(frozen=True)\nclass Options:\n    share: float = MOST / 2\n"
        "    def __post_init__(self):\n        share(self.share)\n"
        "class Mine(Lora):\n    Options = Options\n",
        {"share": 3},
    ),
    "options written inside the framework": (
        "class Mine(Framework):\n"
        "    @dataclass(frozen=True)\n    class Options:\n        needed: int\n        kind: Literal['a', 'b'] = 'a'\n",
        {"kind": "c"},
    ),
    "annotations left for later": (
        "@dataclass(frozen=True)\nclass Options(GoalOptions):\n    edge_weight: Literal[1, 2] = 1\n"
        "class Mine(Lora):\n    Options = Options\n",
        {"edge_weight": 3},
    ),
    "none": ("class Mine(Framework):\n    pass\n", {"rank": 1}),
}
# Bodies of which only an import tells what they mean.
UNTOLD = {
    "a default of torch's": "@dataclass(frozen=True)\nclass Options:\n    share: float = torch.pi\n",
    "a check of torch's": (
        "@dataclass(frozen=True)\nclass Options:\n    share: float = 0.5\n"
        "    def __post_init__(self):\n        torch.tensor(self.share)\n"
    ),
    "an import within": (
        "@dataclass(frozen=True)\nclass Options:\n    share: float = 0.5\n"
        "    def __post_init__(self):\n        import torch\n"
    ),
    "a name given twice": "WIDTH = 1\nWIDTH = 2\n@dataclass(frozen=True)\nclass Options:\n    width: int = WIDTH\n",
    "a name given under a condition": (
        "if torch.cuda.is_available():\n    WIDTH = 1\nelse:\n    WIDTH = 2\n"
        "@dataclass(frozen=True)\nclass Options:\n    width: int = WIDTH\n"
    ),
}


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes a framework's file into a folder that belongs to the package for a while; gives its kind."""
    kind = "written_here"

    def write(body: str, head: str = HEAD) -> str:
        (tmp_path / f"{kind}.py").write_text(head + body)
        monkeypatch.setattr(frameworks, "__path__", [*frameworks.__path__, str(tmp_path)])
        return kind

    yield write
    sys.modules.pop(f"hnclip.frameworks.{kind}", None)


def imported(kind: str) -> type[Framework]:
    module = import_module(f"hnclip.frameworks.{kind}")
    (found,) = [
        each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Framework) and each.__module__ == module.__name__
    ]
    return found


def said(check, *arguments) -> str:
    """The message of a refusal, empty where nothing is refused."""
    try:
        check(*arguments)
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("kind", frameworks.names())
def test_a_shipped_framework_is_read_as_it_is(kind):
    own = imported(kind)
    read = frameworks._told(kind, "Options")
    assert read is not None and read is not own.Options
    assert [(each.name, each.default) for each in fields(read)] == [
        (each.name, each.default) for each in fields(own.Options)
    ]
    assert get_type_hints(read) == get_type_hints(own.Options)
    assert (frameworks.fields(kind), frameworks.needs(kind)) == (own.fields, own.needs)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("finelip", {"ratio": 2, "margin": -1}),
        ("finelip", {"negatives": "hard"}),
        ("finelip", {"ratoi": 0.2, "module_lr": "2e-4"}),
        ("goal", {"local_weight": -1, "span_weight": -1}),
        ("dora", {"rank": 0}),
        ("longclip", {"rank": 1}),
        ("longclip_pcm", {"pca": "local"}),
        ("structxlip", {"floors": [0.5, 0.5]}),
        ("adapter", {"layers": True}),
    ],
)
def test_options_are_refused_in_the_words_of_the_training(kind, options):
    refused = said(frameworks.check_options, kind, options, "here")
    assert refused and refused == said(from_dict, imported(kind).Options, options, "here")


@pytest.mark.parametrize("name", TOLD)
@pytest.mark.parametrize("head", [HEAD, "from __future__ import annotations\n" + HEAD], ids=["plain", "postponed"])
def test_what_a_file_builds_on_is_read_with_it(written, name, head):
    body, options = TOLD[name]
    kind = written(body, head)
    refused = said(frameworks.check_options, kind, options, "here")
    own = imported(kind)
    assert refused and refused == said(from_dict, own.Options, options, "here")
    assert frameworks.fields(kind) == own.fields


@pytest.mark.parametrize("name", UNTOLD)
def test_what_only_an_import_tells_is_left_to_the_training(written, name):
    kind = written(UNTOLD[name] + "class Mine(Lora):\n    Options = Options\n")
    assert said(frameworks.check_options, kind, {"unknown": 1}, "here") == ""
    assert said(from_dict, imported(kind).Options, {"unknown": 1}, "here")


def test_a_check_that_fails_otherwise_is_left_to_the_training(written):
    kind = written(
        "@dataclass(frozen=True)\nclass Options:\n    share: float = 0.5\n"
        "    def __post_init__(self):\n        self.share / 0\n"
        "class Mine(Lora):\n    Options = Options\n"
    )
    frameworks.check_options(kind, {}, "here")
    with pytest.raises(ZeroDivisionError):
        imported(kind).Options()


def test_no_framework_is_imported_for_its_options():
    code = (
        "import sys\nfrom hnclip import frameworks\n"
        "for kind in frameworks.names():\n    frameworks.check_options(kind, {}, kind)\n"
        "print('torch' in sys.modules, [name for name in sys.modules if name.startswith('hnclip.frameworks.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "False []\n", done.stderr
