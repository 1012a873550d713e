"""A backbone as a folder in open_clip's own layout, its tokenizer included."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from hnclip.data.tokenizers import FromTransformers, words
from hnclip.models.backbone import Backbone
from hnclip.store import write_json, write_tensors

CLEANINGS = {"_clean_whitespace": "whitespace", "_clean_lower": "lower", "_clean_canonicalize": "canonicalize"}


def write_open_clip(folder: Path, backbone: Backbone, name: str) -> None:
    """What `open_clip.create_model_and_transforms("local-dir:FOLDER")` and its get_tokenizer read.

    Of a text tower of transformers the configuration lies beside, as config.json; open_clip looks for it by
    `hf_model_name`, which becomes `name`, the folder's own, right where the folder lies in the current one.
    """
    pictures = asdict(backbone.preprocess)
    pictures["resize_mode"] = pictures.pop("resize")
    architecture = {**backbone.architecture, "text_cfg": {**backbone.architecture["text_cfg"]}}
    text = architecture["text_cfg"]
    if "hf_model_name" in text:
        write_json(folder / "config.json", text.pop("hf_config"))
        text |= {"hf_model_name": name, "hf_model_pretrained": False, "context_length": backbone.context}
    if "timm_model_name" in architecture["vision_cfg"]:
        architecture["vision_cfg"] = {**architecture["vision_cfg"], "timm_model_pretrained": False}
    text |= _tokenizer(folder, backbone)
    write_json(
        folder / "open_clip_config.json",
        {"model_cfg": architecture, "preprocess_cfg": {"mode": "RGB", **pictures}},
    )
    weights = {name: value.detach().float().cpu().contiguous() for name, value in backbone.weights().items()}
    write_tensors(folder / "open_clip_model.safetensors", weights, {"format": "pt"})


def _tokenizer(folder: Path, backbone: Backbone) -> dict[str, Any]:
    """Write a tokenizer of transformers into the folder; what open_clip's configuration then says of it."""
    if backbone.tokenizer == "clip":
        return {}
    found = words(backbone.tokenizer, backbone.context)
    if not isinstance(found, FromTransformers):
        return {}
    found.hub.tokenizer.save_pretrained(folder)
    cleaning = CLEANINGS[found.hub.clean_fn.__name__]
    told = {"clean": cleaning, "strip_sep_token": found.hub.strip_sep_token}
    return {"hf_tokenizer_name": backbone.tokenizer, "tokenizer_kwargs": told}
