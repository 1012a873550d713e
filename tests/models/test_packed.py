"""Packed captions against a loop over captions and tokens, in float64."""

import pytest
import torch

from hnclip.models.packed import Packed

LENGTHS, HEADS, WIDTH = [3, 1, 5, 3], 2, 4


def one_token(query_D, key_TD, value_TD):
    """Attention of one token of one head, from its definition."""
    scores = torch.stack([query_D @ key_D for key_D in key_TD]) / WIDTH**0.5
    return sum(share * value_D for share, value_D in zip(scores.softmax(0), value_TD, strict=True))


def by_definition(query, key, value):
    out, start = torch.empty_like(query), 0
    for length in LENGTHS:
        for token in range(start, start + length):
            for head in range(HEADS):
                seen = slice(start, token + 1)
                out[0, token, head] = one_token(query[0, token, head], key[0, seen, head], value[0, seen, head])
        start += length
    return out


@pytest.fixture
def states():
    generator = torch.Generator().manual_seed(0)
    shape = (1, sum(LENGTHS), HEADS, WIDTH)
    return [torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_() for _ in range(3)]


@pytest.mark.parametrize("way", ["one_by_one", "padded"])
def test_a_token_sees_its_caption_up_to_itself(states, way):
    packed = Packed(LENGTHS, torch.device("cpu"))
    found, expected = getattr(packed, way)(*states), by_definition(*[part.detach() for part in states])
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    last = getattr(packed, way)(states[0][:, packed.last_N], *states[1:])
    torch.testing.assert_close(last, expected[:, packed.last_N], rtol=0, atol=1e-12)


def test_both_ways_have_the_same_gradients(states):
    packed = Packed(LENGTHS, torch.device("cpu"))
    weights = torch.arange(states[0].numel(), dtype=torch.float64).view(states[0].shape).sin()
    ways = (packed.one_by_one, packed.padded)
    one, other = (torch.autograd.grad((way(*states) * weights).sum(), states) for way in ways)
    torch.testing.assert_close(one, other, rtol=0, atol=1e-12)
    assert all(gradient.abs().max() > 0.01 for gradient in one)


def test_rows_are_filled_with_zeros_behind_the_end():
    filled_NT = Packed([2, 0, 3], torch.device("cpu")).filled(torch.arange(1.0, 6), 4)
    assert filled_NT.tolist() == [[1, 2, 0, 0], [0, 0, 0, 0], [3, 4, 5, 0]]
