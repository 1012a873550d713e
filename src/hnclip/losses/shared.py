"""Terms over the rows of a batch whose work several processes share: each its own rows, and then all know the whole.

Every process calls these with the same tensors, of all rows, and gets the same result and the same, complete
gradient: to the caller it is as if the process had done all the work. Without several processes it has.
"""

from collections.abc import Callable

import torch
from torch.autograd.function import once_differentiable

from hnclip import processes


def row_shared(term: Callable[..., torch.Tensor], rows: int, *tensors: torch.Tensor) -> torch.Tensor:
    """The sum over all rows of which `term(own, *tensors)` is the part of the own rows, a scalar.

    Only `tensors` get a gradient, and only through it; one that no process's part depends on gets none. Alone it is
    `term(slice(0, rows), *tensors)`.
    """
    if processes.world() == 1:
        return term(slice(0, rows), *tensors)
    return _Summed.apply(term, _own(rows), *tensors)


def rows_shared(term: Callable[..., torch.Tensor], rows: int, *tensors: torch.Tensor) -> torch.Tensor:
    """All rows [rows, ...] of what `term(own, *tensors)` gives for the own rows; gradients as in `row_shared`.

    What is then made of all rows every process must make alike.
    """
    if processes.world() == 1:
        return term(slice(0, rows), *tensors)
    return _Stacked.apply(term, rows, *tensors)


def _own(rows: int) -> slice:
    return processes.share(rows, processes.rank(), processes.world())


def _leaves(ctx, tensors: tuple) -> list:
    """The tensors cut off from their graph; those that want a gradient as leaves of a new one."""
    wanted = ctx.needs_input_grad[2:]
    return [
        tensor.detach().requires_grad_(want) if isinstance(tensor, torch.Tensor) else tensor
        for tensor, want in zip(tensors, wanted, strict=True)
    ]


def _summed_gradients(part: torch.Tensor, leaves: list, given: torch.Tensor | None = None) -> list:
    """Of each leaf, over all processes; None for one that wants none, or that no process's part depends on."""
    wanted = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    found = [None] * len(wanted)
    if part.requires_grad:
        found = torch.autograd.grad(part, wanted, given, allow_unused=True)
    anywhere = processes.summed(part.new_tensor([gradient is not None for gradient in found])).tolist()
    total = iter(
        processes.summed(torch.zeros_like(leaf) if gradient is None else gradient) if used else None
        for leaf, gradient, used in zip(wanted, found, anywhere, strict=True)
    )
    return [next(total) if isinstance(leaf, torch.Tensor) and leaf.requires_grad else None for leaf in leaves]


class _Summed(torch.autograd.Function):
    """The gradient is taken on the way forward, so that the own part's graph need not be kept."""

    @staticmethod
    def forward(ctx, term, own, *tensors):
        leaves = _leaves(ctx, tensors)
        with torch.enable_grad():
            part = term(own, *leaves)
        ctx.gradients = _summed_gradients(part, leaves) if any(ctx.needs_input_grad) else [None] * len(tensors)
        return processes.summed(part)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        return None, None, *(None if gradient is None else grad * gradient for gradient in ctx.gradients)


class _Stacked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, term, rows, *tensors):
        ctx.own, ctx.leaves = _own(rows), _leaves(ctx, tensors)
        with torch.set_grad_enabled(any(ctx.needs_input_grad)):
            ctx.part = term(ctx.own, *ctx.leaves)
        whole = ctx.part.new_zeros(rows, *ctx.part.shape[1:])
        whole[ctx.own] = ctx.part.detach()
        return processes.summed(whole)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        part, leaves = ctx.part, ctx.leaves
        del ctx.part, ctx.leaves
        return None, None, *_summed_gradients(part, leaves, grad[ctx.own])
