"""The gradient of one batch, whole or in the memory of a chunk, in one process or several.

Each process encodes its own rows of the batch; embeddings are gathered, so `losses` sees the rows of all. Weight
gradients are afterwards to be averaged over the processes (`hnclip.processes.average_gradients`): those of rows are
times the number of processes here, those of the losses' own weights are complete in each. A process without a row (a
batch of fewer rows than processes) is given any one row: it is encoded so that the same weights get a gradient as
elsewhere, is left out of what is gathered, and its gradient is zero.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from hnclip import processes
from hnclip.parts import Batch, Chunk, Encode, Encoded, first_pass, random_state, second_pass, set_random_state

Losses = Callable[[Batch], dict[str, torch.Tensor]]


def whole(
    encode: Encode,
    losses: Losses,
    batch: Batch,
    backward: Callable[[torch.Tensor], None],
    share: float,
    *,
    rows: int | None = None,
) -> dict[str, torch.Tensor]:
    """Add `share` times the gradient of the summed terms to the weights; returns the terms, detached.

    `batch` holds this process's rows of the `rows` that all have together (its own, by default). Nothing is added
    where the sum is not finite. Raises ValueError, with what to set, where the rows find no room on a GPU.
    """
    own = _own(batch, rows)
    held = len(next(iter(batch.values())))
    room = _room_or(
        f"the GPU has no room for a step of {held} rows at once: set `chunk` in the recipe below {held}, which gives "
        "the same gradient in the memory of so many rows; `checkpoint_activations: true` saves memory as well, and "
        "`tile` where the comparisons of all rows take it"
    )
    with room:
        terms = losses(processes.gathered(_mine(encode(batch), own), rows or held))
        total = sum(terms.values())
        if torch.isfinite(total):
            backward(total * share)
    return {name: term.detach() for name, term in terms.items()}


def chunked(
    encode: Encode,
    losses: Losses,
    batch: Batch,
    backward: Callable[[torch.Tensor], None],
    share: float,
    *,
    chunk: Chunk | int,
    rows: int | None = None,
) -> dict[str, torch.Tensor]:
    """The same gradient as `whole`, holding the activations of `chunk` rows only (GradCache, arXiv 2101.06983).

    Rows are encoded without gradient, in parts of even size; the losses give the gradient of each embedding; the rows
    are encoded again, from the same random state, to carry it to the weights. The last part, the largest, is encoded
    once: its activations wait while the losses are taken. The random state is afterwards as after the first
    encoding and the losses. What `encode` returns is held for all rows.

    A part without room on a GPU is encoded in halves (`Chunk`). At the first encoding all parts are made anew,
    the random draws too; at the second, where encoding draws at random, the halves of this one part draw other
    numbers in this one step than its embeddings saw. Raises ValueError where the losses have no room.
    """
    chunk = Chunk(chunk) if isinstance(chunk, int) else chunk
    own = _own(batch, rows)
    rows = rows or own.stop
    encoded = first_pass(encode, batch, chunk, -(-rows // processes.world()))
    leaves = _leaves(encoded, own, rows)
    room = _room_or(
        f"the GPU has no room for the comparisons of {rows} rows, beside {chunk.rows} rows encoded: set `tile` in the "
        "recipe, or a smaller `chunk` or `batch`"
    )
    with room:
        terms = losses(leaves)
        total = sum(terms.values())
        found = {name: term.detach() for name, term in terms.items()}
        if not torch.isfinite(total):
            return found
        backward(total * share)
    del terms, total
    gradients = _row_gradients(leaves, encoded.z, own)
    leaves.clear()
    encoded.z.clear()
    after = random_state(batch)
    second_pass(encode, batch, chunk, encoded, gradients)
    set_random_state(after)
    return found


def _own(batch: Batch, rows: int | None) -> slice:
    """This process's rows among the `rows` of all processes."""
    held, world = len(next(iter(batch.values()))), processes.world()
    if rows is None and world > 1:
        raise ValueError(f"of {world} processes each must say how many `rows` the whole batch has")
    own = processes.share(held if rows is None else rows, processes.rank(), world)
    if held != max(own.stop - own.start, 1):
        raise ValueError(
            f"process {processes.rank()} of {world} was given {held} rows of a batch of {rows}; "
            f"its share is {own.stop - own.start} (where that is 0, any one row)"
        )
    return own


def _mine(z: Batch, own: slice) -> Batch:
    """The rows that go to the others: none where the one row is no row of the batch."""
    return z if own.stop > own.start else {key: value[:0] for key, value in z.items()}


def _leaves(encoded: Encoded, own: slice, rows: int) -> Batch:
    """The embeddings of all processes, those with gradient as leaves of their own."""
    with torch.no_grad():
        z = processes.gathered(_mine(encoded.z, own), rows)
    return {key: value.detach().requires_grad_(encoded.last[0][key].requires_grad) for key, value in z.items()}


def _row_gradients(leaves: Batch, z: Batch, own: slice) -> Batch:
    """What the losses gave this process's embeddings `z`, times the processes; zeros for a row that is not its own."""
    found = {key: leaf.grad for key, leaf in leaves.items() if leaf.grad is not None}
    if own.start == own.stop:
        return {key: torch.zeros_like(z[key]) for key in found}
    if processes.world() == 1:
        return found
    inside = {key: tuple(map(slice, z[key].shape[1:])) for key in found}  # gathering may have padded later axes
    return {key: value[(own, *inside[key])] * processes.world() for key, value in found.items()}


@contextmanager
def _room_or(message: str) -> Iterator[None]:
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise ValueError(message) from error
