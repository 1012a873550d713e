"""The local term of StructXLIP: its chunks and their loss against the reference and against loops."""

import json
import math

import pytest
import torch
from golden_vectors import GOLDEN, golden, relative_error
from torch.nn.functional import layer_norm, normalize

from hnclip.frameworks.structxlip import Options
from hnclip.losses.chunks import chunk_states, chunk_term

SHARPNESS = {"tau": Options().tau, "cap": Options().sigma_cap}


def spans(captions: int) -> torch.Tensor:
    """The golden spans of the first captions, [captions, 64, 2], padded with (0, 0)."""
    entries = json.loads((GOLDEN / "structxlip_chunk_spans.json").read_text(encoding="utf-8"))[:captions]
    return torch.tensor([entry["spans"] + [[0, 0]] * (64 - len(entry["spans"])) for entry in entries])


def golden_loss(given: dict[str, torch.Tensor], scale: torch.Tensor, extra: int = 0) -> torch.Tensor:
    """The framework's way from token states to the loss, `extra` empty chunks a caption added."""
    chunks_NC2 = torch.cat([spans(6), torch.zeros(6, extra, 2, dtype=torch.int64)], dim=1)
    states = chunk_states(given["text_states"], chunks_NC2)
    normed = layer_norm(states, states.shape[2:], given["ln_weight"], given["ln_bias"])
    chunks = normalize(normed @ given["projection"], dim=-1)
    crops = normalize(given["edge_crops"], dim=-1).unflatten(0, (6, 2))
    return chunk_term(chunks, crops, chunks_NC2[..., 1] > 0, given["valid"], scale, **SHARPNESS)


@pytest.mark.parametrize("extra", [0, 3])
def test_local_term_is_the_references(extra):
    given = golden("structxlip_local")
    states, crops = (given[key].requires_grad_() for key in ("text_states", "edge_crops"))
    assert float(given["tau"]) == SHARPNESS["tau"]
    loss = golden_loss(given, given["scale"], extra)
    loss.backward()
    assert relative_error(loss, given["loss"]) < 1e-7
    assert relative_error(states.grad, given["grad_text_states"]) < 1e-7
    assert relative_error(crops.grad, given["grad_edge_crops"]) < 1e-7
    crops.grad = None
    soft = golden_loss(given, torch.tensor(5.0, dtype=torch.float64), extra)
    soft.backward()
    assert relative_error(soft, given["loss_at_scale_5"]) < 1e-7
    assert relative_error(crops.grad, given["grad_edge_crops_at_scale_5"]) < 1e-7


def test_chunk_states_against_loops():
    torch.manual_seed(0)
    states = torch.randn(2, 6, 3, dtype=torch.float64, requires_grad=True)
    chunks = torch.tensor([[[1, 3], [2, 6], [0, 0]], [[0, 1], [3, 5], [1, 5]]])
    ours = chunk_states(states, chunks)
    for n in range(2):
        for c in range(3):
            first, end = chunks[n, c].tolist()
            norms = [math.exp(math.sqrt(sum(x.item() ** 2 for x in states[n, t]))) for t in range(first, end)]
            expected = sum(norm / sum(norms) * states[n, first + i] for i, norm in enumerate(norms))
            torch.testing.assert_close(ours[n, c], torch.zeros_like(ours[n, c]) + expected, rtol=0, atol=1e-12)
    (gradient,) = torch.autograd.grad(ours[0, 0].sum(), states)
    assert gradient[0].sum(0).tolist() == pytest.approx([1, 1, 1])  # constant weights that sum to one


def random_rows():
    torch.manual_seed(1)
    chunks = normalize(torch.randn(4, 3, 5, dtype=torch.float64), dim=-1).requires_grad_()
    crops = normalize(torch.randn(4, 2, 5, dtype=torch.float64), dim=-1).requires_grad_()
    return chunks, crops


@pytest.mark.parametrize("scale", [0.5, 60.0])
def test_chunk_term_against_loops(scale):
    chunks, crops = random_rows()
    has_chunk = torch.tensor([[True, True, False], [True] * 3, [False] * 3, [True, False, False]])
    has_crop = torch.tensor([[True, True], [False, False], [True, False], [False, True]])
    sharpness = min(100.0, scale / 0.07)
    captions = []
    for n in range(4):
        if not (has_crop[n].any() and has_chunk[n].any()):
            continue
        losses = []
        for c in has_chunk[n].nonzero().flatten():
            shares = {
                (m, k): math.exp(sharpness * (chunks[n, c] @ crops[m, k]).item())
                for m, k in has_crop.nonzero().tolist()
            }
            losses.append(-math.log(sum(v for (m, _), v in shares.items() if m == n) / sum(shares.values())))
        captions.append(sum(losses) / len(losses))
    ours = chunk_term(chunks, crops, has_chunk, has_crop, torch.tensor(scale), **SHARPNESS)
    assert len(captions) == 2
    assert ours.item() == pytest.approx(sum(captions) / 2, rel=1e-6)


@pytest.mark.parametrize("missing", ["chunks", "crops", "both", "in turn"])
def test_nothing_to_compare_is_zero_with_a_gradient_of_zeros(missing):
    chunks, crops = (rows.detach().float().requires_grad_() for rows in random_rows())
    has_chunk = torch.full((4, 3), missing == "crops")
    has_crop = torch.full((4, 2), missing == "chunks")
    if missing == "in turn":  # no caption has both
        has_chunk, has_crop = has_chunk.index_fill(0, torch.tensor([0, 1]), True), has_crop.clone()
        has_crop[2:] = True
    loss = chunk_term(chunks, crops, has_chunk, has_crop, torch.tensor(60.0), **SHARPNESS)
    loss.backward()
    assert loss.item() == 0 and not chunks.grad.any() and not crops.grad.any()
