"""The gradient of one batch, whole or in the memory of a chunk."""

from collections.abc import Callable

import torch

Batch = dict[str, torch.Tensor]
Losses = Callable[[Batch], dict[str, torch.Tensor]]


def whole(
    encode: Callable[[Batch], Batch],
    losses: Losses,
    batch: Batch,
    backward: Callable[[torch.Tensor], None],
    share: float,
) -> dict[str, torch.Tensor]:
    """Add `share` times the gradient of the summed terms to the weights; returns the terms, detached."""
    terms = losses(encode(batch))
    total = sum(terms.values())
    if torch.isfinite(total):
        backward(total * share)
    return {name: term.detach() for name, term in terms.items()}


def chunked(
    encode: Callable[[Batch], Batch],
    losses: Losses,
    batch: Batch,
    backward: Callable[[torch.Tensor], None],
    share: float,
    *,
    chunk: int,
) -> dict[str, torch.Tensor]:
    """The same gradient as `whole`, holding the activations of `chunk` rows only (GradCache, arXiv 2101.06983).

    Rows are encoded without gradient, the losses give the gradient of each embedding, and rows are encoded again
    with the same random state to carry it to the weights.
    """
    rows = len(next(iter(batch.values())))
    parts = [{key: value[start : start + chunk] for key, value in batch.items()} for start in range(0, rows, chunk)]
    states, encoded = [], []
    with torch.no_grad():
        for part in parts:
            states.append(_random_state())
            encoded.append(encode(part))
    z = {key: torch.cat([part[key] for part in encoded]) for key in encoded[0]}
    leaves = {key: value.requires_grad_(value.is_floating_point()) for key, value in z.items()}
    terms = losses(leaves)
    total = sum(terms.values())
    if not torch.isfinite(total):
        return {name: term.detach() for name, term in terms.items()}
    backward(total * share)
    after = _random_state()
    for number, part in enumerate(parts):
        _set_random_state(states[number])
        again = encode(part)
        pairs = [
            (again[key], leaves[key].grad[number * chunk : number * chunk + len(again[key])])
            for key in leaves
            if leaves[key].grad is not None and again[key].requires_grad
        ]
        torch.autograd.backward([value for value, _ in pairs], [gradient for _, gradient in pairs])
    _set_random_state(after)
    return {name: term.detach() for name, term in terms.items()}


def _random_state() -> tuple[torch.Tensor, list[torch.Tensor]]:
    return torch.get_rng_state(), torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []


def _set_random_state(state: tuple[torch.Tensor, list[torch.Tensor]]) -> None:
    torch.set_rng_state(state[0])
    if state[1]:
        torch.cuda.set_rng_state_all(state[1])
