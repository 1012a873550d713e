"""A cell is trained by as many processes as its recipe says, or not at all."""

import pytest
from world import RECIPE

from hnclip.devices import fabric_of
from hnclip.recipe import Recipe


@pytest.mark.parametrize(("gpus", "started"), [(1, 4), (4, 2)])
def test_other_processes_than_the_recipes_are_refused(monkeypatch, gpus, started):
    """Four that each take themselves for the only one would write one folder."""
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "7")
    monkeypatch.setenv("WORLD_SIZE", str(started))
    with pytest.raises(ValueError, match=f"gpus {gpus} on nodes 1 are {gpus} processes, and {started} started"):
        fabric_of(Recipe(**{**RECIPE, "gpus": gpus}))
