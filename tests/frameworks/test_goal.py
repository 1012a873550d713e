"""GOAL as a framework: what it compares, what a missing crop leaves out, and rows on their own."""

import pytest
import torch
from torch.nn.functional import normalize
from world import BACKBONE, SIZE, random_captions

from hnclip.frameworks import create
from hnclip.frameworks.base import Step
from hnclip.losses.contrastive import info_nce
from hnclip.losses.objective import LossEntry, contrastive
from hnclip.models.load import backbone_from

N = 5
TERM = contrastive(LossEntry(), torch.Generator())


@pytest.fixture
def batch():
    """Five pairs: row 2 has no crop, row 3's region lies outside the input, row 4's sentence was cut off."""
    random = torch.Generator().manual_seed(0)
    text, text_length = random_captions([20, 9, 30, 12, 14], random)
    crop_text, crop_text_length = random_captions([6, 5, 2, 4, 7], random)
    pixels = torch.randint(0, 256, (2, N, SIZE, SIZE, 3), dtype=torch.uint8, generator=random)
    pixels[1, 2] = 0
    box = [[0.0, 0.0, 8.0, 16.0], [2.5, 9.0, 14.0, 30.0], [0.0] * 4, [-9.0, 1.0, -1.0, 9.0], [0.0, 0.0, 5.0, 5.0]]
    return {
        "image": pixels[0],
        "text": text,
        "text_length": text_length,
        "crop": pixels[1],
        "crop_box": torch.tensor(box),
        "crop_text": crop_text,
        "crop_text_length": crop_text_length,
        "has_crop": torch.tensor([True, True, False, True, True]),
        "span": torch.tensor([[1, 5], [4, 7], [0, 0], [2, 4], [0, 0]]),
    }


@pytest.fixture
def framework():
    torch.manual_seed(3)
    return create("goal", backbone_from(BACKBONE), {}).train()


def terms(framework, batch):
    step = Step(torch.arange(len(batch["image"])), 0, 2, 0.0)
    return framework.losses(framework.encode(batch), step, TERM)


def test_only_declared_fields_are_read_and_all_of_them(framework, batch):
    read = set()

    class Noted(dict):
        def __getitem__(self, key):
            read.add(key)
            return super().__getitem__(key)

    framework.encode(Noted(batch))
    assert read == set(framework.fields) == set(batch)


def test_terms_are_those_of_the_definition(framework, batch):
    found, backbone = terms(framework, batch), framework.backbone
    image, patches = backbone.image(batch["image"])
    crop, _ = backbone.image(batch["crop"])
    text, words = backbone.text(batch["text"], batch["text_length"])
    crop_text, _ = backbone.text(batch["crop_text"], batch["crop_text_length"])
    regions = {0: [0, 2], 1: [2, 3], 4: [0]}  # patches of a 2 x 2 grid
    spans = {0: range(1, 5), 1: range(4, 7), 3: range(2, 4)}
    apart = {"region": 0.0, "span": 0.0}
    for row, chosen in regions.items():
        state = torch.stack([patches[row, 1 + patch] for patch in chosen]).mean(0)
        unit = normalize(backbone.project_patches(state), dim=-1)
        apart["region"] += (1 - unit @ crop[row]) ** 2 / len(regions)
    for row, chosen in spans.items():
        state = torch.stack([words[row, token] for token in chosen]).mean(0)
        unit = normalize(backbone.project_words(state), dim=-1)
        apart["span"] += (1 - unit @ crop_text[row]) ** 2 / len(spans)
    have = batch["has_crop"]
    expected = {
        "global": info_nce(image, text, backbone.scale()),
        "local": 0.5 * info_nce(crop[have], crop_text[have], backbone.scale()),
        **apart,
    }
    assert list(found) == list(expected)
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=1e-4, atol=1e-5, msg=name)


def test_targets_move_too(framework, batch):
    z = {key: value.detach() for key, value in framework.encode(batch).items()}
    z["crop"].requires_grad_(), z["crop_text"].requires_grad_()
    found = framework.losses(z, Step(torch.arange(N), 0, 2, 0.0), TERM)
    (found["region"] + found["span"]).backward()
    assert z["crop"].grad[[0, 1, 4]].any(1).all() and not z["crop"].grad[[2, 3]].any()
    assert z["crop_text"].grad[[0, 1, 3]].any(1).all() and not z["crop_text"].grad[[2, 4]].any()


def test_weights_are_options(batch):
    options = {"local_weight": 2.0, "region_weight": 0.25, "span_weight": 3.0}
    torch.manual_seed(3)
    plain, weighted = (create("goal", backbone_from(BACKBONE), given).train() for given in ({}, options))
    first, second = terms(plain, batch), terms(weighted, batch)
    ratio = {name: (second[name] / first[name]).item() for name in first}
    assert ratio == pytest.approx({"global": 1.0, "local": 4.0, "region": 0.25, "span": 3.0}, rel=1e-5)


def test_no_crop_at_all_leaves_the_plain_step(framework, batch):
    nothing = {**batch, "has_crop": torch.zeros(N, dtype=bool)}
    found = terms(framework, nothing)
    sum(found.values()).backward()
    assert found["global"] > 0 and all(found[name].item() == 0 for name in ("local", "region", "span"))
    gradients = [weight.grad for weight in framework.parameters()]
    assert all(gradient is None or torch.isfinite(gradient).all() for gradient in gradients)
    framework.zero_grad()
    image, text = framework.backbone.image(batch["image"])[0], framework.backbone.text(*plain_text(batch))[0]
    info_nce(image, text, framework.backbone.scale()).backward()
    for ours, weight in zip(gradients, framework.parameters(), strict=True):
        torch.testing.assert_close(ours, weight.grad, rtol=1e-3, atol=1e-5)


def plain_text(batch):
    return batch["text"], batch["text_length"]


def test_rows_are_encoded_alone(framework, batch):
    together = framework.encode(batch)
    for row in range(N):
        alone = framework.encode({key: value[row : row + 1] for key, value in batch.items()})
        for key, value in alone.items():
            torch.testing.assert_close(value[0], together[key][row], rtol=0, atol=1e-5, msg=f"{key} of row {row}")


def test_each_tower_is_run_once(framework, batch, monkeypatch):
    calls = []
    for tower in ("image", "text"):
        run = getattr(framework.backbone, tower)
        monkeypatch.setattr(
            framework.backbone,
            tower,
            lambda *given, run=run, tower=tower, **more: calls.append(tower) or run(*given, **more),
        )
    framework.encode(batch)
    assert sorted(calls) == ["image", "text"]


def test_negative_weights_are_refused_together():
    with pytest.raises(ValueError, match="local_weight is -1.0 and span_weight is -2.0"):
        create("goal", None, {"local_weight": -1, "span_weight": -2})
