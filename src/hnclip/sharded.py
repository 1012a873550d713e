"""A model that processes share: each holds a part of every block's weights, gradients and moments (FSDP).

A block's weights are brought together when it runs. What is outside the towers' blocks every process has whole. All
but `shard` leave a model alone that is not shared, and load nothing for it.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from hnclip.processes import world


def shard(framework: nn.Module, device: torch.device) -> None:
    """Cut the blocks of both towers into as many parts as there are processes, in place.

    Raises ValueError for adapters, which train too little to be worth it.
    """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    clip = framework.backbone.clip
    if hasattr(clip, "peft_config"):
        raise ValueError("`strategy: fsdp` shares what is trained, which with adapters is little: take `strategy: ddp`")
    if "clip_blocks" not in framework.backbone.offers:
        raise ValueError("`strategy: fsdp` shares open_clip's own blocks, which this backbone lacks: take `ddp`")
    framework.to(device)
    mesh = init_device_mesh(device.type, (world(),))
    for tower in (clip.visual.transformer, clip.transformer):
        for block in tower.resblocks:
            fully_shard(block, mesh=mesh)


def apart(groups: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Each group of weights as one of shared and one of whole weights, which an optimiser cannot update together."""
    for group in groups:
        for shared in (True, False):
            weights = [weight for weight in group["params"] if is_shared(weight) == shared]
            if weights:
                yield {**group, "params": weights}


@contextmanager
def brought_together(framework: nn.Module) -> Iterator[None]:
    """Within it every process has all weights, so that it may encode whatever it likes, without the others."""
    blocks = [module for module in framework.modules() if hasattr(module, "set_reshard_after_forward")]
    for block in blocks:
        block.set_reshard_after_forward(False)
        block.unshard()
    try:
        yield
    finally:
        for block in blocks:
            block.set_reshard_after_forward(True)
            block.reshard()


def clip_gradients(weights: Iterable[nn.Parameter], largest: float) -> torch.Tensor:
    """Bound the norm of all gradients together; returns what it was."""
    gradients = [weight.grad for weight in weights if weight.grad is not None]
    norms = [torch.linalg.vector_norm(whole(gradient.norm())) for gradient in gradients]
    norm = torch.linalg.vector_norm(torch.stack(norms))
    factor = (largest / (norm + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(factor)
    return norm


def is_shared(tensor: Any) -> bool:
    """Whether a tensor is a part of one (a DTensor)."""
    return hasattr(tensor, "full_tensor")


def whole(tensor: torch.Tensor) -> torch.Tensor:
    """A shared tensor with the parts of all processes, which must all ask for it; any other as it is."""
    return tensor.full_tensor() if is_shared(tensor) else tensor


def whole_state(state: Any) -> Any:
    """A state of weights or optimiser with every shared tensor whole, on the CPU; all processes must ask for it."""
    return _each(state, lambda value: whole(value).cpu() if is_shared(value) else value)


def own_state(state: dict[str, torch.Tensor], model: nn.Module) -> dict[str, torch.Tensor]:
    """A whole state of the model's weights as this process holds it."""
    weights = dict(model.named_parameters())
    return {name: like(value, weights.get(name)) for name, value in state.items()}


def own_optimiser_state(state: dict[str, Any], optimiser: torch.optim.Optimizer) -> dict[str, Any]:
    """A whole state of the optimiser as this process holds it: moments lie as their weights do."""
    weights = [weight for group in optimiser.param_groups for weight in group["params"]]
    numbers = [number for group in state["param_groups"] for number in group["params"]]
    of = dict(zip(numbers, weights, strict=True))
    moments = {
        number: {key: like(value, of[number]) if key != "step" else value for key, value in values.items()}
        for number, values in state["state"].items()
    }
    return {**state, "state": moments}


def like(value: torch.Tensor, weight: torch.Tensor | None) -> torch.Tensor:
    """A whole tensor cut as the weight is, where that is shared."""
    if not is_shared(weight):
        return value
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(value.to(weight.device), weight.device_mesh, weight.placements)


def keep_whole(framework: nn.Module) -> None:
    """Give every process all weights for good, to be written; training is over then."""
    for module in framework.modules():
        for name, weight in module._parameters.items():
            if is_shared(weight):
                module._parameters[name] = nn.Parameter(whole(weight.detach()), weight.requires_grad)


def _each(state: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(state, dict):
        return {key: _each(value, change) for key, value in state.items()}
    if isinstance(state, list):
        return [_each(value, change) for value in state]
    return change(state)
