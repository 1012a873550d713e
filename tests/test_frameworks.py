"""What every framework must do, whatever its method; the trainer's own tests are in test_train*.py."""

import copy

import numpy as np
import pytest
import torch
from world import BACKBONE, entry_of, make_cell

from hnclip import frameworks, train
from hnclip.data.split import open_split
from hnclip.encode import encode_split
from hnclip.frameworks.base import Step
from hnclip.losses.objective import LossEntry, contrastive
from hnclip.models.checkpoints import load_backbone
from hnclip.models.load import backbone_from
from hnclip.store import read_json

KINDS = frameworks.names()
BOOSTED = contrastive(LossEntry(boost="captions", gamma=0.5), torch.Generator())
NOTHING = ("has_crop", "has_edge", "has_edge_crop")  # what a batch may lack of


@pytest.fixture(scope="module", params=KINDS)
def trainer(request, tmp_path_factory):
    """A trainer of the framework, before its first step, with all the inputs that it reads."""
    folder = tmp_path_factory.mktemp(request.param)
    config, run = make_cell(folder, framework=entry_of(request.param), recipe={"clip_norm": None})
    return train.Trainer(read_json(config), run)


def batch_of(trainer, rows=6):
    images = np.arange(rows)
    batch = trainer.data.split.pair_batch(images, trainer.data.split.caption_start[images])
    return {name: batch[name] for name in trainer.framework.fields}


def step(rows=6):
    return Step(torch.arange(rows), 0, 2, 0.5)


def gradients(framework, batch, chunk=None):
    """The terms' gradient, by weight, of a batch encoded whole or in parts of `chunk` rows."""
    from hnclip.gradients import chunked, whole

    framework.zero_grad()
    losses = lambda z: framework.losses(z, step(), BOOSTED)  # noqa: E731
    if chunk is None:
        whole(framework, losses, batch, torch.Tensor.backward, 1.0)
    else:
        chunked(framework, losses, batch, torch.Tensor.backward, 1.0, chunk=chunk)
    return {name: weight.grad.clone() for name, weight in framework.named_parameters() if weight.grad is not None}


def test_rows_are_encoded_alone(trainer):
    batch = batch_of(trainer)
    together = trainer.framework(batch)
    alone = [trainer.framework({name: value[row : row + 1] for name, value in batch.items()}) for row in range(6)]
    for name, value in together.items():
        found = torch.cat([part[name] for part in alone])
        if name == "words":  # what stands behind a caption's end means nothing
            real_NT = torch.arange(value.shape[1]) < together["word_count"][:, None]
            found, value = found[real_NT], value[real_NT]
        torch.testing.assert_close(found, value, rtol=1e-4, atol=1e-5)


class Watched(dict):
    """A batch that notes what is read of it."""

    def __init__(self, batch):
        super().__init__(batch)
        self.read = set()

    def __getitem__(self, name):
        self.read.add(name)
        return super().__getitem__(name)


def test_all_the_declared_fields_are_read_and_no_others(trainer):
    images = np.arange(4)
    watched = Watched(trainer.data.split.pair_batch(images, trainer.data.split.caption_start[images]))
    trainer.framework.encode(watched)
    assert watched.read == set(trainer.framework.fields)


@pytest.mark.parametrize("chunk", [1, 4])
def test_chunks_give_the_gradient_of_the_whole_batch(trainer, chunk):
    framework = copy.deepcopy(trainer.framework).double()
    batch = batch_of(trainer)
    whole, parts = gradients(framework, batch), gradients(framework, batch, chunk)
    assert whole.keys() == parts.keys()
    largest = max(value.abs().max() for value in whole.values())
    assert largest > 0
    assert max((whole[name] - parts[name]).abs().max() for name in whole) / largest < 1e-5


def test_every_trained_weight_gets_a_finite_gradient(trainer):
    found = gradients(trainer.framework, batch_of(trainer))
    trained = {name for name, weight in trainer.framework.named_parameters() if weight.requires_grad}
    assert found.keys() == trained
    assert all(torch.isfinite(value).all() for value in found.values())


def test_a_batch_with_nothing_further_keeps_its_gradient(trainer):
    batch = batch_of(trainer)
    bare = {name: torch.zeros_like(value) if name in NOTHING else value for name, value in batch.items()}
    bare |= {name: torch.zeros_like(value) for name, value in batch.items() if name in ("span", "chunks")}
    found = gradients(trainer.framework, bare)
    assert found.keys() == gradients(trainer.framework, batch).keys()
    assert all(torch.isfinite(value).all() for value in found.values())
    terms = trainer.framework.losses(trainer.framework(bare), step(), BOOSTED)
    assert all(torch.isfinite(term) and term.requires_grad for term in terms.values())


def test_the_boost_changes_the_global_term_alone(trainer):
    framework = trainer.framework
    z = framework(batch_of(trainer))
    boosted = framework.losses(z, step(), BOOSTED)
    plain = framework.losses(z, step(), contrastive(LossEntry(), torch.Generator()))
    assert boosted.keys() == plain.keys() and boosted["global"] != plain["global"]
    assert all(boosted[name] == plain[name] for name in plain if name != "global")


@pytest.mark.parametrize("kind", frameworks.on_towers())
def test_weights_save_and_load_to_the_same_outputs(tmp_path, kind, monkeypatch):
    config, run = make_cell(tmp_path, framework=entry_of(kind), recipe={"epochs": 1})
    kept = {}
    write = train.Trainer._write

    def keep(trainer, *results):
        split = trainer.tests[-1]
        kept["before"] = encode_split(trainer.framework.backbone, split, 4)
        kept["start"] = encode_split(backbone_from(BACKBONE), split, 4)
        write(trainer, *results)

    monkeypatch.setattr(train.Trainer, "_write", keep)
    train.main(config, run)
    loaded = load_backbone(run / "weights.safetensors")
    assert loaded.context == 248 and loaded.architecture["quick_gelu"] is True
    after = encode_split(loaded, open_split(read_json(config)["data"]["test"][0]), 4)
    for before, start, found in zip(kept["before"], kept["start"], after, strict=True):
        torch.testing.assert_close(found, before, rtol=0, atol=1e-5)
        assert (found - start).abs().max() > 1e-3  # it was trained


@pytest.mark.parametrize("kind", [kind for kind in KINDS if entry_of(kind)["inputs"]])
def test_an_entry_without_the_inputs_that_a_framework_reads_is_refused(tmp_path, kind):
    config, run = make_cell(tmp_path, framework={"kind": kind})
    with pytest.raises(ValueError, match=f"framework {kind} trains on the inputs .*: name them"):
        train.Trainer(read_json(config), run)
