"""What two processes find of shared terms, held against one process: run by test_shared.py, once for everything."""

import os
import sys

import torch
from drawn_pairs import SETTINGS, drawn, gradients
from torch import distributed
from torch.nn.functional import normalize

from hnclip import BoostedClipLoss, processes
from hnclip.losses.chunks import chunk_term
from hnclip.losses.contrastive import info_nce
from hnclip.losses.entry import STRENGTH, TILED_BASES, TILED_BOOSTS, LossEntry
from hnclip.losses.late import shared_similarity
from hnclip.losses.objective import BOOSTS, Tables, contrastive
from hnclip.losses.shared import row_shared, rows_shared
from hnclip.losses.token import token_term
from hnclip.losses.triplet import triplet_hardest

COUNT = 7  # does not divide evenly
GENERATOR = torch.Generator()


def made(*shape):
    return normalize(torch.randn(*shape, dtype=torch.float64, generator=GENERATOR), dim=-1).requires_grad_()


def contrastive_terms():
    """Every base with every boost, whole and in tiles, masked or not; and a batch with fewer rows than processes."""
    for count in (COUNT, 1):
        ids = torch.randperm(COUNT, generator=torch.Generator().manual_seed(4))[:count]
        tables = Tables(made(COUNT, 4).detach(), torch.tensor([0, 1, 0, 2, 3, 1, 0]))
        for base, keys in SETTINGS:
            for boost in ("none", *BOOSTS):
                for masked in (False, True):
                    more = {} if boost == "none" else {STRENGTH[boost]: 0.5}
                    if base == "infonce" and masked:
                        more["label_smoothing"] = 0.1
                    entry = LossEntry(base=base, boost=boost, mask_duplicates=masked, **keys, **more)
                    for tile in (None, 2) if base in TILED_BASES and boost in TILED_BOOSTS else (None,):
                        leaves = drawn(count=count)

                        def take(leaves=leaves, entry=entry, tile=tile, ids=ids, tables=tables):
                            term = contrastive(entry, torch.Generator().manual_seed(1), tables, tile)
                            return term(*leaves, ids)

                        yield f"{base} {boost} masked={masked} tile={tile} rows={count}", take, leaves


def token_terms(count):
    """The terms of frameworks that compare tokens."""
    patches, words, scale = made(count, 3, 4), made(count, 5, 4), torch.tensor(9.0, requires_grad=True)
    length = torch.tensor([5, 2, 3, 1, 4, 5, 2])[:count]
    has_chunk, has_crop = (torch.arange(count * k).view(count, k) % 4 != 1 for k in (5, 3))
    sharpness = {"tau": 0.7, "cap": 100.0}
    for name, take in (
        ("token term", lambda: token_term(patches, words, length, scale)),
        ("late", lambda: triplet_hardest(shared_similarity(patches, words), 0.2)),
        ("chunks", lambda: chunk_term(words, patches, has_chunk, has_crop, scale, **sharpness)),
    ):
        yield f"{name} rows={count}", take, (words, patches, scale)


def alone(take, leaves):
    """What one process finds."""
    world, processes.world = processes.world, lambda: 1
    try:
        value = take()
        return [value.detach(), *torch.autograd.grad(value, leaves, allow_unused=True)]
    finally:
        processes.world = world


def check_shared():
    for name, take, leaves in (*contrastive_terms(), *token_terms(COUNT), *token_terms(1)):
        expected = alone(take, leaves)
        value = take()
        found = [value.detach(), *torch.autograd.grad(value, leaves, allow_unused=True)]
        for one, other in zip(found, expected, strict=True):
            assert (one is None) == (other is None), name
            if one is not None:
                torch.testing.assert_close(
                    one, other, rtol=1e-9, atol=1e-12, msg=lambda text, name=name: f"{name}: {text}"
                )
        everyones = processes.summed(value.detach())
        assert torch.equal(everyones, 2 * value.detach()), f"{name}: not alike in both processes"


def check_only_own_rows_are_computed():
    seen, rows = [], made(COUNT, 4)
    row_shared(lambda own, rows: seen.append(own) or rows[own].sum(), COUNT, rows)
    rows_shared(lambda own, rows: seen.append(own) or rows[own], COUNT, rows)
    assert seen == [processes.share(COUNT, processes.rank(), 2)] * 2, seen


def check_drop_in():
    """`BoostedClipLoss`, with each of open_clip's ways to gather, has one process's mean value and gradients."""
    image, text, scale = drawn(count=6)
    own = slice(3 * processes.rank(), 3 * processes.rank() + 3)
    offset = 0.5 * (text @ text.T).detach().fill_diagonal_(0)
    expected = info_nce(image, text, scale, offset)
    share = [2 * gradient[own] for gradient in gradients(expected, (image, text))]
    for local_loss in (False, True):
        for with_grad in (False, True):
            loss = BoostedClipLoss(local_loss, with_grad, rank=processes.rank(), world_size=2)
            rows = [each.detach()[own].requires_grad_() for each in (image, text)]
            value = loss(*rows, scale)
            name = f"local_loss={local_loss} gather_with_grad={with_grad}"
            torch.testing.assert_close(
                processes.summed(value) / 2, expected.detach(), msg=lambda text, name=name: name + text
            )
            if with_grad:  # the mean over processes, as DistributedDataParallel takes it, is the gradient
                for one, other in zip(gradients(value, rows), share, strict=True):
                    torch.testing.assert_close(one, other, msg=lambda text, name=name: name + text)


if __name__ == "__main__":
    torch.set_num_threads(1)
    os.environ.update(RANK=sys.argv[1], WORLD_SIZE="2")
    distributed.init_process_group("gloo", init_method=f"file://{sys.argv[2]}", rank=int(sys.argv[1]), world_size=2)
    GENERATOR.manual_seed(3)
    check_shared()
    check_only_own_rows_are_computed()
    check_drop_in()
    distributed.destroy_process_group()
    print("done")
