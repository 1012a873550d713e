"""What a framework computes for a batch: how many rows go through each tower, and what it compares beside them."""

from dataclasses import dataclass, field
from typing import Any

from hnclip import frameworks, inputs
from hnclip.plan.towers import Tower, Towers

SENTENCE = 25  # tokens of a sentence, start and end included
REMOVED = 8  # tokens that the filter takes out of a caption [specified for DOCCI and DCI: 6 words]
CHUNKS = 64  # most chunks of a caption
ADAPTED = 4  # projections of a block that an adapter sits on
HIDDEN = 0.2  # of an aggregator, as a share of its tokens' width
BLOCK = 1 << 24  # token pairs that late interaction compares at once
FULL, FP32 = 3.0, 4  # forward and backward pass over the forward pass; bytes of a number
PASSES = 4.0  # reads and writes of what is kept and of its gradient


@dataclass(frozen=True)
class Workload:
    """A framework's rows of one pair, and whether all of the backbone is trained or adapters of this rank."""

    kind: str
    images: int
    texts: tuple[float, ...]  # tokens of each text of a pair
    rank: int | None = None
    dora: bool = False
    options: dict[str, Any] = field(default_factory=dict)


def workload(entry: dict[str, Any], caption: float) -> Workload:
    """Of a framework's entry: `caption` tokens a caption; the further rows follow from the fields that it reads."""
    kind = entry["kind"]
    fields, _ = frameworks.declared(kind)
    crops = int(inputs.wanted(entry).get("edge_crops", 0))
    images = 1 + ("crop" in fields) + ("edge" in fields) + crops * ("edge_crops" in fields)
    texts = [caption]
    texts += [min(SENTENCE, caption)] * (("crop_text" in fields) + ("short_text" in fields))
    texts += [max(caption - REMOVED, 2)] * ("filtered_text" in fields)
    options = entry.get("options", {})
    adapts = kind in ("lora", "dora")
    return Workload(kind, images, tuple(texts), options.get("rank", 16) if adapts else None, kind == "dora", options)


def forward(work: Workload, towers: Towers) -> float:
    """Operations of one pair's forward pass through the towers."""
    return work.images * towers.image.forward(towers.image_tokens) + sum(map(towers.text.forward, work.texts))


def training(work: Workload, towers: Towers, batch: int, context: int, chunked: bool) -> float:
    """Operations of one pair's forward and backward pass, its share of the batch's comparisons included.

    Frozen weights need no gradient of their own, which is one of the three products. With `chunked` rows are
    encoded twice.
    """
    passes = [(towers.image, towers.image_tokens)] * work.images + [(towers.text, length) for length in work.texts]
    if work.rank is None:
        total = FULL * forward(work, towers)
    else:
        total = sum(_adapted(work, tower, tokens, batch) for tower, tokens in passes)
    if chunked:
        total += forward(work, towers)
    return total + FULL * compared(work, towers, batch, context)


def _adapted(work: Workload, tower: Tower, tokens: float, batch: int) -> float:
    """Operations of one row where adapters are trained; DoRA takes the norm of each adapted weight once a pass."""
    rank, width = work.rank, tower.width
    added = tower.layers * ADAPTED * 4 * tokens * width * rank
    norms = tower.layers * ADAPTED * 4 * width**2 * rank / batch if work.dora else 0
    return 2 * tower.linear(tokens) + FULL * tower.attention(tokens) + FULL * added + norms


def compared(work: Workload, towers: Towers, batch: int, context: int) -> float:
    """Forward operations of one pair's share in what is computed of embeddings: projections, similarities."""
    width, patches, caption = towers.embed_dim, towers.patches, work.texts[0]
    total = 2.0 * batch * width
    if work.kind in ("hnclip", "finelip"):
        total += 2.0 * width * (patches * towers.image.width + caption * towers.text.width)
    if work.kind == "hnclip":
        total += 2.0 * batch * patches * min(1.3 * caption, context) * width
    if work.kind == "finelip":
        hidden, count = int(HIDDEN * width), merged(work, towers)
        total += (patches + caption) * 2 * (width * hidden + hidden * count + count * width)
        total += 2.0 * batch * (count + 1) ** 2 * width
    if work.kind == "structxlip":
        total += CHUNKS * 2.0 * (caption + width) * towers.text.width
        total += 2.0 * batch * CHUNKS * work.images * width
    return total


def merged(work: Workload, towers: Towers) -> int:
    """Tokens that FineLIP's modules leave of an item."""
    return max(1, int(work.options.get("ratio", HIDDEN) * towers.patches))


def trained(work: Workload, towers: Towers) -> int:
    """Parameters that training changes."""
    if work.rank is not None:
        widths = [(tower.layers, tower.width) for tower in (towers.image, towers.text)]
        return sum(n * ADAPTED * (2 * width * work.rank + width * work.dora) for n, width in widths)
    if work.kind == "finelip":
        width, count = towers.embed_dim, merged(work, towers)
        hidden = int(HIDDEN * width)
        return towers.parameters + 2 * (2 * width + (width + 1) * hidden + (hidden + 1) * count + 1)
    return towers.parameters


def kept(work: Workload, towers: Towers, texts: list[float], mixed: bool) -> float:
    """Bytes that one pair's forward pass keeps, its texts being so long.

    Beside frozen weights the inputs of the MLP's products are not kept; DoRA keeps two outputs a projection.
    """
    further = [0.0, 0.0]
    if work.rank is not None:
        dora = 2 * ADAPTED if work.dora else 0
        further = [dora - 1 - tower.mlp_ratio for tower in (towers.image, towers.text)]
    quick = towers.quick_gelu
    total = work.images * towers.image.kept(towers.image_tokens, mixed, quick, further[0])
    return total + sum(towers.text.kept(length, mixed, quick, further[1]) for length in texts)


def traffic(work: Workload, towers: Towers, mixed: bool, batch: int) -> float:
    """Bytes of one pair that a step moves beside the operands of products.

    What is kept is written and read, and so is its gradient. DoRA reads and writes each adapted weight some eight
    times a pass, for its norm.
    """
    moved = PASSES * kept(work, towers, list(work.texts), mixed)
    if work.dora:
        squares = sum(tower.layers * tower.width**2 for tower in (towers.image, towers.text))
        moved += 2 * PASSES * FP32 * ADAPTED * squares / batch
    return moved


def held(work: Workload, towers: Towers, batch: int, context: int, chunked: bool) -> float:
    """Bytes of a batch's embeddings with their gradients, and of the comparisons of all its pairs."""
    width, patches, words = towers.embed_dim, towers.patches, context - 2
    rows, pairs = batch * (work.images + len(work.texts)) * width, batch**2 * 6.0
    if work.kind == "hnclip":
        rows += batch * (patches + words) * width
        pairs += 3.0 * batch**2 * patches * words
    if work.kind == "finelip":
        count = merged(work, towers) + 1
        rows += 2 * batch * count * width
        pairs += 4.0 * batch**2 * count + 2.0 * min(BLOCK, batch**2 * count**2)
    if work.kind == "structxlip":
        rows += batch * CHUNKS * width
        pairs += 3.0 * batch**2 * CHUNKS * (work.images - 2)
    return FP32 * (rows * (2 if chunked else 1) + pairs)
