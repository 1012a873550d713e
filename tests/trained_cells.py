"""Tiny cells trained, at once or killed on their way, and whether two runs ended with the same weights."""

import pytest
import torch
from safetensors.torch import load_file
from world import make_cell

from hnclip import train
from hnclip.train import Trainer


def weights(run):
    return load_file(run / "weights.safetensors")


def same(run, other):
    a, b = weights(run), weights(other)
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def trained(folder, **changes):
    config, run = make_cell(folder, **changes)
    train.main(config, run)
    return run


def killed_on_the_way(folder, steps, **changes):
    """Trains a cell, stopped after so many optimiser steps as a kill would stop it, then to its end."""
    config, run = make_cell(folder, **changes)
    whole_step = Trainer._optimise

    def step_until_killed(trainer, *inputs):
        if trainer.progress.step == steps:
            raise KeyboardInterrupt
        whole_step(trainer, *inputs)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Trainer, "_optimise", step_until_killed)
        with pytest.raises(KeyboardInterrupt):
            train.main(config, run)
    assert (run / "checkpoint.pt").exists() == (steps >= 3)
    assert not (run / "weights.safetensors").exists()
    train.main(config, run)
    return run
