"""The model of an index: remembered by its name, known by its identity."""

import os
from pathlib import Path
from typing import Any

from hnclip.model_spec import backbone_entry, lasting


def encoder_of(model: Any) -> Any:
    """The encoder that a name stands for (see `hnclip.model_spec`), or the encoder itself."""
    if not isinstance(model, str | os.PathLike):
        return model
    backbone_entry(os.fspath(model))  # a name that stands for nothing is told before torch is loaded
    from hnclip.encoder import Encoder

    return Encoder(os.fspath(model))


def name_of(model: Any) -> str:
    """What the model was asked for as; a path has a `name` too, which is not it."""
    return os.fspath(model) if isinstance(model, str | os.PathLike) else model.name


def described(encoder: Any) -> dict[str, Any]:
    """What an index's record says of its model."""
    return {
        "name": lasting(encoder.name),
        "identity": encoder.identity,
        "width": encoder.width,
        "entry": encoder.entry,
    }


def check_same(encoder: Any, model: dict[str, Any], index: Path) -> None:
    """Raises ValueError naming both models where the encoder is not the one that an index was made with."""
    if encoder.identity == model["identity"]:
        return
    other = lasting(encoder.name)
    changed = (
        ": the same name, but its weights, its preprocessing or how its towers are read are others now, or an "
        "earlier hnclip, which told less of them, made the index"
    ) * (other == model["name"])
    raise ValueError(
        f"{index} was made with {model['name']} (identity {model['identity'][:12]}), and this is {other} "
        f"(identity {encoder.identity[:12]}){changed}. Their embeddings cannot be compared: use the index's own model, "
        "or make another index with this one by `hnclip index MODEL IMAGES --to FOLDER`"
    )
