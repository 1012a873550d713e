"""What a job that loads a backbone asks of its machine, in main memory. No torch."""

from pathlib import Path
from typing import Any

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
        return PROCESS + BYTES * towers(entry).parameters // MEGABYTE
    except (ValueError, KeyError, OSError):
        return UNKNOWN
