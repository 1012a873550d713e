"""LoRA (arXiv 2106.09685) and DoRA (arXiv 2402.09353) on the attention of both towers, by peft.

peft is imported where it is used: it brings transformers along, which no other framework needs.
"""

import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch

from hnclip.models.attention import PROJECTIONS, SplitAttention, join_attention, split_attention
from hnclip.models.backbone import Backbone
from hnclip.store import write_json, write_tensors

ADAPTER = "default"  # peft's own name for a model's only adapter; its files leave the name out


def add_adapters(backbone: Backbone, rank: int, alpha: int, dora: bool) -> Backbone:
    """The backbone, changed in place, with an adapter on every query, key, value and output projection.

    An adapter adds (alpha / rank) B A to its projection: A is drawn from torch's global generator, B starts at zero,
    so outputs are at first the backbone's. `dora` adds a trained norm for each of the projection's outputs. peft
    freezes all other weights, the logit scale too. Raises ValueError, before anything is changed, where the attention
    does not fit.
    """
    from peft import LoraConfig, inject_adapter_in_model

    split_attention(backbone.clip)
    config = LoraConfig(
        r=rank,
        lora_alpha=alpha,
        lora_dropout=0.0,
        bias="none",
        use_dora=dora,
        target_modules=list(PROJECTIONS),
    )
    inject_adapter_in_model(config, backbone.clip, ADAPTER)
    return backbone


def merged(backbone: Backbone) -> Backbone:
    """A copy in open_clip's plain layout whose projections hold the adapters; `backbone` stays as it is."""
    copy = deepcopy(backbone)
    _config(copy)
    for attention in (module for module in copy.modules() if isinstance(module, SplitAttention)):
        for name in PROJECTIONS:
            layer = getattr(attention, name)
            layer.merge()
            setattr(attention, name, layer.get_base_layer())
    del copy.clip.peft_config
    join_attention(copy.clip)
    return copy


def adapter_weights(backbone: Backbone) -> dict[str, torch.Tensor]:
    """The adapters' weights, detached: open_clip's names of the projections, followed by peft's in a file."""
    return {
        name.replace(f".{ADAPTER}.weight", "" if "magnitude" in name else ".weight"): weight.detach()
        for name, weight in backbone.clip.named_parameters()
        if ".lora_" in name
    }


def adapters_from(backbone: Backbone, extra: dict[str, torch.Tensor], rank: int, alpha: int, dora: bool) -> Backbone:
    """A copy of the plain `backbone` that was trained from, with the adapters that `adapter_weights` returned.

    Raises ValueError naming every weight that is missing, unknown or of another shape.
    """
    with torch.random.fork_rng(devices=[]):
        adapted = add_adapters(deepcopy(backbone), rank, alpha, dora)
    own = adapter_weights(adapted)
    faults = [f"{name} is missing" for name in own if name not in extra]
    faults += [f"{name} is not a weight of this adapter" for name in extra if name not in own]
    faults += [
        f"{name} is {list(extra[name].shape)}, not {list(weight.shape)}"
        for name, weight in own.items()
        if name in extra and extra[name].shape != weight.shape
    ]
    if faults:
        raise ValueError(
            f"these adapters do not fit a {'DoRA' if dora else 'LoRA'} of rank {rank} on this backbone "
            f"(check backbone, framework and rank): {'; '.join(faults)}"
        )
    for name, weight in own.items():
        weight.copy_(extra[name])
    return adapted


def write_peft_adapter(folder: Path, backbone: Backbone, base_model: str) -> None:
    """Write adapter_config.json and adapter_model.safetensors for transformers' CLIPModel of the frozen backbone.

    `peft.PeftModel.from_pretrained(CLIPModel.from_pretrained(base_model), folder)` then embeds as `backbone` does.
    """
    config = _config(backbone)
    config = {**config.to_dict(), "base_model_name_or_path": base_model, "inference_mode": True}
    config = {key: sorted(value) if isinstance(value, set) else value for key, value in config.items()}
    weights = {
        f"base_model.model.{_transformers_name(name)}": weight.to("cpu").contiguous()
        for name, weight in adapter_weights(backbone).items()
    }
    write_tensors(Path(folder) / "adapter_model.safetensors", weights, {"format": "pt"})
    write_json(Path(folder) / "adapter_config.json", config)


def _config(backbone: Backbone) -> Any:
    """peft's configuration of the backbone's adapters."""
    if not hasattr(backbone.clip, "peft_config"):
        raise ValueError("this backbone has no adapters: it must come from a lora or dora framework, or adapters_from")
    return backbone.clip.peft_config[ADAPTER]


def _transformers_name(name: str) -> str:
    """The name transformers' CLIPModel gives what open_clip's CLIP calls `name`."""
    name = re.sub(r"^visual\.transformer\.resblocks\.(\d+)\.attn\.", r"vision_model.encoder.layers.\1.self_attn.", name)
    return re.sub(r"^transformer\.resblocks\.(\d+)\.attn\.", r"text_model.encoder.layers.\1.self_attn.", name)
