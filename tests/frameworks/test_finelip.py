"""FineLIP: its tokens and score by hand, its terms, its learning rates, and the reference."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize
from world import ARCHITECTURE, BACKBONE, make_split

from hnclip.data.split import open_split
from hnclip.data.tokens import tokenize
from hnclip.encode import encode_split
from hnclip.frameworks import create, finelip
from hnclip.frameworks.base import Step
from hnclip.gradients import chunked, whole
from hnclip.losses.contrastive import info_nce
from hnclip.losses.late import late_similarity
from hnclip.losses.objective import LossEntry, contrastive
from hnclip.losses.triplet import triplet_all, triplet_hardest
from hnclip.models.aggregation import TokenAggregator, image_tokens, text_tokens
from hnclip.models.load import backbone_from

GOLDEN = Path(__file__).parents[1] / "golden" / "finelip.npz"
VISION = {**ARCHITECTURE["vision_cfg"], "patch_size": 4}
PATCHES = {**BACKBONE, "architecture": {**ARCHITECTURE, "vision_cfg": VISION}}  # 16 patches, so K is 3
CAPTIONS = ["a cat", "two brown dogs on a mat", "a boat " * 12, "seven ripe apples"]
PLAIN = contrastive(LossEntry(), torch.Generator())


def framework(**options):
    return create("finelip", backbone_from(PATCHES), options)


def batch():
    torch.manual_seed(3)
    text, length = tokenize(CAPTIONS, "clip", 248).batch(np.arange(4))
    return {
        "image": torch.randint(0, 256, (4, 16, 16, 3), dtype=torch.uint8),
        "text": text,
        "text_length": length,
    }


def step(epoch: int = 1, share: float = 0.0, rows: int = 4) -> Step:
    return Step(torch.arange(rows), epoch=epoch, epochs=2, share=share)


def from_golden(golden, name: str) -> TokenAggregator:
    made = TokenAggregator(32, 39).double()
    layers = [(layer, kind) for layer in (0, 1, 3) for kind in ("weight", "bias")]
    weights = {f"weigh.{layer}.{kind}": golden[f"{name}__weight__{layer}__{kind}"] for layer, kind in layers}
    weights["scale"] = golden[f"{name}__scale"].reshape(())
    made.load_state_dict({key: torch.from_numpy(value) for key, value in weights.items()})
    return made


@pytest.mark.parametrize("negatives", ["all", "hardest"])
def test_the_reference_through_the_framework_with_its_defaults(monkeypatch, negatives):
    golden = np.load(GOLDEN)
    made = framework(global_weight=0.0, negatives=negatives)
    made.image_aggregator, made.text_aggregator = (from_golden(golden, name) for name in ("aggr_net", "cap_aggr_net"))
    image, text = (torch.from_numpy(golden[name]).requires_grad_() for name in ("image_tokens", "text_tokens"))
    for project in ("project_patches", "project_words"):  # the file's tokens are projected already
        monkeypatch.setattr(made.backbone, project, lambda states: states)
    lengths = torch.from_numpy(golden["lengths_including_eot"])
    z = {
        "image": torch.zeros(6, 32, dtype=torch.float64),
        "image_tokens": made._image_tokens(image),
        "text_tokens": made._text_tokens(text, lengths),
    }
    found = {f"triplet_{'sum' if negatives == 'all' else negatives}": made.losses(z, step(rows=6), PLAIN)["triplet"]}
    if negatives == "all":
        found["triplet_sum"].backward()
        found |= {"grad_image_tokens": image.grad, "grad_text_tokens": text.grad}
    for name, ours in found.items():
        assert np.abs(ours.detach().numpy() - golden[name]).max() / np.abs(golden[name]).max() < 1e-6, name


def test_as_many_tokens_as_a_fifth_of_the_patches():
    z = framework().encode(batch())
    assert z["image_tokens"].shape == z["text_tokens"].shape == (4, 4, 8)
    assert framework(ratio=0.5).encode(batch())["text_tokens"].shape == (4, 9, 8)
    torch.testing.assert_close(z["image_tokens"].norm(dim=-1), torch.ones(4, 4))


def test_tokens_are_those_after_the_towers_last_norm_and_projection():
    made, given = framework().eval(), batch()
    with torch.no_grad():
        z = made.encode(given)
        patches = made.backbone.image(given["image"])[1]
        visual = made.backbone.clip.visual
        expected = image_tokens(made.image_aggregator, visual.ln_post(patches) @ visual.proj)
        torch.testing.assert_close(z["image_tokens"], expected, rtol=0, atol=1e-6)
        torch.testing.assert_close(z["image_tokens"][:, 0], z["image"], rtol=0, atol=1e-6)
        torch.testing.assert_close(z["text_tokens"][:, -1], z["text"], rtol=0, atol=1e-6)
        for row, length in enumerate(given["text_length"].tolist()):
            states = made.backbone.text(given["text"][row : row + 1, :length], given["text_length"][row : row + 1])[1]
            words = made.backbone.clip.ln_final(states) @ made.backbone.clip.text_projection
            merged = made.text_aggregator(words[:, :-1])
            torch.testing.assert_close(z["text_tokens"][row, :-1], normalize(merged[0], dim=-1), rtol=0, atol=2e-6)


def test_a_token_of_id_zero_is_no_padding():
    """Id 0 is a real token (an exclamation mark within a word), so lengths are given, never counted."""
    made, given = framework().eval(), batch()
    given["text"][1, 2] = 0
    with torch.no_grad():
        z = made.encode(given)
        length = given["text_length"][1]
        states = made.backbone.text(given["text"][1:2, :length], length[None])[1]
        alone = text_tokens(made.text_aggregator, made.backbone.project_words(states), length[None])
    torch.testing.assert_close(z["text_tokens"][1:2], alone, rtol=0, atol=2e-6)


def test_terms_are_the_weighted_global_and_triplet_loss():
    made = framework(global_weight=0.5, triplet_weight=3.0, negatives="hardest", margin=0.3)
    z = made.encode(batch())
    terms = made.losses(z, step(), PLAIN)
    score = late_similarity(z["image_tokens"], z["text_tokens"])
    expected = {
        "global": 0.5 * info_nce(z["image"], z["text"], made.backbone.scale()),
        "triplet": 3.0 * triplet_hardest(score, 0.3),
    }
    assert {name: term.item() for name, term in terms.items()} == pytest.approx(
        {name: term.item() for name, term in expected.items()}, rel=1e-6
    )


@pytest.mark.parametrize(
    ("ramp", "epoch", "share", "factor"),
    [(True, 0, 0.0, 0.0), (True, 0, 0.25, 0.25), (True, 1, 0.25, 1.0), (False, 0, 0.25, 1.0)],
)
def test_the_ramp_is_the_share_of_the_first_epoch_and_of_the_triplet_term_only(ramp, epoch, share, factor):
    made = framework(ramp=ramp)
    z = made.encode(batch())
    terms = made.losses(z, step(epoch, share), PLAIN)
    full = triplet_all(late_similarity(z["image_tokens"], z["text_tokens"]), 0.2)
    assert terms["triplet"].item() == pytest.approx(factor * full.item(), rel=1e-6)
    assert terms["global"].item() == pytest.approx(info_nce(z["image"], z["text"], made.backbone.scale()).item())


@pytest.mark.parametrize("gradient", ["whole", "chunked"])
def test_the_released_objective_leaves_the_scale_alone(gradient):
    def refuse(*_, **__):
        raise AssertionError("the global term was taken at weight 0")

    made, given = framework(global_weight=0.0), batch()
    take = whole if gradient == "whole" else lambda *given: chunked(*given, chunk=3)
    terms = take(made, lambda z: made.losses(z, step(), refuse), given, torch.Tensor.backward, 1.0)
    assert terms["global"].item() == 0 and terms["triplet"].item() > 0
    assert made.backbone.clip.logit_scale.grad is None
    assert made.backbone.clip.visual.proj.grad.abs().sum() > 0 and made.image_aggregator.scale.grad is not None


def test_the_modules_have_their_own_learning_rate():
    made = framework(module_lr=3e-4)
    groups = list(made.parameter_groups(1e-6))
    assert [group["lr"] for group in groups] == [1e-6, 3e-4]
    module = set(map(id, [*made.image_aggregator.parameters(), *made.text_aggregator.parameters()]))
    assert set(map(id, groups[1]["params"])) == module
    every = [id(weight) for group in groups for weight in group["params"]]
    assert len(every) == len(set(every)) and set(every) == set(map(id, made.parameters()))
    assert [group["lr"] for group in framework().parameter_groups(1e-6)][1] == 2e-4


def test_modules_follow_from_the_seed_and_belong_to_the_method():
    made = []
    for _ in range(2):
        backbone = backbone_from(PATCHES)
        torch.manual_seed(5)
        made.append(create("finelip", backbone, {}).extra_weights())
    assert set(made[0]) == {
        f"{side}_aggregator.{name}"
        for side in ("image", "text")
        for name in ("scale", *(f"weigh.{layer}.{kind}" for layer in (0, 1, 3) for kind in ("weight", "bias")))
    }
    assert all(torch.equal(value, made[1][name]) for name, value in made[0].items())
    assert not torch.equal(made[0]["image_aggregator.weigh.3.weight"], made[0]["text_aggregator.weigh.3.weight"])


def test_only_declared_fields_are_read():
    made, given = framework(), batch()
    made.encode({name: given[name] for name in made.fields})
    for name in made.fields:
        with pytest.raises(KeyError, match=name):
            made.encode({other: value for other, value in given.items() if other != name})


def test_the_token_level_score_of_a_split(tmp_path, monkeypatch):
    made = framework().eval()
    split = open_split(make_split(tmp_path, "test", 5, captions_an_image=2))
    image, text = encode_split(made.backbone, split, 3)
    monkeypatch.setattr(finelip, "SCORED", 4)  # 5 images and 10 captions in blocks, the last ones smaller
    found = made.rescored(split, image, text, 3)
    assert list(found) == ["tokens"] and found["tokens"].shape == (5, 10) and not found["tokens"].requires_grad
    for i in range(5):
        pixels = split.image_batch(np.array([i]))
        for c in range(10):
            ids, length = split.tokens.batch(np.array([c]))
            with torch.no_grad():
                z = made.encode({"image": pixels, "text": ids, "text_length": length})
                late = late_similarity(z["image_tokens"], z["text_tokens"]).item()
            expected = 0.8 * float(z["image"][0] @ z["text"][0]) + 0.2 * late
            assert found["tokens"][i, c].item() == pytest.approx(expected, abs=5e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"global_weight": 0.0, "triplet_weight": 0.0}, "both 0: nothing would be trained"),
        ({"ratio": 0.0}, "`ratio` is a share above 0, up to 1, not 0.0"),
        ({"margin": -0.1, "module_lr": -1.0}, "`margin` must be at least 0, not -0.1; `module_lr` must be at least 0"),
        ({"negatives": "hard"}, "'all' or 'hardest', got 'hard'"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        framework(**options)
