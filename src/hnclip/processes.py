"""The processes that train one cell together: which rows each holds, how rows and gradients come together.

Without several processes every function here is the identity.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import distributed

BUCKET = 1 << 25  # gradient values that are averaged in one exchange, 128 MB in fp32


def rank() -> int:
    """This process's number, from 0."""
    return distributed.get_rank() if _together() else 0


def world() -> int:
    """How many processes there are."""
    return distributed.get_world_size() if _together() else 1


def share(rows: int, rank: int, world: int) -> slice:
    """The rows that a process holds: contiguous, in order of rank, as even as may be; the first hold one more."""
    least, more = divmod(rows, world)
    start = rank * least + min(rank, more)
    return slice(start, start + least + (rank < more))


def say(*words: Any) -> None:
    """Print, in the first process alone."""
    if rank() == 0:
        print(*words, flush=True)


def most(value: int) -> int:
    """The largest value of all processes."""
    if world() == 1:
        return value
    found = torch.tensor(value, device=_device())
    distributed.all_reduce(found, distributed.ReduceOp.MAX)
    return int(found)


def least(value: int) -> int:
    """The smallest value of all processes."""
    return -most(-value)


def alike(value: int) -> bool:
    """Whether all processes have the same value."""
    return most(value) == least(value)


def summed(tensor: torch.Tensor) -> torch.Tensor:
    """The sum over all processes, no gradient; alike in every process to the bit."""
    if world() == 1:
        return tensor
    total = tensor.detach().clone(memory_format=torch.contiguous_format)
    distributed.all_reduce(total)
    return total


def gathered(z: dict[str, torch.Tensor], rows: int) -> dict[str, torch.Tensor]:
    """The rows of all processes, [rows, ...], from each one's share of them, in order of rank.

    Later axes that differ between processes, such as the token axis, are padded with zeros to the longest. Backward
    takes the own rows of the gradient times the number of processes, and exchanges nothing: every process computes
    the loss of all rows and so has the whole gradient, and weight gradients are averaged (`average_gradients`).
    """
    if world() == 1:
        return z
    sizes = torch.tensor([size for value in z.values() for size in value.shape[1:]], device=_device())
    distributed.all_reduce(sizes, distributed.ReduceOp.MAX)
    left = iter(sizes.tolist())
    longest = {key: [next(left) for _ in value.shape[1:]] for key, value in z.items()}
    return {key: _Gathered.apply(value, rows, longest[key]) for key, value in z.items()}


def average_gradients(weights: Iterable[torch.nn.Parameter]) -> None:
    """Replace each gradient by its mean over the processes; a weight without one in every process stays without.

    Where only some have one, as where a method encodes no more than its rows need, it is zero in the others. Gradients
    of weights that processes share (DTensors) are means already.
    """
    if world() == 1:
        return
    weights = [weight for weight in weights if not hasattr(weight, "full_tensor")]
    anywhere = torch.tensor([weight.grad is not None for weight in weights], dtype=torch.uint8, device=_device())
    distributed.all_reduce(anywhere, distributed.ReduceOp.MAX)
    reached = [weight for weight, found in zip(weights, anywhere.tolist(), strict=True) if found]
    for weight in reached:
        if weight.grad is None:
            weight.grad = torch.zeros_like(weight)
    for bucket in _buckets([weight.grad for weight in reached]):
        flat = torch.cat([gradient.flatten() for gradient in bucket])
        distributed.all_reduce(flat)
        flat /= world()
        for gradient, mean in zip(bucket, flat.split([gradient.numel() for gradient in bucket]), strict=True):
            gradient.copy_(mean.view_as(gradient))


def _buckets(gradients: Sequence[torch.Tensor]) -> Iterable[list[torch.Tensor]]:
    bucket, size = [], 0
    for gradient in gradients:
        if bucket and (size + gradient.numel() > BUCKET or gradient.dtype != bucket[0].dtype):
            yield bucket
            bucket, size = [], 0
        bucket.append(gradient)
        size += gradient.numel()
    if bucket:
        yield bucket


class _Gathered(torch.autograd.Function):
    @staticmethod
    def forward(ctx, own, rows, longest):
        ctx.own, ctx.shape = share(rows, rank(), world()), own.shape
        sent = own.to(torch.uint8) if own.dtype == torch.bool else own
        padded = sent.new_zeros(-(-rows // world()), *longest)
        padded[tuple(slice(size) for size in own.shape)] = sent
        parts = [torch.empty_like(padded) for _ in range(world())]
        distributed.all_gather(parts, padded)
        held = [share(rows, each, world()) for each in range(world())]
        whole = torch.cat([part[: each.stop - each.start] for part, each in zip(parts, held, strict=True)])
        return whole.to(own.dtype)

    @staticmethod
    def backward(ctx, gradient):
        own = gradient[ctx.own][tuple(slice(size) for size in ctx.shape)]
        return own * world(), None, None


def _together() -> bool:
    return distributed.is_available() and distributed.is_initialized()


def _device() -> torch.device:
    """Where small tensors must lie to be exchanged."""
    if distributed.get_backend() == "nccl":
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu")
