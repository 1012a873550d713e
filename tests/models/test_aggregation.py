"""Merged tokens: the definition with loops, the reference, and what lies beyond the end token."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from hnclip.losses.late import late_similarity
from hnclip.losses.triplet import triplet_all, triplet_hardest
from hnclip.models.aggregation import TokenAggregator, image_tokens, text_tokens

GOLDEN = Path(__file__).parents[1] / "golden" / "finelip.npz"
WIDTH, COUNT = 10, 3


@pytest.fixture
def aggregator():
    torch.manual_seed(0)
    made = TokenAggregator(WIDTH, COUNT).double()
    with torch.no_grad():
        made.scale.fill_(1.7)
        for weight in made.weigh.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return made


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def affine(weight: list[list[float]], bias: list[float], values: list[float]) -> list[float]:
    return [b + sum(w * x for w, x in zip(row, values, strict=True)) for row, b in zip(weight, bias, strict=True)]


def by_hand(aggregator: TokenAggregator, tokens: list[list[float]]) -> list[list[float]]:
    """The K merged tokens of one item, with loops."""
    scale, *weights = (w.detach().tolist() for w in (aggregator.scale, *aggregator.weigh.parameters()))
    gain, bias, first, first_bias, second, second_bias = weights
    logits = []
    for token in tokens:
        mean = sum(token) / WIDTH
        spread = math.sqrt(sum((value - mean) ** 2 for value in token) / WIDTH + 1e-5)
        normed = [(x - mean) / spread * w + b for x, w, b in zip(token, gain, bias, strict=True)]
        hidden = affine(first, first_bias, normed)
        hidden = [value / 2 * (1 + math.erf(value / math.sqrt(2))) for value in hidden]
        logits.append([scale * value for value in affine(second, second_bias, hidden)])
    merged = []
    for k in range(COUNT):
        weights = [math.exp(row[k]) for row in logits]
        share = [weight / sum(weights) for weight in weights]
        merged.append([sum(s * token[d] for s, token in zip(share, tokens, strict=True)) for d in range(WIDTH)])
    return merged


def unit(rows: list[list[float]]) -> list[float]:
    return [value / math.sqrt(sum(x * x for x in row)) for row in rows for value in row]


def test_images_keep_the_class_token_apart(aggregator):
    tokens = drawn(2, 7, WIDTH)
    ours = image_tokens(aggregator, tokens)
    for n, (class_token, *patches) in enumerate(tokens.tolist()):
        expected = unit([class_token, *by_hand(aggregator, patches)])
        assert ours[n].flatten().tolist() == pytest.approx(expected, abs=1e-12)


def test_captions_merge_up_to_the_end_token_and_append_it(aggregator):
    tokens, lengths = drawn(3, 9, WIDTH), [9, 4, 2]
    ours = text_tokens(aggregator, tokens, torch.tensor(lengths))
    for n, length in enumerate(lengths):
        *merged, end = tokens[n, :length].tolist()
        assert ours[n].flatten().tolist() == pytest.approx(unit([*by_hand(aggregator, merged), end]), abs=1e-12)


def test_padding_never_enters(aggregator):
    tokens, length = drawn(3, 9, WIDTH).requires_grad_(), torch.tensor([5, 4, 9])
    ours = text_tokens(aggregator, tokens, length)
    ours.square().sum().backward()
    padding = torch.arange(9) >= length[:, None]
    other = torch.where(padding[..., None], 1e6, tokens.detach())
    assert torch.equal(text_tokens(aggregator, other, length), ours)
    assert (tokens.grad[padding] == 0).all()
    assert torch.equal(text_tokens(aggregator, tokens[:2, :5], length[:2]), ours[:2])


def test_the_hidden_layer_is_a_fifth_of_the_width():
    assert [TokenAggregator(width, 39).weigh[1].out_features for width in (512, 768, 3)] == [102, 153, 1]
    assert 2 * sum(weight.numel() for weight in TokenAggregator(512, 39).parameters()) == 114_736


def test_autocast_is_left(aggregator):
    aggregator = aggregator.float()
    tokens, length = drawn(3, 9, WIDTH).float(), torch.tensor([5, 4, 9])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        image, text = image_tokens(aggregator, tokens), text_tokens(aggregator, tokens.bfloat16(), length)
    assert torch.equal(image, image_tokens(aggregator, tokens))
    assert torch.equal(text, text_tokens(aggregator, tokens.bfloat16().float(), length))


def from_golden(golden, name: str) -> TokenAggregator:
    made = TokenAggregator(32, 39).double()
    made.load_state_dict(
        {
            "scale": torch.from_numpy(golden[f"{name}__scale"]).reshape(()),
            **{
                f"weigh.{layer}.{kind}": torch.from_numpy(golden[f"{name}__weight__{layer}__{kind}"])
                for layer in (0, 1, 3)
                for kind in ("weight", "bias")
            },
        }
    )
    return made


def relative_error(ours: torch.Tensor, golden: np.ndarray) -> float:
    return float(np.abs(ours.detach().numpy() - golden).max() / np.abs(golden).max())


def test_the_reference():
    golden = np.load(GOLDEN)
    image, text = (torch.from_numpy(golden[name]).requires_grad_() for name in ("image_tokens", "text_tokens"))
    length = torch.from_numpy(golden["lengths_including_eot"])
    score = late_similarity(
        image_tokens(from_golden(golden, "aggr_net"), image),
        text_tokens(from_golden(golden, "cap_aggr_net"), text, length),
    )
    loss = triplet_all(score, 0.2)
    loss.backward()
    assert relative_error(score, golden["similarity"]) < 1e-6
    assert relative_error(loss, golden["triplet_sum"]) < 1e-6
    assert relative_error(triplet_hardest(score, 0.2), golden["triplet_hardest"]) < 1e-6
    assert relative_error(image.grad, golden["grad_image_tokens"]) < 1e-6
    assert relative_error(text.grad, golden["grad_text_tokens"]) < 1e-6
