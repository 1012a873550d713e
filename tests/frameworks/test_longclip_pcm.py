"""The official Long-CLIP objective: its terms, its one pass a tower, the frozen prefix, and the reference."""

from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize
from world import BACKBONE

from hnclip.data.tokens import tokenize
from hnclip.frameworks import create
from hnclip.frameworks.base import Step
from hnclip.losses import boosts
from hnclip.losses.contrastive import info_nce
from hnclip.losses.objective import LossEntry, contrastive
from hnclip.losses.principal import principal
from hnclip.models.load import backbone_from

GOLDEN = Path(__file__).parents[1] / "golden" / "longclip_loss.npz"
LONG = [
    "a cat on a red mat. it sleeps.",
    "two dogs. one of them is brown and runs.",
    "a boat. " * 12,
    "seven apples. ripe.",
]
SHORT = ["a cat on a red mat", "two dogs", "a boat", "seven apples"]


def framework(**options):
    return create("longclip_pcm", backbone_from(BACKBONE), options)


def batch():
    torch.manual_seed(3)
    text, length = tokenize(LONG, "clip", 248).batch(np.arange(4))
    short, short_length = tokenize(SHORT, "clip", 248).batch(np.arange(4))
    image = torch.randint(0, 256, (4, 16, 16, 3), dtype=torch.uint8)
    return {
        "image": image,
        "text": text,
        "text_length": length,
        "short_text": short,
        "short_length": short_length,
    }


def step(rows: int) -> Step:
    return Step(torch.arange(rows), epoch=0, epochs=1, share=0.0)


def plain(boost: str = "none"):
    return contrastive(LossEntry(boost=boost, gamma=None if boost == "none" else 0.5), torch.Generator())


def unit_rows(count: int, width: int, seed: int) -> torch.Tensor:
    drawn = torch.randn(count, width, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return normalize(drawn, dim=-1)


def test_the_reference_through_the_framework_with_its_defaults():
    golden = np.load(GOLDEN)
    made = framework()
    made.backbone.double().fix_scale(float(golden["scale"]))
    names = {"image": "image", "text": "text_long", "short": "text_short"}
    z = {key: torch.from_numpy(golden[name]).requires_grad_() for key, name in names.items()}
    terms = made.losses(z, step(48), plain())
    sum(terms.values()).backward()
    found = {"loss_long": terms["global"], "loss_short": terms["short"]}
    found |= {f"grad_{name}": z[key].grad for key, name in names.items()}
    for name, ours in found.items():
        assert np.abs(ours.detach().numpy() - golden[name]).max() / np.abs(golden[name]).max() < 1e-6, name


def test_label_smoothing_stays_under_the_boost_and_the_short_branch_is_plain():
    made = framework(components=3, short_weight=0.1)
    z = {key: unit_rows(12, 6, seed) for seed, key in enumerate(("image", "text", "short"))}
    terms = made.losses(z, step(12), plain("captions"))
    scale = made.backbone.scale()
    offset = boosts.captions(z["image"], z["text"], torch.arange(12), torch.Generator(), gamma=0.5)
    boosted = info_nce(z["image"], z["text"], scale, offset, label_smoothing=0.1)
    short = info_nce(principal(z["image"], 3), z["short"], scale, label_smoothing=0.1)
    assert terms["global"].item() == pytest.approx(boosted.item(), rel=1e-12)
    assert terms["global"].item() != pytest.approx(info_nce(z["image"], z["text"], scale, offset).item(), rel=1e-3)
    assert terms["short"].item() == pytest.approx(0.1 * short.item(), rel=1e-12)


def test_local_components_are_those_of_each_group():
    made = framework(components=2, pca="local", local_rows=5)
    z = {key: unit_rows(14, 6, seed) for seed, key in enumerate(("image", "text", "short"))}
    projected = torch.cat([principal(z["image"][start : start + 5], 2) for start in (0, 5, 10)])
    expected = info_nce(projected, z["short"], made.backbone.scale(), label_smoothing=0.1)
    ours = made.losses(z, step(14), plain())["short"]
    assert ours.item() == pytest.approx(expected.item(), rel=1e-12)
    whole = framework(components=2).losses(z, step(14), plain())["short"]
    assert ours.item() != pytest.approx(whole.item(), rel=1e-3)


def test_rows_are_those_of_the_towers_in_one_pass_each():
    made, given = framework().eval(), batch()
    with torch.no_grad():
        image = made.backbone.image(given["image"])[0]
        text = made.backbone.text(given["text"], given["text_length"])[0]
        short = made.backbone.text(given["short_text"], given["short_length"])[0]
        with (
            patch.object(made.backbone, "image", wraps=made.backbone.image) as images,
            patch.object(made.backbone, "text", wraps=made.backbone.text) as texts,
        ):
            z = made.encode(given)
    assert images.call_count == texts.call_count == 1
    for key, expected in (("image", image), ("text", text), ("short", short)):
        torch.testing.assert_close(z[key], expected, rtol=0, atol=2e-6)


def test_only_declared_fields_are_read():
    made, given = framework(), batch()
    made.encode({name: given[name] for name in made.fields})
    for name in made.fields:
        with pytest.raises(KeyError, match=name):
            made.encode({other: value for other, value in given.items() if other != name})


@pytest.mark.filterwarnings("ignore:32 principal components")
def test_the_frozen_prefix_neither_trains_nor_decays():
    made, given = framework(), batch()
    before = made.backbone.positions().detach().clone()
    optimiser = torch.optim.AdamW(made.parameter_groups(1e-2), weight_decay=0.5)
    for _ in range(2):
        sum(made.losses(made(given), step(4), plain()).values()).backward()
        optimiser.step()
        optimiser.zero_grad()
    after = made.backbone.weights()["positional_embedding"]
    assert torch.equal(after[:20], before[:20])
    assert (after[20:] != before[20:]).any(1).all()
    assert framework(frozen_positions=0).backbone.clip.positional_embedding.requires_grad


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pca": "local"}, "`local_rows` belongs to `pca: local`"),
        ({"local_rows": 16}, "`local_rows` belongs to `pca: local`"),
        ({"pca": "lokal"}, "'global' or 'local', got 'lokal'"),
        ({"pca": "local", "local_rows": 0}, "`local_rows` must be at least 1, not 0"),
        ({"components": 0}, "`components` must be at least 1, not 0"),
        ({"label_smoothing": 1.0}, "0 to below 1, not 1.0"),
        ({"short_weight": -1.0}, "`short_weight` must be at least 0, not -1.0"),
        ({"frozen_positions": -1}, "`frozen_positions` must be at least 0, not -1"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        framework(**options)
