"""The towers of a CLIP from its architecture, which is read without its weights."""

import json
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hnclip.options import unknown
from hnclip.plan.tower import Tower

MLP_RATIO = 4.0
GIVEN = 512  # numbers of an embedding that the user has, whose file is not looked at [assumed]
STARTER = files("hnclip") / "weights" / "tiny.safetensors"
HUB = "hub:"
# Released Long-CLIP models by the name of their repository.
RELEASED = {
    "LongCLIP-B": "ViT-B-16-quickgelu",
    "LongCLIP-B-32": "ViT-B-32-quickgelu",
    "LongCLIP-L": "ViT-L-14-quickgelu",
    "LongCLIP-L-336px": "ViT-L-14-336-quickgelu",
}


@dataclass(frozen=True)
class Towers:
    """Both towers of a CLIP, and the tokens of a picture."""

    image: Tower
    text: Tower
    image_tokens: int
    embed_dim: int

    @property
    def patches(self) -> int:
        return self.image_tokens - 1

    @property
    def parameters(self) -> int:
        return self.image.parameters + self.text.parameters + 1


def architecture(entry: dict[str, Any]) -> dict[str, Any]:
    """open_clip's configuration of a backbone of the config, read without loading it or its weights.

    Raises ValueError or FileNotFoundError where nothing tells it.
    """
    kind = entry["kind"]
    if kind == "random":
        return entry["architecture"]
    if kind == "starter":
        return _of_checkpoint(Path(str(STARTER)))
    if kind == "open_clip":
        return named(entry["model"])
    if kind == "checkpoint":
        return _of_checkpoint(Path(entry["weights"]))
    return _of_longclip(entry["weights"])


def _of_longclip(weights: str) -> dict[str, Any]:
    """Of a released file: on the hub by its repository's name, else by its tensors' shapes, which torch reads."""
    if not weights.startswith(HUB):
        from hnclip.models.longclip import architecture_of, merge_positions
        from hnclip.models.state_file import read_state

        return architecture_of(merge_positions(read_state(Path(weights)), weights), weights)
    repository = weights.split("/")[1]
    if repository not in RELEASED:
        text = unknown("Long-CLIP repository", repository, RELEASED)
        raise ValueError(f"{weights}: {text}; fetch the file and set `weights` to its path")
    return named(RELEASED[repository])


def named(model: str) -> dict[str, Any]:
    """The configuration that open_clip ships under this name. Raises ValueError where there is none."""
    folder = Path(find_spec("open_clip").origin).parent / "model_configs"
    path = folder / f"{model}.json"
    if not path.is_file():
        raise ValueError(f"open_clip has no model {model!r}; its models are the files of {folder}")
    found = json.loads(path.read_text(encoding="utf-8"))
    if "timm_model_name" in found["vision_cfg"] or "hf_model_name" in found["text_cfg"]:
        raise ValueError(f"model {model!r} has towers other than open_clip's own; hnclip does not train them")
    return found


def _of_checkpoint(path: Path) -> dict[str, Any]:
    """The architecture in a safetensors file of ours, from its header alone."""
    try:
        with path.open("rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        return json.loads(header["__metadata__"]["architecture"])
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"{path} cannot be planned with: it is no checkpoint written by hnclip ({error!r})") from None


def towers(entry: dict[str, Any]) -> Towers:
    """The towers of a backbone of the config, its text positions stretched to the entry's context.

    Towers without any weights, where it is embeddings that the user has.
    """
    if entry["kind"] == "embeddings":
        nothing = Tower(layers=0, width=0, mlp_ratio=MLP_RATIO, embed_dim=GIVEN, entry=0)
        return Towers(nothing, nothing, image_tokens=1, embed_dim=GIVEN)
    found = architecture(entry)
    vision, words, width = found["vision_cfg"], found["text_cfg"], found["embed_dim"]
    size = vision.get("image_size", 224)
    patch = vision["patch_size"]
    patches = (size // patch) ** 2
    conv = 3 * patch**2 * vision["width"]
    image = Tower(
        layers=vision["layers"],
        width=vision["width"],
        mlp_ratio=vision.get("mlp_ratio", MLP_RATIO),
        embed_dim=width,
        entry=conv + (patches + 2) * vision["width"] + 2 * vision["width"],
        entry_flops=2.0 * conv * patches,
        entry_inputs=3.0 * patch**2 * patches,
    )
    text = Tower(
        layers=words["layers"],
        width=words["width"],
        mlp_ratio=words.get("mlp_ratio", MLP_RATIO),
        embed_dim=width,
        entry=(words["vocab_size"] + entry["context"]) * words["width"],
        packed=True,
    )
    return Towers(image, text, patches + 1, width)
