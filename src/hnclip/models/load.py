"""A backbone from its config entry, checked against what the pixel cache and the tokens were made for."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from hnclip.architecture import LOCAL, STARTER
from hnclip.data.images import Transform
from hnclip.data.tokenizers import words
from hnclip.models.backbone import Backbone, Preprocess
from hnclip.models.checkpoints import OPENAI_MEAN, OPENAI_STD, build, load_backbone
from hnclip.models.longclip import load_longclip
from hnclip.models.pretrained import load_exported, load_open_clip
from hnclip.models.whole_towers import WholeTowers
from hnclip.options import from_dict, unknown

KINDS = ("starter", "checkpoint", "longclip", "open_clip", "joined", "random")


@dataclass(frozen=True)
class BackboneEntry:
    """A backbone of the config.

    `starter` ships with the package; `checkpoint` is a file written by hnclip (`weights`); `longclip` is a released
    Long-CLIP file (`weights`: a path, or hub:OWNER/REPO/FILE); `open_clip` takes `model` and `pretrained` (a tag, or a
    local file and in `pretrained_tag` the tag whose preprocessing it has), or `model: local-dir:FOLDER` of a model in
    open_clip's layout; `joined` makes a CLIP of the image model `image` and the sentence encoder `text`
    (hnclip.models.joined); `random` builds `architecture` from `seed`, for trials. `tokenizer` is named as in
    hnclip.data.tokenizers.
    """

    kind: str
    context: int
    transform: Any
    tokenizer: str = "clip"
    weights: str | None = None
    model: str | None = None
    pretrained: str | None = None
    pretrained_tag: str | None = None
    image: str | None = None
    text: str | None = None
    architecture: dict[str, Any] | None = None
    seed: int = 0


def backbone_from(entry: dict[str, Any]) -> Backbone:
    """The backbone of a config entry, its text positions stretched to the entry's context, in fp32."""
    options = from_dict(BackboneEntry, entry, "backbone")
    transform = from_dict(Transform, options.transform, "transform of the backbone")
    if options.kind == "starter":
        backbone = load_backbone(Path(str(STARTER)))
    elif options.kind == "checkpoint":
        backbone = load_backbone(Path(_given(options, "weights")))
    elif options.kind == "open_clip" and _given(options, "model").startswith(LOCAL):
        backbone = load_exported(options.model)
    elif options.kind == "joined":
        from hnclip.models.joined import load_joined  # it brings transformers

        backbone = load_joined({**entry, **{key: _given(options, key) for key in ("image", "text")}})
    elif options.kind == "open_clip":
        backbone = load_open_clip(_given(options, "model"), _given(options, "pretrained"), options.pretrained_tag)
    elif options.kind == "longclip":
        backbone = load_longclip(_given(options, "weights"))
    elif options.kind == "random":
        with torch.random.fork_rng(devices=[]):  # what a framework draws follows from the cell's seed
            torch.manual_seed(options.seed)
            backbone = build(_given(options, "architecture"), Preprocess(transform.size, OPENAI_MEAN, OPENAI_STD))
    else:
        raise ValueError(unknown("backbone kind", options.kind, KINDS))
    _check_transform(backbone.preprocess, transform)
    backbone.stretch_text(options.context)
    backbone.tokenizer = options.tokenizer
    if isinstance(backbone, WholeTowers) and backbone.pad_id is None:
        backbone.pad_with(words(options.tokenizer, options.context).pad_id)
    return backbone


def _given(options: BackboneEntry, key: str) -> Any:
    value = getattr(options, key)
    if value is None:
        raise ValueError(f"a backbone of kind {options.kind!r} needs `{key}` in the config")
    return value


def _check_transform(wanted: Preprocess, given: Transform) -> None:
    """The config's transform must be the checkpoint's own; only EXIF rotation is the user's choice."""
    differences = [
        f"{key}: {getattr(given, key)!r} in the config, {getattr(wanted, key)!r} in the checkpoint"
        for key in ("size", "interpolation", "resize")
        if getattr(given, key) != getattr(wanted, key)
    ]
    if differences:
        raise ValueError("the transform is not the one this backbone was trained with: " + "; ".join(differences))
