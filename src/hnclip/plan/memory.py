"""What a job that loads a backbone asks of its machine, in main memory. No torch."""

from pathlib import Path
from typing import Any

from hnclip.architecture import LOCAL, weights_in
from hnclip.joined_files import joined_files
from hnclip.plan.tower import HALF
from hnclip.plan.towers import towers

MEGABYTE = 10**6
PROCESS = 3000  # packages, data and what a small model computes
BYTES = 20  # a weight: as read, as built, its two moments and itself in a checkpoint that is gone on from
UNKNOWN = 16000  # where nothing tells how large the backbone is
SAM = 8000  # a Segment Anything model with the masks of an image


def megabytes(entry: dict[str, Any]) -> int:
    """Megabytes for training, embedding or evaluating with a backbone of the config."""
    path = Path(entry.get("weights") or "")
    if entry["kind"] == "longclip" and path.is_file():
        return PROCESS + BYTES * (path.stat().st_size // 4) // MEGABYTE  # released files are fp32
    try:
        found = towers(entry)
        parameters = found.parameters if found.counted else _stored(entry)
        return PROCESS + BYTES * parameters // MEGABYTE
    except (ValueError, KeyError, OSError):
        return UNKNOWN


def _stored(entry: dict[str, Any]) -> int:
    """Numbers in the files of weights, if all are half precision: of those that are not, a job asks for too much.

    ValueError where the files are not on this machine.
    """
    if entry["kind"] == "joined":
        paths = [Path(path) for path in joined_files(entry) if Path(path).suffix in (".pth", ".pt", ".safetensors")]
    elif str(entry.get("model")).startswith(LOCAL):
        paths = [weights_in(Path(entry["model"].removeprefix(LOCAL)))]
    else:
        paths = [Path(entry.get("weights") or entry.get("pretrained") or "")]
    if not all(path.is_file() for path in paths):
        raise ValueError("the weights are not on this machine")
    return sum(path.stat().st_size for path in paths) // HALF
