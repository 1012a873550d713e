"""Backbones from and to files of our own: safetensors that name their architecture, preprocessing and origin."""

import json
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open

from hnclip.architecture import openai_layout
from hnclip.models.backbone import Backbone, Preprocess
from hnclip.models.openclip import open_clip
from hnclip.models.whole_towers import build_whole
from hnclip.options import from_dict
from hnclip.store import write_tensors

OPENAI_MEAN = (0.48145466, 0.4578275, 0.40821073)
OPENAI_STD = (0.26862954, 0.26130258, 0.27577711)
EXTRA = "framework."  # before the names of weights that belong to a method, not to its towers


def build(architecture: dict, preprocess: Preprocess) -> Backbone:
    """A backbone of this architecture with fresh random weights."""
    if not openai_layout(architecture):
        return build_whole(architecture, preprocess)
    model = open_clip().model.CLIP(**{key: value for key, value in architecture.items() if key != "custom_text"})
    check_layout(model)
    return Backbone(model, architecture, preprocess)


def save_backbone(
    path: Path,
    backbone: Backbone,
    provenance: dict,
    dtype: torch.dtype = torch.float32,
    extra: dict[str, torch.Tensor] | None = None,
) -> None:
    """Write weights, architecture (activation and context length included), preprocessing and origin in one file."""
    write_tensors(
        path,
        file_weights(backbone, extra, dtype),
        {
            "format": "hnclip-backbone-1",
            "architecture": json.dumps(backbone.architecture),
            "preprocess": json.dumps(asdict(backbone.preprocess)),
            "provenance": json.dumps(provenance),
            **({} if backbone.tokenizer == "clip" else {"tokenizer": backbone.tokenizer}),
        },
    )


def file_weights(
    backbone: Backbone, extra: dict[str, torch.Tensor] | None = None, dtype: torch.dtype = torch.float32
) -> dict[str, torch.Tensor]:
    """The tensors of a weights file by name, on the CPU.

    `extra` is what belongs to the method beside the towers; it is kept under names that begin with `framework.`.
    """
    weights = {name: _for_file(tensor, dtype) for name, tensor in backbone.weights().items()}
    return weights | {EXTRA + name: _for_file(tensor, dtype).clone() for name, tensor in (extra or {}).items()}


def _for_file(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """On the CPU, numbers with a point in this precision."""
    return tensor.detach().to("cpu", dtype if tensor.is_floating_point() else tensor.dtype).contiguous()


def load_backbone(path: Path) -> Backbone:
    """The backbone that `save_backbone` wrote, in fp32; every weight must be there, and a method's own are left out."""
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
    backbone.tokenizer = metadata.get("tokenizer", backbone.tokenizer)
    return backbone


def extra_weights(path: Path) -> dict[str, torch.Tensor]:
    """What `save_backbone` was given as `extra`: a method's own weights, empty where it has none."""
    with safe_open(path, framework="pt") as file:
        return {name.removeprefix(EXTRA): file.get_tensor(name) for name in file.keys() if name.startswith(EXTRA)}


def provenance(path: Path) -> dict:
    """Where the weights of a file come from: recipe, seed, scores. Raises ValueError for a damaged file."""
    try:
        with safe_open(path, framework="pt") as file:
            return json.loads(file.metadata()["provenance"])
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged: it is no safetensors file ({error}); train the run again") from error


def check_layout(clip: torch.nn.Module) -> None:
    """The towers must be the class-token ViT and the causal text tower pooled at its end token."""
    visual = clip.visual
    found = []
    if not hasattr(visual, "_embeds") or getattr(visual, "pool_type", None) != "tok" or visual.attn_pool is not None:
        found.append("the image tower is no ViT with a class token")
    if not hasattr(clip, "positional_embedding") or getattr(clip, "text_pool_type", None) not in ("argmax", "eos"):
        found.append("the text tower is not causal and pooled at its end token")
    if found:
        raise ValueError("this backbone does not fit: " + "; ".join(found))
