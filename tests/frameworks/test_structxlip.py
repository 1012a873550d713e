"""StructXLIP as a framework: its four terms, how three fade, what a missing edge or chunk leaves out, rows alone."""

import pytest
import torch
from golden_vectors import golden, relative_error
from torch.nn.functional import normalize
from world import BACKBONE, SIZE, random_captions

from hnclip.frameworks import create
from hnclip.frameworks.base import Step
from hnclip.losses.contrastive import info_nce
from hnclip.losses.objective import LossEntry, contrastive
from hnclip.models.load import backbone_from

N, K = 5, 2
TERM = contrastive(LossEntry(), torch.Generator())
AUXILIARY = ("structure", "consistency", "local")


@pytest.fixture
def batch():
    """Five pairs: row 1 has no edge map, row 2 no edge crop, row 3 one, row 4 no chunk."""
    random = torch.Generator().manual_seed(0)
    text, text_length = random_captions([20, 9, 30, 12, 14], random)
    filtered_text, filtered_length = random_captions([17, 9, 22, 8, 11], random)
    draw = {"dtype": torch.uint8, "generator": random}
    chunks = torch.tensor([[[1, 4], [2, 6]], [[1, 3], [0, 0]], [[1, 3], [4, 9]], [[3, 6], [4, 7]], [[0, 0], [0, 0]]])
    return {
        "image": torch.randint(0, 256, (N, SIZE, SIZE, 3), **draw),
        "text": text,
        "text_length": text_length,
        "edge": 255 * torch.randint(0, 2, (N, SIZE, SIZE, 1), **draw),
        "has_edge": torch.arange(N) != 1,
        "edge_crops": 255 * torch.randint(0, 2, (N, K, SIZE, SIZE, 1), **draw),
        "has_edge_crop": torch.tensor([[True, True], [True, True], [False, False], [False, True], [True, True]]),
        "filtered_text": filtered_text,
        "filtered_length": filtered_length,
        "chunks": chunks,
    }


def framework(**options):
    torch.manual_seed(3)
    return create("structxlip", backbone_from(BACKBONE), options).train()


def terms(method, batch, epoch=0, epochs=10):
    step = Step(torch.arange(len(batch["image"])), epoch, epochs, 0.0)
    return method.losses(method.encode(batch), step, TERM)


def test_only_declared_fields_are_read_and_all_of_them(batch):
    read, method = set(), framework()

    class Noted(dict):
        def __getitem__(self, key):
            read.add(key)
            return super().__getitem__(key)

    method.encode(Noted(batch))
    assert read == set(method.fields) == set(batch)


def local_term(backbone, words, batch, edge_crops):
    """The local term with loops, of token states `words` and embedded crops [N][K]."""
    valid = [(n, k) for n in range(N) for k in range(K) if batch["has_edge_crop"][n, k]]
    sharpness = min(100.0, backbone.scale().item() / 0.07)
    captions = []
    for n in range(N):
        losses = []
        for first, end in batch["chunks"][n].tolist():
            if end > first and batch["has_edge_crop"][n].any():
                states = words[n, first:end]
                state = states.norm(dim=-1).softmax(0) @ states
                chunk = normalize(backbone.project_words(state), dim=-1)
                shares = {crop: (sharpness * chunk @ edge_crops[crop[0]][crop[1]]).exp() for crop in valid}
                losses.append(-(sum(shares[crop] for crop in valid if crop[0] == n) / sum(shares.values())).log())
        if losses:
            captions.append(sum(losses) / len(losses))
    return sum(captions) / len(captions)


@pytest.mark.parametrize("chunk_states", ["filtered", "released"])
def test_terms_are_those_of_the_definition(batch, chunk_states):
    method = framework(chunk_states=chunk_states)
    found, backbone = terms(method, batch), method.backbone
    grey = {key: batch[key].expand(*batch[key].shape[:-1], 3) for key in ("edge", "edge_crops")}
    image, edge = backbone.image(batch["image"])[0], backbone.image(grey["edge"])[0]
    edge_crops = [backbone.image(crops)[0] for crops in grey["edge_crops"]]
    text, words = backbone.text(batch["text"], batch["text_length"])
    filtered, filtered_words = backbone.text(batch["filtered_text"], batch["filtered_length"])
    states = filtered_words if chunk_states == "filtered" else backbone.clip.ln_final(words)
    have = batch["has_edge"]
    expected = {
        "global": info_nce(image, text, backbone.scale()),
        "structure": 0.25 * info_nce(edge[have], filtered[have], backbone.scale()),
        "consistency": 0.001 * (1 - (image * edge).sum(-1))[have].mean(),
        "local": 0.001 * local_term(backbone, states, batch, edge_crops),
    }
    assert list(found) == list(expected)
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=1e-4, atol=1e-6, msg=name)


