"""open_clip's attention without copies, and with its projections as four linear layers, and back.

torch's MultiheadAttention keeps those of query, key and value in one matrix, where adapters cannot reach them.
"""

import torch
from torch import nn
from torch.nn.functional import linear

from hnclip.models.packed import Packed, attention

PROJECTIONS = ("q_proj", "k_proj", "v_proj", "out_proj")


class Attention(nn.MultiheadAttention):
    """torch's multi-head attention; what CLIP's towers ask of it is computed on views, and captions may be packed."""

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        need_weights: bool = True,
        attn_mask: torch.Tensor | Packed | None = None,
        **more,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        packed = isinstance(attn_mask, Packed)
        plain = attn_mask is None and not need_weights and not more and self.batch_first and query.ndim == 3
        if key is not value or not (packed or plain):
            return super().forward(query, key, value, need_weights=need_weights, attn_mask=attn_mask, **more)
        width, bias = self.embed_dim, self.in_proj_bias
        heads = (-1, self.num_heads, self.head_dim)
        if query is key:
            states = linear(query, self.in_proj_weight, bias).unflatten(-1, heads).unbind(-3)
        else:
            biases = (None, None) if bias is None else (bias[:width], bias[width:])
            asked = linear(query, self.in_proj_weight[:width], biases[0]).unflatten(-1, heads[1:])
            states = (asked, *linear(key, self.in_proj_weight[width:], biases[1]).unflatten(-1, heads).unbind(-3))
        mixed = attn_mask.mixed(*states) if packed else attention(*states)
        return self.out_proj(mixed.flatten(2)), None


class SplitAttention(nn.Module):
    """Multi-head attention of four linear layers; takes and returns what torch's MultiheadAttention does."""

    def __init__(self, width: int, heads: int, bias: bool, batch_first: bool):
        super().__init__()
        self.heads = heads
        self.batch_first = batch_first
        for name in PROJECTIONS:
            self.add_module(name, nn.Linear(width, width, bias=bias, device="meta"))

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        need_weights: bool = False,
        attn_mask: torch.Tensor | Packed | None = None,
    ) -> tuple[torch.Tensor, None]:
        """States [N, T, W] ([T, N, W] unless batch_first) after attention, and no attention weights.

        `attn_mask`, [T, S] or [N * heads, T, S], is added to the scores, or true where a token is not looked at; or
        it says how captions are packed.
        """
        if need_weights:
            raise ValueError("split attention computes no attention weights: call it with need_weights=False")
        if not self.batch_first:
            query, key, value = (states.transpose(0, 1) for states in (query, key, value))
        query, key, value = (
            layer(states).unflatten(-1, (self.heads, -1))
            for layer, states in ((self.q_proj, query), (self.k_proj, key), (self.v_proj, value))
        )
        if isinstance(attn_mask, Packed):
            return self.out_proj(attn_mask.mixed(query, key, value).flatten(2)), None
        if attn_mask is not None:
            if attn_mask.ndim == 3:
                attn_mask = attn_mask.unflatten(0, (-1, self.heads))
            attn_mask = ~attn_mask if attn_mask.dtype == torch.bool else attn_mask.to(query.dtype)
        mixed = self.out_proj(attention(query, key, value, seen=attn_mask).flatten(2))
        return (mixed if self.batch_first else mixed.transpose(0, 1)), None


def split_attention(clip: nn.Module) -> None:
    """Replace every attention of both towers by a split one with the same weights, hence the same outputs.

    Raises ValueError naming each attention that four linear layers cannot stand for; the model is then as it was.
    """
    problems = [f"{name}: {fault}" for name, module in clip.named_modules() for fault in faults(module)]
    found = [name for name, module in clip.named_modules() if isinstance(module, nn.MultiheadAttention)]
    if not found and not problems:
        problems = ["it has none of torch's MultiheadAttention"]
    if problems:
        raise ValueError(
            f"the attention of this backbone cannot be split into four linear layers: {'; '.join(problems)}. "
            "Train it with a framework that needs no adapters, or take a backbone of plain open_clip blocks"
        )
    for name in found:
        clip.set_submodule(name, _split(clip.get_submodule(name)))


def join_attention(clip: nn.Module) -> None:
    """Undo `split_attention`: weights and names are again those of open_clip, bit for bit.

    Raises ValueError where a projection is no plain linear layer, as with adapters that were not merged.
    """
    found = {name: module for name, module in clip.named_modules() if isinstance(module, SplitAttention)}
    wrapped = [
        f"{n}.{p}" for n, module in found.items() for p in PROJECTIONS if type(getattr(module, p)) is not nn.Linear
    ]
    if wrapped:
        raise ValueError(
            f"merge the adapters before the attention is joined: {', '.join(wrapped)} are not plain layers"
        )
    for name, module in found.items():
        clip.set_submodule(name, _join(module))


def faults(module: nn.Module) -> list[str]:
    """Why four equal linear layers cannot stand for this module, if it is an attention at all."""
    if isinstance(module, SplitAttention):
        return ["it is split already"]
    if not isinstance(module, nn.MultiheadAttention):
        return ["open_clip's own attention, not torch's"] if hasattr(module, "in_proj_weight") else []
    found = {
        f"a subclass of it, {type(module).__name__}": type(module) not in (nn.MultiheadAttention, Attention),
        "keys or values of another width": module.in_proj_weight is None,
        "a bias added to keys and values": module.bias_k is not None,
        "a zero added to keys and values": module.add_zero_attn,
        f"dropout {module.dropout}": module.dropout > 0,
    }
    return [fault for fault, there in found.items() if there]


def _split(joined: nn.MultiheadAttention) -> SplitAttention:
    bias = joined.in_proj_bias is not None
    split = SplitAttention(joined.embed_dim, joined.num_heads, bias, joined.batch_first)
    for kind in ("weight", "bias") if bias else ("weight",):
        parts = [*getattr(joined, f"in_proj_{kind}").chunk(3), getattr(joined.out_proj, kind)]
        trained = [getattr(joined, f"in_proj_{kind}").requires_grad] * 3 + [parts[3].requires_grad]
        for name, part, grad in zip(PROJECTIONS, parts, trained, strict=True):
            setattr(getattr(split, name), kind, nn.Parameter(part.detach().clone(), requires_grad=grad))
    return split.train(joined.training)


def _join(split: SplitAttention) -> Attention:
    q_proj, out_proj = split.q_proj, split.out_proj
    bias = q_proj.bias is not None
    joined = Attention(q_proj.in_features, split.heads, bias=bias, batch_first=split.batch_first, device="meta")
    for kind in ("weight", "bias") if bias else ("weight",):
        parts = [getattr(getattr(split, name), kind) for name in PROJECTIONS[:3]]
        grad = any(part.requires_grad for part in parts)
        setattr(joined, f"in_proj_{kind}", nn.Parameter(torch.cat(parts).detach(), requires_grad=grad))
        setattr(joined.out_proj, kind, getattr(out_proj, kind))
    return joined.train(split.training)
