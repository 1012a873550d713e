"""The files that a backbone of the config is read from: weights, configurations, its tokenizer's. No torch."""

from pathlib import Path
from typing import Any

from hnclip.architecture import EXPORTED, LOCAL, exported, weights_in
from hnclip.joined_files import joined_files
from hnclip.tokenizer_files import tokenizer_files

Entry = dict[str, Any]

# The key under which a kind of backbone names a file.
WEIGHTS_KEYS = {"checkpoint": "weights", "longclip": "weights", "open_clip": "pretrained", "embeddings": "file"}
WEIGHTS_SUFFIXES = (".pt", ".pth", ".bin", ".ckpt", ".npz", ".safetensors")


def tower_files(entry: Entry) -> list[str]:
    """Every file of this machine that decides what a backbone returns for an image or a caption.

    Raises ValueError where a folder or package lacks one.
    """
    return list(dict.fromkeys(weights_files(entry) + tokenizer_files(entry.get("tokenizer", "clip"))))


def weights_files(entry: Entry) -> list[str]:
    """The files of weights that the config names for a backbone, if any; a tag or a file of the hub is none.

    With them the configurations in their folder. Raises ValueError where a folder or package holds none.
    """
    if entry["kind"] == "joined":
        return joined_files(entry)
    if entry["kind"] == "random":
        return _text_config(entry.get("architecture") or {})
    if entry["kind"] == "open_clip" and entry["model"].startswith(LOCAL):
        return _exported_files(Path(entry["model"].removeprefix(LOCAL)))
    named = entry.get(WEIGHTS_KEYS.get(entry["kind"]))
    if named is None or named.startswith("hub:"):
        return []
    tag = "/" not in named and not named.endswith(WEIGHTS_SUFFIXES) and not Path(named).is_file()
    return [] if entry["kind"] == "open_clip" and tag else [named]


def published(entry: Entry) -> str | None:
    """MODEL:TAG or hub:OWNER/REPO/FILE of weights that are fetched once, where there is a network; None of others."""
    named = entry.get(WEIGHTS_KEYS.get(entry["kind"]))
    if not named or weights_files(entry):
        return None
    return f"{entry['model']}:{named}" if entry["kind"] == "open_clip" else named


def _exported_files(folder: Path) -> list[str]:
    """The files of a folder in open_clip's layout, with the configuration of a text tower of transformers."""
    architecture = exported(folder)["model_cfg"]
    beside = [str(folder / "config.json")] if "hf_config" in architecture["text_cfg"] else _text_config(architecture)
    return [str(folder / EXPORTED), *beside, str(weights_in(folder))]


def _text_config(architecture: dict[str, Any]) -> list[str]:
    """The configuration of a text tower of transformers, where a folder of this machine is named for it."""
    words = architecture.get("text_cfg") or {}
    path = Path(words.get("hf_model_name") or "", "config.json")
    return [str(path)] if "hf_model_name" in words and "hf_config" not in words and path.is_file() else []
