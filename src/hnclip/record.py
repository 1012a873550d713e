"""What a run was made with: commit, versions, device, memory."""

import os
import resource
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
import torch

from hnclip.checkpoint import Progress
from hnclip.commits import commit
from hnclip.data.split import Split
from hnclip.inputs import FILES, cached, record_path, wanted
from hnclip.models.fetch import published_file
from hnclip.models.load import BackboneEntry
from hnclip.options import from_dict
from hnclip.processes import most, world
from hnclip.store import read_json, sha256_of
from hnclip.tower_files import published, tower_files

PACKAGES = (
    *("torch", "open_clip_torch", "timm", "transformers", "peft", "lightning-fabric"),
    *("numpy", "pandas", "pillow"),
)


def origin(config: dict[str, Any]) -> dict[str, Any]:
    """All that a run's results follow from: its config, the bytes of every file it reads, code and packages.

    Of `published_weights`, which a tag or the hub names, the file is hashed that the towers are loaded from, under
    the name in the config: upstream, another may come to stand under it. Raises as loading the towers does.
    """
    data = config["data"]
    records = [record for record in (data["train"], data["validation"], *data["test"]) if record]
    paths = [record[key] for record in records for key in record if key != "name"]
    paths += [path for path in tower_files(config["backbone"]) if os.path.isfile(path)]
    name, dirty = commit()
    return {
        "config": config,
        "files": {path: sha256_of(path) for path in dict.fromkeys(paths)},
        "published_weights": _published(config),
        "commit": name,
        "dirty": dirty,
        "versions": {"python": sys.version.split()[0], **{package: version(package) for package in PACKAGES}},
    }


def _published(config: dict[str, Any]) -> dict[str, str]:
    """The hash of published weights by their name; none where the towers are not loaded, but their embeddings read."""
    named = published(config["backbone"])
    if named is None or cached(config["framework"]):
        return {}
    options = from_dict(BackboneEntry, config["backbone"], "backbone")
    return {named: sha256_of(published_file(options))}


def run_record(origin: dict[str, Any], device: torch.device, progress: Progress, splits: list[Split]) -> dict[str, Any]:
    """The record kept beside a run's results; `captions_cut` has the captions too long for the context, of how many.

    Peak memory is that of the process that took most; all processes call this together.
    """
    on_gpu = device.type == "cuda"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return {
        "cell": origin["config"]["cell"],
        **origin,
        "captions_cut": {split.name: [split.tokens.truncated, len(split.tokens)] for split in splits},
        "device": torch.cuda.get_device_name(device) if on_gpu else "cpu",
        "threads": torch.get_num_threads(),
        "processes": world(),
        "seconds": round(progress.seconds, 3),
        "evaluation_seconds": round(progress.evaluation_seconds, 3),
        "pairs": progress.pairs,
        "pairs_per_second": round(progress.pairs / progress.seconds, 1) if progress.seconds else 0.0,
        "peak_memory_bytes": most(torch.cuda.max_memory_allocated(device) if on_gpu else peak),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


@contextmanager
def noted() -> Iterator[dict[str, None]]:
    """Collects what hnclip's own code warns of, each sentence once; it is shown as well."""
    said: dict[str, None] = {}
    show = warnings.showwarning

    def note(message: Any, category: Any, filename: str, *more: Any) -> None:
        if Path(__file__).parent in Path(filename).parents:
            said.setdefault(str(message))
        show(message, category, filename, *more)

    warnings.showwarning = note
    try:
        yield said
    finally:
        warnings.showwarning = show


def resident_memory() -> int:
    """Bytes of this process in memory now."""
    return psutil.Process().memory_info().rss


def costs(optimiser: torch.optim.Optimizer, baseline: int, config: dict[str, Any]) -> dict[str, Any]:
    """What a method costs beside time and peak memory: memory before it, weights trained, inputs made.

    Of each input that the framework of this cell's config trains on, what was noted when it was made.
    """
    weights = [weight for group in optimiser.param_groups for weight in group["params"]]
    files = config["data"]["train"]
    keys = dict.fromkeys(key for name in wanted(config["framework"]) for key in FILES[name])
    return {
        "baseline_memory_bytes": baseline,
        "trained_parameters": sum(weight.numel() for weight in weights),
        "inputs": {key: read_json(Path(record_path(files[key]))) for key in keys},
    }
