"""The weights file of a run: trained towers, or maps of cached embeddings."""

from pathlib import Path

import torch

from hnclip.architecture import header
from hnclip.model_spec import ADAPTER
from hnclip.models.backbone import Backbone
from hnclip.models.cached import CachedTowers, load_adapter, save_adapter
from hnclip.models.checkpoints import load_backbone, save_backbone


def save_trained(path: Path, backbone: Backbone, provenance: dict, extra: dict[str, torch.Tensor]) -> None:
    """Write what was trained, with its origin; `extra` is what belongs to the method beside the towers."""
    if isinstance(backbone, CachedTowers):
        save_adapter(path, backbone, provenance)
    else:
        save_backbone(path, backbone, provenance, extra=extra)


def load_trained(path: Path) -> Backbone:
    """What `save_trained` wrote, in fp32. Raises as `load_backbone` does."""
    return load_adapter(path) if path.is_file() and header(str(path)).get("format") == ADAPTER else load_backbone(path)
