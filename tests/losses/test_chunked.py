"""The loss in tiles against the definition with loops and against the whole matrix: values, gradients, memory."""

import pytest
import torch
from by_loops import infonce
from drawn_pairs import CLASSES, SAME, N, drawn, gradients

from hnclip.losses.chunked import tiled_info_nce
from hnclip.losses.contrastive import info_nce
from hnclip.losses.entry import BASE_KEYS, STRENGTH, TILED_BASES, TILED_BOOSTS, LossEntry
from hnclip.losses.factored import FACTORED
from hnclip.losses.objective import BOOSTS, Tables, contrastive

IDS = torch.tensor([3, 1, 4, 0, 5, 2])
TABLES = Tables(torch.nn.functional.normalize(torch.arange(24.0).view(6, 4).sin(), dim=-1), torch.arange(6))
every_boost = pytest.mark.parametrize("boost", TILED_BOOSTS)
RTOL = {torch.float64: 1e-11, torch.float32: 2e-5}


def entry(boost, strength=0.5, **more):
    return LossEntry(boost=boost, **({} if boost == "none" else {STRENGTH[boost]: strength}), **more)


def taken(loss, tile, leaves, tables=TABLES, ids=IDS):
    value = contrastive(loss, torch.Generator(), tables, tile)(*leaves, ids)
    return [value, *gradients(value, leaves)]


def close(ours, theirs, dtype):
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=RTOL[dtype], atol=RTOL[dtype] * float(other.detach().abs().max()))


def test_what_tiles_is_said_without_torch_as_it_is():
    assert set(FACTORED) == set(TILED_BOOSTS) and set(TILED_BOOSTS) < {"none", *BOOSTS}


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("masked", [False, True])
@every_boost
def test_against_loops(boost, masked, smoothing):
    image, text, scale = leaves = drawn()
    strength = {} if boost == "none" else {STRENGTH[boost]: 0.5}
    table = {"table_MD": TABLES.frozen_MD} if boost == "frozen" else {}
    added = torch.zeros(N, N, dtype=torch.float64)
    if boost != "none":
        added = BOOSTS[boost](image, text, IDS, torch.Generator(), **strength, **table)
    theirs = infonce(*leaves, added, SAME if masked else (), smoothing)
    classes_M = torch.zeros(N, dtype=torch.int64).scatter(0, IDS, CLASSES)
    tables = Tables(TABLES.frozen_MD, classes_M)
    ours = taken(entry(boost, mask_duplicates=masked, label_smoothing=smoothing), 4, leaves, tables)
    close(ours, [theirs, *gradients(theirs, leaves)], torch.float64)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("tile", [1, 16, 37, 1000])
@every_boost
def test_it_is_the_loss_of_the_whole_matrix(boost, tile, dtype):
    leaves, ids = drawn(count=37, dtype=dtype), torch.randint(6, (37,), generator=torch.Generator().manual_seed(2))
    for masked in (False, True):
        loss = entry(boost, mask_duplicates=masked, label_smoothing=0.1 * masked)
        close(taken(loss, tile, leaves, ids=ids), taken(loss, None, leaves, ids=ids), dtype)


@every_boost
def test_a_boost_of_no_strength_is_none_to_the_bit(boost):
    leaves = drawn(dtype=torch.float32)
    bare, zero = (taken(loss, 4, leaves) for loss in (entry("none"), entry(boost, 0.0)))
    if boost == "frozen":  # its zeros are part of a product twice as wide, which is summed in another order
        close(zero, bare, torch.float32)
    else:
        assert all(map(torch.equal, zero, bare))
    close(bare, [plain := info_nce(*leaves), *gradients(plain, leaves)], torch.float32)


@every_boost
def test_a_solved_batch_of_a_trained_scale_is_that_of_the_whole_matrix_in_fp32(boost):
    leaves = [torch.eye(N).requires_grad_(), torch.eye(N).requires_grad_(), torch.tensor(100.0, requires_grad=True)]
    tables = Tables(torch.eye(N), TABLES.text_class_M)
    ours, theirs = (taken(entry(boost), tile, leaves, tables) for tile in (4, None))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_logits_far_apart_are_finite_and_exact():
    image, text, _ = drawn(count=9, dtype=torch.float32)
    leaves = [image, text, torch.tensor(1000.0, requires_grad=True)]
    ids = torch.zeros(9, dtype=torch.int64)
    close(*(taken(entry("captions"), tile, leaves, ids=ids) for tile in (2, None)), torch.float32)


@pytest.mark.parametrize("count", [1, 2])
@every_boost
def test_the_smallest_batches(boost, count):
    leaves = drawn(count=count)
    ours, theirs = (taken(entry(boost), tile, leaves, ids=IDS[:count]) for tile in (1, None))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


def test_gradcheck_and_a_fixed_scale():
    image, text, scale = drawn()
    class_N = CLASSES
    assert torch.autograd.gradcheck(
        lambda *leaves: tiled_info_nce(*leaves, FACTORED["none"](*leaves[:2], IDS), 0.1, class_N, tile=4),
        (image, text, scale),
    )
    fixed = contrastive(entry("captions"), torch.Generator(), tile=4)(image, text, 7.0, IDS)
    close([fixed], [contrastive(entry("captions"), torch.Generator())(image, text, scale, IDS)], torch.float64)


def test_nothing_as_large_as_the_matrix_is_made():
    sizes = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            out = function(*args, **(kwargs or {}))
            sizes.extend(each.numel() for each in (out if isinstance(out, tuple) else (out,)) if torch.is_tensor(each))
            return out

    leaves = drawn(count=200, dtype=torch.float32)
    term = contrastive(entry("captions"), torch.Generator(), tile=8)
    with Watch():
        value = term(*leaves, torch.arange(200))
        value.backward()
    assert max(sizes) == 8 * 200


@pytest.mark.parametrize(
    ("loss", "named"),
    [
        (entry("shuffled"), "boost 'shuffled' cannot be taken in tiles"),
        (LossEntry(base="hardest", hinge=0.2), "base 'hardest' cannot be taken in tiles"),
        (
            LossEntry(base="soft", mix=0.1, sharpness=9.0, boost="shuffled", gamma=1.0),
            "base 'soft' and boost 'shuffled'",
        ),
    ],
)
def test_what_needs_the_whole_matrix_says_so(loss, named):
    with pytest.raises(ValueError, match=f"{named}.*leave `tile` null"):
        contrastive(loss, torch.Generator(), TABLES, tile=4)
    assert set(TILED_BASES) < set(BASE_KEYS)


def test_a_tile_without_rows_is_refused():
    with pytest.raises(ValueError, match="at least 1 row, not 0"):
        taken(entry("none"), 0, drawn())
