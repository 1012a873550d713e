"""What the architecture of a CLIP says of its towers, read without loading the model or its weights. No torch."""

import json
import sys
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from hnclip.text_encoder import folder_of

STARTER = files("hnclip") / "weights" / "tiny.safetensors"
LOCAL, EXPORTED = "local-dir:", "open_clip_config.json"
# What a framework may need of a backbone, in words.
NEEDS = {
    "token_states": "the states of single patches and words",
    "clip_blocks": "open_clip's own transformer blocks in both towers",
    "text_positions": "CLIP's own table of text positions",
    "clip_tokenizer": "CLIP's tokenizer, which tells where in a caption a token lies",
}
ANY = "longclip"  # the framework that takes every backbone, for messages
JOINED_IMAGE = "tf_efficientnet_lite0"  # timm's name of the image model of a backbone of kind `joined`


def model_config(model: str) -> dict[str, Any]:
    """open_clip's configuration of a model that it knows by name, or of `local-dir:FOLDER`. ValueError for none."""
    if model.startswith(LOCAL):
        return exported(Path(model.removeprefix(LOCAL)))["model_cfg"]
    if model.startswith("hf-hub:"):
        raise ValueError(f"{model} is not fetched: download the repository and name it local-dir:FOLDER")
    folder = _package() / "model_configs"
    path = folder / f"{model}.json"
    if not path.is_file():
        raise ValueError(f"open_clip has no model {model!r}; its models are the files of {folder}")
    return json.loads(path.read_text(encoding="utf-8"))


def exported(folder: Path) -> dict[str, Any]:
    """`model_cfg` and `preprocess_cfg` of a folder in open_clip's own layout. Raises ValueError saying what lacks.

    The configuration of a text tower of transformers comes with it, as `hf_config`, where it lies in the folder.
    """
    path = Path(folder) / EXPORTED
    if not path.is_file():
        raise ValueError(f"{folder} is no model exported for open_clip: it has no {EXPORTED}")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        words = found["model_cfg"]["text_cfg"]
        beside = path.with_name("config.json")  # as `hnclip export` writes it; others keep that of a whole CLIP there
        if "hf_model_name" in words and words.get("hf_model_pretrained") is False and beside.is_file():
            words["hf_config"] = json.loads(beside.read_text(encoding="utf-8"))
        return {"model_cfg": found["model_cfg"], "preprocess_cfg": found.get("preprocess_cfg", {})}
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is no configuration of an open_clip model ({error!r})") from None


def weights_in(folder: Path) -> Path:
    """The weights of an exported folder, safetensors before others. Raises ValueError where there are none."""
    kinds = ("*.safetensors", "*.bin", "*.pth", "*.pt")
    found = [path for kind in kinds for path in sorted(Path(folder).glob(kind), key=_open_clip_last)]
    if not found:
        raise ValueError(f"{folder} holds no weights ({', '.join(kinds)})")
    return found[0]


def _open_clip_last(path: Path) -> tuple[bool, str]:
    return not path.name.startswith("open_clip"), path.name


@cache
def _tags() -> ModuleType:
    """open_clip's list of published weights, without the package itself, whose import loads torch."""
    name = "_hnclip_open_clip"
    package = ModuleType(name)
    package.__path__ = [str(_package())]
    sys.modules[name] = package
    return import_module(f"{name}.pretrained")


def _package() -> Path:
    return Path(find_spec("open_clip").origin).parent


def tag_preprocess(model: str, tag: str) -> dict[str, Any]:
    """What open_clip says of the pictures of published weights (`mean`, `interpolation`, `resize_mode` ...)."""
    return _tags().get_pretrained_cfg(model, tag)


def openai_layout(architecture: dict[str, Any]) -> bool:
    """True where both towers are those of OpenAI's CLIP: a ViT with a class token, a causal text transformer."""
    vision, words = architecture["vision_cfg"], architecture["text_cfg"]
    return (
        not any(architecture.get(key) for key in ("custom_text", "multimodal_cfg"))
        and not any(vision.get(key) for key in ("timm_model_name", "attentional_pool", "output_tokens"))
        and not isinstance(vision.get("layers"), list | tuple)
        and vision.get("pool_type", "tok") == "tok"
        and not any(words.get(key) for key in ("hf_model_name", "no_causal_mask", "embed_cls", "proj_bias"))
        and words.get("pool_type", "argmax") in ("argmax", "eos")
        and words.get("proj_type", "linear") == "linear"
    )


