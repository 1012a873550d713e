"""fp16 with a loss scaler, which only GPUs are let have: here on the CPU, to see that its step is a whole one."""

import pandas as pd
import pytest
import torch
from lightning_fabric import Fabric
from lightning_fabric.plugins.precision import MixedPrecision
from world import make_cell

from hnclip import train
from hnclip.store import read_json
from hnclip.train import Trainer


@pytest.fixture
def scaler(monkeypatch):
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    precision = MixedPrecision("16-mixed", "cpu", scaler)
    monkeypatch.setattr(train, "fabric_of", lambda recipe: Fabric(accelerator="cpu", devices=1, plugins=precision))
    return scaler


@pytest.mark.parametrize("chunk", [None, 2])
def test_the_gradient_is_bounded_after_it_is_unscaled(tmp_path, scaler, chunk):
    config, run = make_cell(tmp_path, recipe={"precision": "16-mixed", "clip_norm": 1e-3, "chunk": chunk, "epochs": 1})
    trainer, norms = Trainer(read_json(config), run), []
    step = trainer.optimiser.step

    def measured():
        gradients = [weight.grad for weight in trainer._weights() if weight.grad is not None]
        norms.append(float(torch.linalg.vector_norm(torch.stack([gradient.norm() for gradient in gradients]))))
        return step()

    trainer.optimiser.step = measured
    trainer.run()
    assert norms == pytest.approx([1e-3] * len(norms), rel=1e-2) and len(norms) == 3
    log = pd.read_parquet(run / "log.parquet")
    assert log.loc[log["kind"] == "train", "loss"].between(0, 10).all()
    assert scaler.get_scale() == 2.0**10
