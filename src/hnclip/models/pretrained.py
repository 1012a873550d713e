"""Models that open_clip knows by name, with weights by tag or from a local file."""

from pathlib import Path
from pickle import UnpicklingError
from types import ModuleType
from typing import Any

import torch
from safetensors import SafetensorError

from hnclip.architecture import LOCAL, exported, fault, image_size, openai_layout, weights_in
from hnclip.models.backbone import Backbone, Preprocess
from hnclip.models.checkpoints import build, check_layout
from hnclip.models.longclip import CONTEXT, SECOND
from hnclip.models.openclip import open_clip
from hnclip.models.state_file import State, load_strictly, read_state, say_contents
from hnclip.models.whole_towers import WholeTowers, other_packages, told
from hnclip.options import unknown

KNOWN = {"embed_dim", "vision_cfg", "text_cfg", "quick_gelu"}
MORE = {"custom_text", "init_logit_scale", "init_logit_bias", "nonscalar_logit_scale"}
TORCHSCRIPT = ("input_resolution", "context_length", "vocab_size")  # in OpenAI's archives beside the weights


def load_open_clip(model: str, pretrained: str, tag: str | None = None) -> Backbone:
    """A model that open_clip knows by name, in fp32, with weights by tag (fetched once) or from a local file.

    A tag brings its preprocessing. A file has none: it gets that of `tag`, the tag it was published under, and
    without one open_clip's default (OpenAI's mean and standard deviation, bicubic, shortest side).
    """
    architecture = open_clip().get_model_config(model)  # those that this process added, too
    if architecture is None:
        raise ValueError(f"open_clip knows no model {model!r}: see open_clip.list_models()")
    _check(model, architecture)
    package = open_clip(light=not other_packages(architecture))
    tags = package.list_pretrained_tags_by_model(model)
    local = Path(pretrained).is_file()
    if not local and pretrained not in tags:
        raise ValueError(unknown(f"pretrained weights of {model} (no file, no tag)", pretrained, tags))
    named = (tag or None) if local else pretrained
    if named is not None and named not in tags:
        raise ValueError(unknown(f"`pretrained_tag` of {model}", named, tags))
    tagged = package.pretrained.get_pretrained_cfg(model, named) if named else {}
    _check_activation(model, architecture, named, tagged)
    preprocess = _preprocess(package, architecture, tagged)
    if not local:
        return _fetched(package, model, pretrained, architecture, preprocess)
    return _filled(
        build(architecture, preprocess), pretrained, f"the weights {pretrained!r} could not be loaded into {model}"
    )


def load_exported(model: str) -> Backbone:
    """The model of a folder in open_clip's layout, `local-dir:FOLDER`, in fp32 with the preprocessing named there."""
    folder = Path(model.removeprefix(LOCAL))
    found = exported(folder)
    _check(model, found["model_cfg"])
    package = open_clip(light=not other_packages(found["model_cfg"]))
    weights = weights_in(folder)
    backbone = build(found["model_cfg"], _preprocess(package, found["model_cfg"], found["preprocess_cfg"]))
    return _filled(backbone, str(weights), f"the weights {weights} could not be loaded into their architecture")


def _check(model: str, architecture: dict[str, Any]) -> None:
    if why := fault(architecture):
        raise ValueError(f"{model} does not fit: {why}")
    more = set(architecture) - KNOWN - MORE
    if more:
        raise ValueError(f"{model} does not fit: its config has {', '.join(sorted(more))}")


def _filled(backbone: Backbone, weights: str, where: str) -> Backbone:
    """With the weights of a file; open_clip converts those of towers that are taken whole, where it knows how."""
    if isinstance(backbone, WholeTowers):
        try:
            open_clip().factory.load_checkpoint(backbone.clip, weights, strict=True)
        except (RuntimeError, KeyError, UnpicklingError, SafetensorError) as error:
            raise ValueError(f"{where}: {str(error).strip()}") from error
    else:
        load_strictly(backbone.clip, _plain(_read(weights, where), where), where)
    return backbone


def _fetched(package: ModuleType, model: str, tag: str, architecture: dict[str, Any], preprocess: Preprocess):
    """The model with its tag's weights, through open_clip."""
    try:
        clip = package.create_model(model, pretrained=tag, precision="fp32")
    except (RuntimeError, OSError) as error:
        reason = str(error).strip().split("\n")[0]
        raise ValueError(
            f"the weights {tag!r} of {model} could not be had: {reason}. Without a network, set `pretrained` to a "
            f"local file of them and `pretrained_tag: {tag}`"
        ) from error
    if not openai_layout(architecture):
        return WholeTowers(clip, told(architecture, clip), preprocess)
    check_layout(clip)
    return Backbone(clip, {key: value for key, value in architecture.items() if key in KNOWN}, preprocess)


def _check_activation(model: str, architecture: dict[str, Any], tag: str | None, tagged: dict[str, Any]) -> None:
    if tag and tagged.get("quick_gelu", False) != architecture.get("quick_gelu", False):
        named = "with" if tagged.get("quick_gelu", False) else "without"
        raise ValueError(
            f"the weights {tag!r} were trained {named} QuickGELU, the model {model!r} is not: "
            "take the model whose name ends, or does not end, in -quickgelu"
        )


def _preprocess(package: ModuleType, architecture: dict[str, Any], tagged: dict[str, Any]) -> Preprocess:
    """What belongs to the tag, at the size of the model."""
    cfg = package.transform.merge_preprocess_dict(package.transform.PreprocessCfg(), tagged)
    return Preprocess(
        image_size(architecture, cfg["size"]),
        tuple(cfg["mean"]),
        tuple(cfg["std"]),
        cfg["interpolation"],
        cfg["resize_mode"],
    )


def _read(pretrained: str, where: str) -> Any:
    try:
        return read_state(Path(pretrained))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


def _plain(state: Any, where: str) -> State:
    """The weights alone, under open_clip's names: unwrapped, without `module.` and the sizes in OpenAI's archives."""
    if isinstance(state, dict) and isinstance(state.get("state_dict"), dict):
        state = state["state_dict"]
    if not isinstance(state, dict) or not all(isinstance(value, torch.Tensor) for value in state.values()):
        raise ValueError(f"{where}: expected tensors by name, got {say_contents(state)}")
    state = {name.removeprefix("module."): value for name, value in state.items() if name not in TORCHSCRIPT}
    if SECOND in state:
        raise ValueError(
            f"{where}: it is a released Long-CLIP file, with two text position tables; "
            f"use a backbone of kind `longclip` with `weights` set to it and context {CONTEXT}"
        )
    if "logit_scale" in state:
        state["logit_scale"] = state["logit_scale"].reshape(())
    return state
