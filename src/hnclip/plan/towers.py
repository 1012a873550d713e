"""The towers of a CLIP from its architecture, which is read without its weights."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hnclip.architecture import architecture as of_entry
from hnclip.architecture import model_config, openai_layout
from hnclip.options import unknown
from hnclip.plan.tower import Tower

MLP_RATIO = 4.0
GIVEN = 512  # numbers of an embedding that the user has, whose file is not looked at [assumed]
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
    """Both towers of a CLIP, and the tokens of a picture; `counted` is false where only their width is known."""

    image: Tower
    text: Tower
    image_tokens: int
    embed_dim: int
    counted: bool = True

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
    found = of_entry(entry)
    return _of_longclip(entry["weights"]) if found is None else found


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
    return model_config(RELEASED[repository])


def towers(entry: dict[str, Any]) -> Towers:
    """The towers of a backbone of the config, its text positions stretched to the entry's context.

    Towers without any weights, where it is embeddings that the user has, and where towers are taken as a whole: those
    are of many kinds, and are not counted.
    """
    if entry["kind"] == "embeddings":
        return _nothing(GIVEN)
    found = architecture(entry)
    if not openai_layout(found):
        return replace(_nothing(found["embed_dim"]), counted=False)
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


def _nothing(width: int) -> Towers:
    nothing = Tower(layers=0, width=0, mlp_ratio=MLP_RATIO, embed_dim=width, entry=0)
    return Towers(nothing, nothing, image_tokens=1, embed_dim=width)
