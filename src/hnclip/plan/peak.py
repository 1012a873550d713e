"""Bytes that a process holds at once in a training step: the model's state, a chunk's activations, comparisons."""

from math import ceil
from typing import Any

from hnclip.plan.tower import FP32, HALF, Tower
from hnclip.plan.towers import Towers
from hnclip.plan.workload import CHUNKS, Workload, kept, merged, passes, projected, trained

BLOCK = 1 << 24  # token pairs that late interaction compares at once
MATRICES = 6.0  # N x N, of a loss over pairs
TILES = 3.0  # of `tile` rows, of the contrastive term
MORE = ("goal", "longclip_pcm", "structxlip")  # methods with one further loss over pairs, by whole matrices


def processes(recipe: dict[str, Any]) -> int:
    """How many train a cell together."""
    return recipe["gpus"] * recipe["nodes"]


def parts(recipe: dict[str, Any], batch: int) -> int:
    """In how many parts a process encodes its share of a batch."""
    own = ceil(batch / processes(recipe))
    return ceil(own / (recipe["chunk"] or own))


def rows(recipe: dict[str, Any], batch: int) -> int:
    """Pairs that a process encodes at once."""
    return ceil(ceil(batch / processes(recipe)) / parts(recipe, batch))


def peak(work: Workload, towers: Towers, recipe: dict[str, Any], context: int, batch: int) -> float:
    """Bytes that each process holds at once.

    Captions are counted at the context's length, since the longest batch decides. The device's own context and its
    allocator's slack come on top.
    """
    encoded = activations(work, towers, recipe["precision"] != "32-true", context, recipe["checkpoint_activations"])
    chunked = recipe["chunk"] is not None
    return (
        state(work, towers, recipe)
        + rows(recipe, batch) * encoded
        + embeddings(work, towers, batch, context, chunked)
        + comparisons(work, towers, batch, context, processes(recipe), recipe["tile"])
    )


def state(work: Workload, towers: Towers, recipe: dict[str, Any]) -> float:
    """Weights, gradients and AdamW's two moments; under mixed precision a 16-bit copy of each weight during a pass.

    With `strategy: fsdp` a process has its share of what the blocks have, and one block's weights and gradients whole.
    """
    total = FP32 * (towers.parameters + 3.0 * trained(work, towers))
    if recipe["strategy"] == "fsdp":
        both = (towers.image, towers.text)
        blocks = sum(tower.layers * tower.block for tower in both)
        total -= FP32 * 4.0 * blocks * (1 - 1 / processes(recipe))
        total += FP32 * 2.0 * max(tower.block for tower in both)
    return total + (HALF * towers.parameters if recipe["precision"] != "32-true" else 0)


def activations(
    work: Workload, towers: Towers, mixed: bool, longest: int | None = None, recomputed: bool = False
) -> float:
    """Bytes that one pair's forward pass keeps; `recomputed`, what enters each block and all of one block."""
    if not recomputed:
        return kept(work, towers, mixed, longest)
    found = passes(work, towers, longest)
    outside = sum(
        tower.entry_kept(tokens, mixed, work.adapted)
        + tower.inputs(tokens)
        + projected(work, tower, tokens, read, mixed)
        for tower, tokens, read in found
    )

    def inside(which: Tower) -> float:
        return sum(
            tower.block_kept(tokens, tokens, mixed, work.adapted) - tower.inputs(tokens) / tower.layers
            for tower, tokens, _ in found
            if tower is which
        )

    return outside + max(inside(towers.image), inside(towers.text))


def embeddings(work: Workload, towers: Towers, batch: int, context: int, chunked: bool) -> float:
    """Bytes of a batch's embeddings, with their gradients where these are taken apart from encoding."""
    width = towers.embed_dim
    numbers = batch * len(work.rows) * width
    if work.kind == "hnclip":
        numbers += batch * (towers.patches + context - 2) * width
    if work.kind == "finelip":
        numbers += 2 * batch * (merged(work, towers) + 1) * width
    if work.kind == "structxlip":
        numbers += batch * CHUNKS * width
    return FP32 * numbers * (2 if chunked else 1)


def comparisons(
    work: Workload, towers: Towers, batch: int, context: int, processes: int = 1, tile: int | None = None
) -> float:
    """Bytes of what a process compares: its own rows with all of the batch, a tile of them at once.

    Of two tokens of all pairs only the places of the best are kept, in 64 bits, and a block is compared at once.
    """
    own = ceil(batch / processes)
    numbers = batch * (TILES * min(tile, own) if tile else MATRICES * own)
    if work.kind in MORE:
        numbers += MATRICES * batch**2
    if work.kind == "hnclip":
        patches, words = towers.patches, context - 2
        numbers += 2.0 * own * batch * (patches + words) + 3.0 * min(BLOCK, own * batch * patches * words)
    if work.kind == "finelip":
        count = merged(work, towers) + 1
        numbers += 4.0 * own * batch * count + 2.0 * min(BLOCK, own * batch * count**2)
    if work.kind == "structxlip":
        numbers += 3.0 * own * batch * CHUNKS * (work.images - 2)
    return FP32 * numbers
