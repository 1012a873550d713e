"""The project's own files agree with one another."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import hnclip

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCKED = dict(
    line.split("==") for line in (ROOT / "envs/constraints.txt").read_text().lower().splitlines() if line[0] != "#"
)


def test_every_dependency_is_locked():
    wanted = [*PROJECT["dependencies"], *(item for part in PROJECT["optional-dependencies"].values() for item in part)]
    names = {re.match(r"[\w-]+", item)[0].lower() for item in wanted} - {PROJECT["name"]}
    assert names <= set(LOCKED)


@pytest.mark.parametrize("role", ["train", "report", "prepare"])
def test_the_environments_pin_what_the_constraints_lock(role):
    listed = yaml.safe_load((ROOT / f"envs/{role}.yaml").read_text())["dependencies"][-1]["pip"]
    pins = dict(item.lower().split("==") for item in listed)
    assert pins == {name: LOCKED[name] for name in pins}
    assert len(pins) > 3
    assert ("torch" in pins) == (role == "train")


def test_the_version_is_the_same_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == hnclip.__version__
    assert f"## {hnclip.__version__} " in (ROOT / "CHANGELOG.md").read_text()