def test_structure_and_consistency_are_the_references():
    given, method = golden("structxlip"), framework().double()
    method.backbone.fix_scale(float(given["scale"]))
    rows = {"image": "image", "text": "text", "edge": "edge", "filtered": "filtered_text"}
    z = {ours: normalize(given[theirs], dim=-1) for ours, theirs in rows.items()}
    z |= {"edge_crops": torch.zeros(8, K, 32), "chunks": torch.zeros(8, 3, 32), "has_edge": given["has_edge"]}
    z |= {"has_edge_crop": torch.zeros(8, K, dtype=bool), "has_chunk": torch.zeros(8, 3, dtype=bool)}
    for epoch in range(10):
        found = method.losses(z, Step(torch.arange(8), epoch, 10, 0.0), TERM)
        for number, (name, weight) in enumerate({"structure": 0.25, "consistency": 0.001}.items()):
            factor = given["schedule_floor_07_05_04"][number, epoch]
            assert relative_error(found[name] / (weight * factor), given[f"loss_{name}"]) < 1e-7


def test_auxiliary_weights_fade_over_the_run_to_their_floors(batch):
    method = framework()
    first, last = terms(method, batch, 0, 5), terms(method, batch, 4, 5)
    ratio = {name: (last[name] / first[name]).item() for name in first}
    assert ratio == pytest.approx({"global": 1.0, "structure": 0.7, "consistency": 0.5, "local": 0.4}, rel=1e-5)


def test_weights_are_options(batch):
    options = {"structure_weight": 0.5, "consistency_weight": 0.02, "local_weight": 0.1, "floors": [1, 1, 1]}
    first, second = terms(framework(), batch), terms(framework(**options), batch, 9)
    ratio = {name: (second[name] / first[name]).item() for name in first}
    assert ratio == pytest.approx({"global": 1, "structure": 2, "consistency": 20, "local": 100}, rel=1e-5)


@pytest.mark.parametrize(
    ("missing", "zero"),
    [
        (("has_edge",), ("structure", "consistency")),
        (("has_edge_crop",), ("local",)),
        (("chunks",), ("local",)),
        (("has_edge", "has_edge_crop", "chunks"), AUXILIARY),
    ],
)
def test_what_a_batch_lacks_leaves_the_other_terms(batch, missing, zero):
    method = framework()
    found = terms(method, {**batch, **{key: torch.zeros_like(batch[key]) for key in missing}})
    sum(found.values()).backward()
    assert [name for name in found if found[name].item() == 0] == list(zero)
    gradients = [weight.grad for weight in method.parameters() if weight.grad is not None]
    assert gradients and all(torch.isfinite(gradient).all() for gradient in gradients)


def test_rows_are_encoded_alone(batch):
    method = framework()
    together = method.encode(batch)
    for row in range(N):
        alone = method.encode({key: value[row : row + 1] for key, value in batch.items()})
        for key, value in alone.items():
            torch.testing.assert_close(value[0], together[key][row], rtol=0, atol=1e-5, msg=f"{key} of row {row}")


def test_each_tower_is_run_once(batch, monkeypatch):
    method, calls = framework(), []
    for tower in ("image", "text"):
        run = getattr(method.backbone, tower)
        monkeypatch.setattr(
            method.backbone,
            tower,
            lambda *given, run=run, tower=tower, **more: calls.append(tower) or run(*given, **more),
        )
    method.encode(batch)
    assert sorted(calls) == ["image", "text"]


def test_wrong_options_are_refused_together():
    with pytest.raises(ValueError, match="'filtered' or 'released', got 'original'"):
        framework(chunk_states="original")
    wrong = {"structure_weight": -1, "floors": [0.7, 1.5, 0.4], "tau": 0}
    with pytest.raises(ValueError, match=r"`structure_weight` .* not -1.0; `floors` .* 1.5.*; `tau` .* not 0.0"):
        framework(**wrong)