def fault(architecture: dict[str, Any]) -> str | None:
    """Why a model cannot be a backbone at all; None where it can."""
    if "multimodal_cfg" in architecture:
        return "it is a CoCa, whose captioning half nothing here trains or keeps"
    if architecture["text_cfg"].get("tokenizer_mode"):
        return f"its tokenizer's mode {architecture['text_cfg']['tokenizer_mode']!r} is not known"
    size = architecture["vision_cfg"].get("image_size", 224)
    if isinstance(size, list | tuple) and len(set(size)) > 1:
        return f"its pictures are {size[0]} x {size[1]} pixels, and only squares are cached"
    return None


def image_size(architecture: dict[str, Any], otherwise: int = 224) -> int:
    """Pixels a side of the pictures; of a pair of equal sides one."""
    size = architecture["vision_cfg"].get("image_size", otherwise)
    return size[0] if isinstance(size, list | tuple) else size


def header(path: str) -> dict[str, str]:
    """What a safetensors file says of itself, read from its head alone; ValueError where it is none."""
    try:
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if length > 2**27:
                raise ValueError("its head is too long")
            return json.loads(file.read(length)).get("__metadata__", {})
    except (ValueError, AttributeError) as error:
        raise ValueError(f"{path} is no safetensors file ({error})") from None


def of_checkpoint(path: Path) -> dict[str, Any]:
    """The architecture in a safetensors file of ours, from its header alone. Raises ValueError where it has none."""
    try:
        return json.loads(header(str(path))["architecture"])
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"{path} is no checkpoint written by hnclip ({error!r})") from None


def architecture(entry: dict[str, Any]) -> dict[str, Any] | None:
    """open_clip's configuration of a backbone of the config; None where only its weights tell it (`longclip`).

    Raises ValueError where it should be there and is not.
    """
    kind = entry["kind"]
    if kind == "random":
        return entry["architecture"]
    if kind == "starter":
        return of_checkpoint(Path(str(STARTER)))
    if kind == "open_clip":
        return model_config(entry["model"])
    if kind == "checkpoint":
        return of_checkpoint(Path(entry["weights"]))
    return joined(entry) if kind == "joined" else None


def joined(entry: dict[str, Any]) -> dict[str, Any]:
    """The architecture of an image model and a sentence encoder in one CLIP (`hnclip.models.joined`)."""
    config = json.loads((folder_of(entry["text"]) / "config.json").read_text(encoding="utf-8"))
    return {
        "embed_dim": config["hidden_size"],
        "custom_text": True,
        "vision_cfg": {
            "image_size": entry["transform"]["size"],
            "timm_model_name": JOINED_IMAGE,
            "timm_pool": "avg",
            "timm_proj": "linear",
            "timm_proj_bias": True,
        },
        "text_cfg": {
            "hf_model_name": config["model_type"],
            "hf_pooler_type": "mean_pooler",
            "hf_proj_type": None,
            "hf_config": config,
        },
    }


def offers(entry: dict[str, Any]) -> frozenset[str]:
    """Which of `NEEDS` a backbone of the config meets. Raises ValueError where nothing tells."""
    found = architecture(entry)
    towers = {"token_states", "clip_blocks", "text_positions"} if found is None or openai_layout(found) else set()
    return frozenset(towers | ({"clip_tokenizer"} if entry["tokenizer"] == "clip" else set()))


def lacking(kind: str, needs: Iterable[str], offered: Iterable[str]) -> str:
    """What to say of a framework that needs what a backbone lacks; empty where it lacks nothing."""
    missing = [NEEDS[need] for need in needs if need not in offered]
    if not missing:
        return ""
    return (
        f"framework {kind!r} needs {' and '.join(missing)}, which this backbone does not have; "
        f"{ANY!r} takes any backbone (docs/backbones.md)"
    )
