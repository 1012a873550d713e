"""What a run on cached embeddings learned, as a folder that needs no hnclip: two small maps and what they map."""

from pathlib import Path
from typing import Any

from hnclip.models.cached import CachedTowers, adapter_file
from hnclip.store import write_json, write_tensors


def write_adapter(folder: Path, towers: CachedTowers, backbone: dict[str, Any]) -> None:
    """Write adapter.safetensors and adapter_config.json; `backbone` is the entry whose embeddings were mapped."""
    said = adapter_file(towers)
    weights = {name: value.detach().float().cpu().contiguous() for name, value in towers.weights().items()}
    write_tensors(folder / "adapter.safetensors", weights, said)
    image, text = towers.widths
    record = {
        "format": said["format"],
        "backbone": backbone,
        "widths": {"image": image, "text": text, "out": towers.architecture["embed_dim"]},
        "hidden": towers.hidden,
        "trained_sides": list(towers.sides),
        "scale": towers.scale().item(),
    }
    write_json(folder / "adapter_config.json", record)
