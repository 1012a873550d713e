"""What a cell trains: the framework that its config names, on its towers."""

from typing import Any

import torch

from hnclip.data.split import Split
from hnclip.frameworks import check_fields, create
from hnclip.frameworks.base import Framework
from hnclip.losses.objective import LossEntry
from hnclip.models.backbone import Backbone
from hnclip.models.cached import CachedTowers
from hnclip.models.load import backbone_from
from hnclip.models.recomputed import recompute_blocks
from hnclip.recipe import Recipe


def framework_of(config: dict[str, Any], recipe: Recipe, loss: LossEntry, split: Split) -> Framework:
    """The framework as training starts from it; what it draws follows from the cell's seed.

    `split` is the training split. Raises ValueError where the framework and its inputs or its towers do not fit.
    """
    torch.manual_seed(config["seed"])
    backbone = _towers(config["backbone"], split)
    if loss.scale is not None:
        backbone.fix_scale(loss.scale)
    entry = config["framework"]
    framework = create(entry["kind"], backbone, entry.get("options", {}))
    check_fields(framework.fields, entry)
    if recipe.checkpoint_activations:
        recompute_blocks(backbone.clip)
    return framework


def _towers(entry: dict[str, Any], split: Split) -> Backbone:
    """The towers, or what stands for them where their embeddings are cached."""
    if split.scale is None:
        return backbone_from(entry)
    return CachedTowers((split.pixels.shape[1], split.tokens.rows.shape[1]), split.scale)
