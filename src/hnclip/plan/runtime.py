"""How many minutes a job asks of its cluster: what the plan counts on a small GPU, with a margin. No torch."""

from functools import cache
from math import ceil
from pathlib import Path

from hnclip import cell as cells
from hnclip.cell import Cell, Config
from hnclip.plan.costs import Cost, cell_cost, encoding
from hnclip.plan.devices import DEVICES
from hnclip.plan.sizes import split_size
from hnclip.plan.study import SAM_SECONDS, audit_passes
from hnclip.plan.towers import Towers, towers

STATED = DEVICES["A10"]  # on most GPUs of a cluster a job ends sooner
MARGIN = 3.0  # a busy file system, other jobs on the node, a slower GPU
LEAST = 30  # packages and weights are read in a part of it
UNKNOWN = 720  # where nothing tells how large the data or the backbone is
CPU_SECONDS = 2.0  # an image of some megapixels, where regions are found without a model
LARGE = 10**9  # bytes of a released file beyond which its towers are taken for those of ViT-L


class Minutes:
    """The minutes that jobs of a study may take; what they share is counted once."""

    def __init__(self, config: Config):
        self.config = config
        self.towers = cache(self._towers)

    def training(self, cell: Cell) -> int:
        """Of training a cell, its evaluations included; several processes share both."""
        cost = self._cost(cell)
        return UNKNOWN if cost is None else asked((cost.seconds + cost.eval_seconds) / cost.processes)

    def auditing(self, cell: Cell) -> int:
        """Of training a cell once more with its gradients measured on the way."""
        cost = self._cost(cell)
        passes = audit_passes(self.config, cells.recipe_of(self.config, cell))
        return 2 * UNKNOWN if cost is None else asked(cost.seconds * passes)

    def embedding(self, backbone: str, benchmark: str, splits: list[str]) -> int:
        """Of embedding these splits of a benchmark."""
        try:
            known = self.towers(backbone)
            if not known.counted:
                return UNKNOWN
            flops = sum(encoding(self.config, benchmark, split, known) for split in splits)
        except (ValueError, KeyError, OSError):
            return UNKNOWN
        return asked(flops / (1e12 * STATED.fp32))

    def regions(self, segments: str, benchmark: str, split: str) -> int:
        """Of finding the regions of a split, or of one of its shards."""
        entry = self.config["segments"][segments]
        try:
            images = split_size(self.config, benchmark, split).pairs
        except ValueError:
            return 2 * UNKNOWN
        seconds = SAM_SECONDS if entry["kind"] == "sam" else CPU_SECONDS
        return asked(seconds * images / entry.get("shards", 1))

    def _cost(self, cell: Cell) -> Cost | None:
        try:
            found = cell_cost(self.config, cell, self.towers(cell.backbone), STATED)
            return found if found.counted else None
        except (ValueError, KeyError, OSError):
            return None

    def _towers(self, backbone: str) -> Towers:
        entry = self.config["backbones"][backbone]
        path = Path(entry.get("weights") or "")
        if entry["kind"] == "longclip" and path.is_file():  # to read its shapes takes torch
            model = "ViT-L-14-quickgelu" if path.stat().st_size > LARGE else "ViT-B-16-quickgelu"
            entry = {**entry, "kind": "open_clip", "model": model}
        return towers(entry)


def asked(seconds: float) -> int:
    """Minutes asked for a job that is counted to compute for so many seconds."""
    return LEAST + ceil(MARGIN * seconds / 60)
