"""A batch's rows encoded in parts, twice: once for their embeddings, once to carry gradients to the weights."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import torch
from torch import nn

Batch = dict[str, torch.Tensor]
Encode = Callable[[Batch], Batch]
RandomState = list[tuple[torch.device, torch.Tensor]]


@dataclass
class Chunk:
    """Rows that are encoded at once, over a whole run: fewer from the moment at which a GPU has no room for them.

    `weights` are all that `encode` trains; their gradients are set aside while a part's are taken, so that a part that
    finds no room has added nothing. Without them the rows stay as they are and the GPU's error is raised, as it must
    be where processes exchange weights while they encode (FSDP) and have to encode in step.
    """

    rows: int
    weights: Sequence[nn.Parameter] = ()

    def shrink(self, failed: int, error: torch.OutOfMemoryError) -> None:
        """Take half of the `failed` rows from now on; raises where that cannot be, with what to set."""
        if not self.weights:
            raise error
        if failed == 1:
            raise ValueError(
                "the GPU has no room to encode one row: set `checkpoint_activations: true` or precision bf16-mixed, "
                "or take a smaller backbone"
            ) from error
        fewer = (failed + 1) // 2
        if fewer >= self.rows:  # another part of this step, made before they were fewer
            return
        self.rows = fewer
        print(
            f"chunk: the GPU has no room to encode {failed} rows at once, {fewer} are from now on; the gradient is the "
            f"same but for rounding (`chunk: {fewer}` in the recipe starts with them)",
            flush=True,
        )


@dataclass
class Encoded:
    """A batch encoded in parts: each part's rows and random state, all embeddings, and the last part's with graph."""

    parts: list[torch.Tensor]
    states: list[RandomState]
    z: Batch
    last: list[Batch]  # taken out when used, so that nothing keeps its activations


def first_pass(encode: Encode, batch: Batch, chunk: Chunk, most: int) -> Encoded:
    """Encode all rows, in fewer at once until they find room; `most` is the largest share of a process."""
    start = random_state(batch)
    while True:
        parts = _parts(batch, -(-most // chunk.rows))
        try:
            return _encoded(encode, batch, parts)
        except torch.OutOfMemoryError as error:
            chunk.shrink(max(map(len, parts)), error)
        torch.cuda.empty_cache()
        set_random_state(start)


def _encoded(encode: Encode, batch: Batch, parts: list[torch.Tensor]) -> Encoded:
    states, z = [], {}
    for number, part in enumerate(parts):
        states.append(random_state(batch))
        with nullcontext() if number == len(parts) - 1 else torch.no_grad():
            found = encode(_rows(batch, part))
        for key, value in found.items():
            if number == 0:
                z[key] = value.new_empty(sum(map(len, parts)), *value.shape[1:])
            z[key][part] = value.detach()
    return Encoded(parts, states, z, [found])


def second_pass(encode: Encode, batch: Batch, chunk: Chunk, encoded: Encoded, gradients: Batch) -> None:
    """Carry the embeddings' gradients to the weights, the last part first, whose activations are there."""
    left: list[tuple[torch.Tensor, RandomState]] = list(zip(encoded.parts, encoded.states, strict=True))
    while left:
        part, state = left.pop()
        if not encoded.last:
            set_random_state(state)
        try:
            with _added_at_once(chunk.weights):
                _carry(encode, batch, part, encoded.last, gradients)
            continue
        except torch.OutOfMemoryError as error:
            chunk.shrink(len(part), error)
        torch.cuda.empty_cache()
        halves = part.split(chunk.rows)
        left += [(half, [] if number else state) for number, half in enumerate(halves)][::-1]  # draws run on


def _carry(encode: Encode, batch: Batch, part: torch.Tensor, ready: list[Batch], gradients: Batch) -> None:
    """Add the weights' gradient of these rows, whose embeddings are `ready` or made again."""
    z = ready.pop() if ready else encode(_rows(batch, part))
    reached = [key for key in gradients if z[key].requires_grad]
    if reached:
        torch.autograd.backward([z[key] for key in reached], [gradients[key][part] for key in reached])


@contextmanager
def _added_at_once(weights: Sequence[nn.Parameter]) -> Iterator[None]:
    """Add to the weights' gradients all that is taken within, or nothing where that fails.

    What this holds beside the activations it takes only as these become free, weight by weight.
    """
    before = [weight.grad for weight in weights]
    for weight in weights:
        weight.grad = None
    try:
        yield
    except BaseException:
        for weight, gradient in zip(weights, before, strict=True):
            weight.grad = gradient
        raise
    for weight, gradient in zip(weights, before, strict=True):
        if gradient is not None:
            if weight.grad is not None:
                gradient += weight.grad
            weight.grad = gradient


def _parts(batch: Batch, count: int) -> list[torch.Tensor]:
    """The rows in `count` parts as even as may be, also in caption length, so that none holds much more than another.

    The last part is the largest: encoded first with its graph, it finds out what has room.
    """
    held = next(iter(batch.values()))
    order = torch.arange(len(held), device=held.device)
    if "text_length" in batch:
        order = batch["text_length"].argsort(descending=True, stable=True)
    count = min(count, len(held))
    return [order[first::count].sort().values for first in reversed(range(count))]


def _rows(batch: Batch, rows: torch.Tensor) -> Batch:
    return {key: value[rows] for key, value in batch.items()}


def random_state(batch: Batch) -> RandomState:
    """The state of the CPU's generator and of those of the GPUs that the batch lies on."""
    devices = {value.device for value in batch.values() if value.device.type == "cuda"}
    gpus = [(device, torch.cuda.get_rng_state(device)) for device in devices]
    return [(torch.device("cpu"), torch.get_rng_state()), *gpus]


def set_random_state(state: RandomState) -> None:
    for device, value in state:
        if device.type == "cpu":
            torch.set_rng_state(value)
        else:
            torch.cuda.set_rng_state(value, device)
