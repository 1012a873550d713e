"""Activations computed once more in the backward pass instead of kept (arXiv 1604.06174)."""

from torch import nn


def recompute_blocks(clip: nn.Module) -> None:
    """Let each block of both towers keep nothing but what goes into it; gradients are the same to the bit.

    A step takes a quarter to a half more time. It holds a block's activations at a time, and of each block its input.
    Whatever stands inside a block, such as split attention or adapters, is computed anew with it. Raises ValueError
    where a tower is not made of open_clip's own blocks.
    """
    towers = {"visual.transformer": clip.visual, "transformer": clip}
    odd = [
        name for name, part in towers.items() if not hasattr(getattr(part, "transformer", None), "grad_checkpointing")
    ]
    if odd:
        raise ValueError(
            f"the activations of {' and '.join(odd)} cannot be recomputed, as it is not made of open_clip's own "
            "blocks: set `checkpoint_activations: false` and a smaller `chunk`"
        )
    for part in towers.values():
        part.transformer.grad_checkpointing = True
