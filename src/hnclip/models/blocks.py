"""open_clip's transformer blocks with the same weights and outputs, and less work.

A block takes packed captions, and gives the tokens that are asked for alone; attention copies nothing; QuickGELU is
computed in one pass and remembers its input only.
"""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from hnclip.models.attention import Attention, faults
from hnclip.models.openclip import open_clip
from hnclip.models.packed import Packed

SLOPE = 1.702


class Block(nn.Module):
    """A residual attention block; it is never made, open_clip's blocks become it (`lean`)."""

    def forward(
        self,
        q_x: torch.Tensor,
        k_x: torch.Tensor | None = None,
        v_x: torch.Tensor | None = None,
        attn_mask: torch.Tensor | Packed | None = None,
        kept: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """States [N, L, W] after the block, or those of the places `kept` alone; names and order are open_clip's."""
        if k_x is not None or v_x is not None:
            raise ValueError("a block of these towers attends to its own states only: leave out k_x and v_x")
        query = normed = self.ln_1(q_x)
        if kept is not None:
            q_x, query = q_x.index_select(1, kept), normed.index_select(1, kept)
        mask = None if attn_mask is None else attn_mask.to(q_x.dtype)
        states = q_x + self.ls_1(self.attn(query, normed, normed, need_weights=False, attn_mask=mask)[0])
        return states + self.ls_2(self.mlp(self.ln_2(states)))

    def get_weight_dtype(self) -> torch.dtype:
        """What open_clip casts its inputs to."""
        return self.mlp.c_fc.weight.dtype


class _QuickGelu(torch.autograd.Function):
    """x * sigmoid(1.702 x) = silu(1.702 x) / 1.702, hence its derivative is that of silu at 1.702 x."""

    @staticmethod
    def forward(ctx, states: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(states)
        return torch.nn.functional.silu(states * SLOPE, inplace=True).div_(SLOPE)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient: torch.Tensor) -> torch.Tensor:
        (states,) = ctx.saved_tensors
        return torch.ops.aten.silu_backward(gradient, states * SLOPE)


class QuickGELU(nn.Module):
    """CLIP's activation; what else depends on a tower's activation knows it by this name."""

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return _QuickGelu.apply(states)


def lean(transformer: nn.Module) -> bool:
    """Let the blocks of a tower be `Block`s, in place; false, and nothing done, where they are not CLIP's own."""
    theirs = open_clip().transformer
    kinds = {theirs.ResidualAttentionBlock, Block}
    if not transformer.batch_first or any(
        type(block) not in kinds or faults(block.attn) for block in transformer.resblocks
    ):
        return False
    for block in transformer.resblocks:
        block.__class__ = Block
        block.attn.__class__ = Attention
        if type(block.mlp.gelu) is theirs.QuickGELU:
            block.mlp.gelu.__class__ = QuickGELU
    return True


def before_last(transformer: nn.Module, states: torch.Tensor, mask: Packed | None = None) -> torch.Tensor:
    """States after all blocks of a lean tower but the last."""
    for block in transformer.resblocks[:-1]:
        states = _run(transformer, block, states, mask)
    return states


def last(
    transformer: nn.Module, states: torch.Tensor, mask: Packed | None = None, kept: torch.Tensor | None = None
) -> torch.Tensor:
    """States after the last block of a lean tower, or those of the places `kept` alone."""
    return _run(transformer, transformer.resblocks[-1], states, mask, kept)


def _run(transformer: nn.Module, block: Block, states: torch.Tensor, mask: Packed | None, kept=None) -> torch.Tensor:
    if transformer.grad_checkpointing:
        return checkpoint(block, states, None, None, mask, kept, use_reentrant=False)
    return block(states, attn_mask=mask, kept=kept)
