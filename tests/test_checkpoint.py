"""Checkpoints go on elsewhere than where they were made."""

import torch

from hnclip.checkpoint import Progress, load_checkpoint, save_checkpoint


def test_a_run_goes_on_where_fewer_gpus_are_seen(tmp_path, monkeypatch):
    def fewer(states):
        assert len(states) < 2, "a state of a GPU that is not there"

    model = torch.nn.Linear(2, 1)
    optimiser = torch.optim.AdamW(model.parameters())
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_rng_state_all", lambda: [torch.get_rng_state()] * 2)
    save_checkpoint(tmp_path / "checkpoint.pt", {}, Progress(step=3), model, optimiser, None)
    monkeypatch.setattr(torch.cuda, "set_rng_state_all", fewer)
    assert load_checkpoint(tmp_path / "checkpoint.pt", {}, model, optimiser, None).step == 3
