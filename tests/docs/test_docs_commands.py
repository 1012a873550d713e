"""Every command of the pages runs, as it stands or in a smaller form, but for those that have tests of their own."""

import pytest
from docs_how import SAYS
from docs_pages import commands
from docs_world import World
from test_docs_pages import has_tests

pytestmark = pytest.mark.slow

RUN = [command for command in commands() if not has_tests(command.text)]


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> World:
    return World(tmp_path_factory.mktemp("docs"))


@pytest.mark.parametrize("command", RUN, ids=lambda command: command.text)
def test_a_command_of_the_pages_runs(world, command):
    done = world.run(command.text)
    assert done.returncode == 0, f"{command.place}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    assert SAYS.get(command.text, "") in done.stdout + done.stderr


def test_the_programs_are_those_of_the_tests_whatever_make_was_told(tmp_path, monkeypatch):
    """Else a second environment of several GB is installed, as once where VENV was set."""
    monkeypatch.setenv("VENV", "elsewhere")
    monkeypatch.setenv("MAKEFLAGS", "-- VENV=elsewhere")
    done = World(tmp_path).run("make --dry-run demo")
    assert done.returncode == 0 and "pip install" not in done.stdout and "elsewhere" not in done.stdout
    assert ".venv/bin/python -m snakemake" in done.stdout
