"""Backbones from and to files: ours (safetensors that name their own architecture) and open_clip's by name."""

import json
from dataclasses import asdict
from pathlib import Path
from pickle import UnpicklingError

import torch
from safetensors import SafetensorError, safe_open

from hnclip.models.backbone import Backbone, Preprocess
from hnclip.models.openclip import open_clip
from hnclip.options import from_dict, unknown
from hnclip.store import write_tensors

OPENAI_MEAN = (0.48145466, 0.4578275, 0.40821073)
OPENAI_STD = (0.26862954, 0.26130258, 0.27577711)


def build(architecture: dict, preprocess: Preprocess) -> Backbone:
    """A backbone of this architecture with fresh random weights."""
    package = open_clip(light=not _needs_other_towers(architecture))
    model = package.model.CLIP(**architecture)
    _check_layout(model)
    return Backbone(model, architecture, preprocess)


EXTRA = "framework."  # before the names of weights that belong to a method, not to its towers


def save_backbone(
    path: Path,
    backbone: Backbone,
    provenance: dict,
    dtype: torch.dtype = torch.float32,
    extra: dict[str, torch.Tensor] | None = None,
) -> None:
    """Write weights, architecture (activation and context length included), preprocessing and origin in one file.

    `extra` are a method's weights beside the towers; `load_backbone` leaves them out.
    """
    weights = {**backbone.weights(), **{EXTRA + name: tensor for name, tensor in (extra or {}).items()}}
    weights = {name: tensor.detach().to("cpu", dtype).contiguous() for name, tensor in weights.items()}
    write_tensors(
        path,
        weights,
        {
            "format": "hnclip-backbone-1",
            "architecture": json.dumps(backbone.architecture),
            "preprocess": json.dumps(asdict(backbone.preprocess)),
            "provenance": json.dumps(provenance),
        },
    )


def load_backbone(path: Path) -> Backbone:
    """The backbone that `save_backbone` wrote, in fp32; every weight must be there."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"no backbone weights at {path}: check `weights` of the backbone in the config")
    try:
        file = safe_open(path, framework="pt")
    except SafetensorError as error:
        raise ValueError(f"{path} is not a backbone written by hnclip: it is no safetensors file ({error})") from error
    with file:
        metadata = file.metadata() or {}
        if metadata.get("format") != "hnclip-backbone-1":
            raise ValueError(f"{path} is not a backbone written by hnclip: it does not name its architecture")
        weights = {name: file.get_tensor(name).float() for name in file.keys() if not name.startswith(EXTRA)}
    preprocess = from_dict(Preprocess, json.loads(metadata["preprocess"]), f"preprocessing named in {path}")
    backbone = build(json.loads(metadata["architecture"]), preprocess)
    backbone.clip.load_state_dict(weights, strict=True)
    return backbone


def extra_weights(path: Path) -> dict[str, torch.Tensor]:
    """A method's weights beside the towers, from a file that `save_backbone` wrote."""
    with safe_open(path, framework="pt") as file:
        return {name.removeprefix(EXTRA): file.get_tensor(name) for name in file.keys() if name.startswith(EXTRA)}


def provenance(path: Path) -> dict:
    """Where the weights of a file come from: recipe, seed, scores."""
    with safe_open(path, framework="pt") as file:
        return json.loads(file.metadata()["provenance"])


def load_open_clip(model: str, pretrained: str) -> Backbone:
    """A model that open_clip knows by name, with weights by tag or from a local file."""
    package = open_clip()
    architecture = package.get_model_config(model)
    if architecture is None:
        raise ValueError(f"open_clip knows no model {model!r}: see open_clip.list_models()")
    tags = package.list_pretrained_tags_by_model(model)
    if not Path(pretrained).is_file() and pretrained not in tags:
        raise ValueError(unknown(f"pretrained weights of {model} (no file, no tag)", pretrained, tags))
    tagged = package.pretrained.get_pretrained_cfg(model, pretrained)
    if tagged and tagged.get("quick_gelu", False) != architecture.get("quick_gelu", False):
        named = "with" if tagged.get("quick_gelu", False) else "without"
        raise ValueError(
            f"the weights {pretrained!r} were trained {named} QuickGELU, the model {model!r} is not: "
            "take the model whose name ends, or does not end, in -quickgelu"
        )
    try:
        clip, _, _ = package.create_model_and_transforms(model, pretrained=pretrained, precision="fp32")
    except (RuntimeError, UnpicklingError, KeyError, EOFError) as error:
        reason = str(error).strip().split("\n")[0]
        raise ValueError(f"the weights {pretrained!r} could not be loaded into {model}: {reason}") from error
    _check_layout(clip)
    cfg = package.get_model_preprocess_cfg(clip)
    size = cfg["size"][0] if isinstance(cfg["size"], (tuple, list)) else cfg["size"]
    preprocess = Preprocess(size, tuple(cfg["mean"]), tuple(cfg["std"]), cfg["interpolation"], cfg["resize_mode"])
    known = {"embed_dim", "vision_cfg", "text_cfg", "quick_gelu"}
    return Backbone(clip, {key: value for key, value in architecture.items() if key in known}, preprocess)


def _needs_other_towers(architecture: dict) -> bool:
    return "timm_model_name" in architecture["vision_cfg"] or "hf_model_name" in architecture["text_cfg"]


def _check_layout(clip: torch.nn.Module) -> None:
    """The towers must be the class-token ViT and the causal text tower pooled at its end token."""
    visual = clip.visual
    found = []
    if not hasattr(visual, "_embeds") or getattr(visual, "pool_type", None) != "tok" or visual.attn_pool is not None:
        found.append("the image tower is no ViT with a class token")
    if not hasattr(clip, "positional_embedding") or getattr(clip, "text_pool_type", None) not in ("argmax", "eos"):
        found.append("the text tower is not causal and pooled at its end token")
    if found:
        raise ValueError("this backbone does not fit: " + "; ".join(found))
