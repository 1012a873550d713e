"""What a framework computes for a batch: how many rows go through each tower, and what it compares beside them."""

from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple

from hnclip import frameworks, inputs
from hnclip.plan.tower import FP32, HALF, PROJECTIONS, Adapted, Tower
from hnclip.plan.towers import Towers

SENTENCE = 25  # tokens of a sentence, start and end included
REMOVED = 8  # tokens that the filter takes out of a caption [specified for DOCCI and DCI: 6 words]
CHUNKS = 64  # most chunks of a caption
CHUNKED = 80  # tokens that lie in them: windows slide by a word, through a few clauses
REGION = 0.25  # of an image's patches, of the region that its best sentence tells of [assumed]
HIDDEN = 0.2  # of an aggregator, as a share of its tokens' width
FULL = 3.0  # forward and backward pass over the forward pass
PASSES = 4.0  # reads and writes of what is kept and of its gradient
WRITES = 2.0  # the same of a forward pass alone
ALL = inf
# Token states that a framework reads of its rows, beside one: of an image the share of its patches, of a text how many.
# Rows that are not named are read at one token; a framework that is not named here reads all of everything.
STATES = {
    "longclip": {},
    "longclip_pcm": {},
    "lora": {},
    "dora": {},
    "goal": {"image": REGION, "text": SENTENCE - 2},
    "structxlip": {"filtered_text": CHUNKED},
}
TOKENS = ("hnclip", "finelip")  # those that compare all tokens with all


class Row(NamedTuple):
    """An image or a text of a pair: its tokens (None for an image), and those whose states are read (`STATES`)."""

    name: str
    tokens: float | None
    states: float


@dataclass(frozen=True)
class Workload:
    """A framework's rows of one pair, and its adapters, if it trains these and not all of the backbone."""

    kind: str
    rows: tuple[Row, ...]
    adapted: Adapted | None = None
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def images(self) -> int:
        return sum(row.tokens is None for row in self.rows)

    @property
    def caption(self) -> float:
        """Tokens of the caption."""
        return next(row.tokens for row in self.rows if row.name == "text")


class Pass(NamedTuple):
    """A row in its tower: its tokens, and those read after the last block."""

    tower: Tower
    tokens: float
    read: float


def workload(entry: dict[str, Any], caption: float) -> Workload:
    """Of a framework's entry: `caption` tokens a caption; the further rows follow from the fields that it reads."""
    kind, options = entry["kind"], entry.get("options", {})
    fields = {"image", "text", *frameworks.fields(kind)}
    lengths = {
        "text": caption,
        "crop_text": min(SENTENCE, caption),
        "short_text": min(SENTENCE, caption),
        "filtered_text": max(caption - REMOVED, 2),
    }
    images = [name for name in ("image", "crop", "edge") if name in fields]
    images += ["edge_crops"] * (int(inputs.wanted(entry).get("edge_crops", 0)) * ("edge_crops" in fields))
    states = STATES.get(kind, dict.fromkeys(fields, ALL))
    if kind == "structxlip" and options.get("chunk_states") == "released":
        states = {"text": CHUNKED}
    rows = [Row(name, None, states.get(name, 0)) for name in images]
    rows += [Row(name, length, states.get(name, 0)) for name, length in lengths.items() if name in fields]
    adapted = Adapted(options.get("rank", 16), kind == "dora") if kind in ("lora", "dora") else None
    return Workload(kind, tuple(rows), adapted, options)


def passes(work: Workload, towers: Towers, longest: int | None = None) -> list[Pass]:
    """The rows of one pair in their towers; with `longest`, captions and what is made of them are as long as that."""
    found = []
    for name, tokens, states in work.rows:
        tower = towers.image if tokens is None else towers.text
        count = towers.image_tokens if tokens is None else tokens
        if longest is not None and name in ("text", "filtered_text"):
            count = longest
        found.append(Pass(tower, count, min(count, 1 + states * (count - 1 if tokens is None else 1))))
    return found


def forward(work: Workload, towers: Towers) -> float:
    """Operations of one pair's forward pass through the towers."""
    return sum(tower.forward(tokens, read) for tower, tokens, read in passes(work, towers))


def training(work: Workload, towers: Towers, batch: int, context: int, again: float = 0.0) -> float:
    """Operations of one pair's forward and backward pass, its share of the batch's comparisons included.

    Frozen weights need no gradient of their own, which is one of the three products. `again` is how many times
    a pair is encoded once more.
    """
    total = FULL * compared(work, towers, batch, context) + again * forward(work, towers)
    for tower, tokens, read in passes(work, towers):
        total += tower.adapted(tokens, read, work.adapted) if work.adapted else tower.training(tokens, read)
    return total + (_norms(work, towers) / batch if work.adapted and work.adapted.dora else 0)


def _norms(work: Workload, towers: Towers) -> float:
    """Operations of a pass in products of adapters: DoRA takes the norm of each adapted weight."""
    return sum(
        tower.layers * PROJECTIONS * 4 * tower.width**2 * work.adapted.rank for tower in (towers.image, towers.text)
    )


def compared(work: Workload, towers: Towers, batch: int, context: int) -> float:
    """Forward operations of one pair's share in what is computed of embeddings: projections, similarities."""
    width, patches, caption = towers.embed_dim, towers.patches, work.caption
    total = 2.0 * batch * width
    if work.kind in TOKENS:
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
    if work.adapted:
        rank, dora = work.adapted.rank, work.adapted.dora
        widths = [(tower.layers, tower.width) for tower in (towers.image, towers.text)]
        return sum(layers * PROJECTIONS * (2 * width * rank + width * dora) for layers, width in widths)
    if work.kind == "finelip":
        width, count = towers.embed_dim, merged(work, towers)
        hidden = int(HIDDEN * width)
        return towers.parameters + 2 * (2 * width + (width + 1) * hidden + (hidden + 1) * count + 1)
    return towers.parameters


def kept(work: Workload, towers: Towers, mixed: bool, longest: int | None = None) -> float:
    """Bytes that one pair's forward pass keeps; with `longest`, its captions being so long."""
    found = passes(work, towers, longest)
    return sum(tower.kept(tokens, read, mixed, work.adapted) for tower, tokens, read in found) + sum(
        projected(work, *one, mixed) for one in found
    )


def projected(work: Workload, tower: Tower, tokens: float, read: float, mixed: bool) -> float:
    """Bytes kept of a row where all its tokens go through the last norm and projection, to be compared as tokens.

    The inputs of norm and projection, and what comes out, in fp32; FineLIP's modules keep another norm's output and,
    as a share of it, their hidden layer's on both sides of its activation.
    """
    if work.kind not in TOKENS:
        return 0.0
    numbers = 2 + 2 * HIDDEN if work.kind == "finelip" else 1
    return read * ((FP32 + (HALF if mixed else FP32)) * tower.width + FP32 * numbers * tower.embed_dim)


def traffic(work: Workload, towers: Towers, mixed: bool, rows: int, again: float = 0.0) -> float:
    """Bytes of one pair that a step moves beside the operands of products.

    What is kept is written and read, and so is its gradient; it is made `again` so many times. DoRA reads and writes
    each adapted weight some eight times a pass of `rows`, for its norm.
    """
    moved = (PASSES + WRITES * again) * kept(work, towers, mixed)
    if work.adapted and work.adapted.dora:
        squares = sum(tower.layers * tower.width**2 for tower in (towers.image, towers.text))
        moved += 2 * PASSES * FP32 * PROJECTIONS * squares / rows
    return moved
