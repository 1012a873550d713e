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
    "constants of a module that needs torch": (
        "from hnclip.losses.principal import COMPONENTS\n"
        "@dataclass(frozen=True)\nclass Options:\n    most: int = COMPONENTS\n"
        "    def __post_init__(self):\n        if self.most > COMPONENTS:\n            raise ValueError('too many')\n"
        "class Mine(Lora):\n    Options = Options\n",
        {"most": 33},
    ),
    "named from its own place": (
        "from . import dora\nfrom .lora import Lora as Low\n"
        "@dataclass(frozen=True)\nclass Options(dora.Dora.Options):\n    most: int = 1\n"
        "class Mine(Low):\n    Options = Options\n",
        {"most": "much", "rank": 0},
    ),
    "none": ("class Mine(Framework):\n    pass\n", {"rank": 1}),
}
# Bodies of which only an import tells whether {"share": 0.5} is allowed.
UNTOLD = {
    "a check by torch": (
        "@dataclass(frozen=True)\nclass Options:\n    share: float = 0.2\n"
        "    def __post_init__(self):\n"
        "        if torch.tensor(self.share) < 1:\n            raise ValueError('small')\n"
    ),
    "a check that torch is true or false of": (
        "@dataclass(frozen=True)\nclass Options:\n    share: float = 0.2\n"
        "    def __post_init__(self):\n        import torch\n"
        "        if torch.tensor(self.share).isfinite():\n            raise ValueError('finite')\n"
    ),
    "a list of torch's": (
        "@dataclass(frozen=True)\nclass Options:\n    share: float = 0.2\n"
        "    def __post_init__(self):\n        if self.share in torch.linspace(0, 1, 3):\n"
        "            raise ValueError('on the grid')\n"
    ),
    "a constant of torch's": (
        "@dataclass(frozen=True)\nclass Options:\n    share: float = 0.2\n"
        "    def __post_init__(self):\n        if self.share < torch.pi:\n            raise ValueError('below')\n"
    ),
    "a condition of torch's": (
        "if torch.float32 == torch.get_default_dtype():\n    LEAST = 1\nelse:\n    LEAST = 0\n"
        "@dataclass(frozen=True)\nclass Options:\n    share: float = 2.0\n"
        "    def __post_init__(self):\n        if self.share < LEAST:\n            raise ValueError('below')\n"
    ),
    "a name that torch has": (
        "LEAST = {'float32': 1}[str(torch.get_default_dtype()).removeprefix('torch.')]\n"
        "@dataclass(frozen=True)\nclass Options:\n    share: float = 2.0\n"
        "    def __post_init__(self):\n        if self.share < LEAST:\n            raise ValueError('below')\n"
    ),
}


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes a framework's file into a folder that belongs to the package for a while; gives its kind."""
    kind = "written_here"

    def write(body: str) -> str:
        (tmp_path / f"{kind}.py").write_text(HEAD + body)
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
    read = frameworks._told(kind).Options
    assert read is not own.Options
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
def test_what_a_file_builds_on_is_read_with_it(written, name):
    body, options = TOLD[name]
    kind = written(body)
    refused = said(frameworks.check_options, kind, options, "here")
    own = imported(kind)
    assert refused and refused == said(from_dict, own.Options, options, "here")
    assert frameworks.fields(kind) == own.fields


@pytest.mark.parametrize("name", UNTOLD)
def test_what_only_an_import_tells_is_left_to_the_training(written, name):
    kind = written(UNTOLD[name] + "class Mine(Lora):\n    Options = Options\n")
    assert said(frameworks.check_options, kind, {"share": 0.5}, "here") == ""
    assert said(from_dict, imported(kind).Options, {"share": 0.5}, "here")


def test_a_file_that_is_no_python_is_told_before_anything_runs(written):
    kind = written("def half(:\n")
    with pytest.raises(ValueError, match=rf"the file of framework '{kind}' is no Python: .*line \d+"):
        frameworks.check_options(kind, {}, "here")
    with pytest.raises(ValueError, match="is no Python"):
        frameworks.fields(kind)


def test_no_framework_is_imported_for_its_options():
    code = (
        "import sys\nfrom hnclip import frameworks\n"
        "for kind in frameworks.names():\n    frameworks.check_options(kind, {}, kind)\n"
        "print('torch' in sys.modules, [name for name in sys.modules if name.startswith('hnclip.frameworks.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "False []\n", done.stderr
