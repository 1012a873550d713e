"""How many pairs a benchmark's splits hold, how long their captions are and how large their sources."""

import json
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from hnclip import split_files
from hnclip.cell import Config
from hnclip.data import sources

# Tokens of a caption, start and end included; paragraphs of Visual Genome have 68 words on average.
TOKENS = {"docci": 142, "dci": 152, "long_dci": 152, "urban1k": 131, "vg_paragraphs": 80, "stamps": 50, "stamp": 8}
UNKNOWN = 140
SCENE, OBJECT = 10, 17  # of a drawn scene, and of each object in it


@dataclass(frozen=True)
class Split:
    """Pairs of a split, tokens of a caption, and where the number is from."""

    pairs: int
    tokens: float
    known: str


def split_size(config: Config, benchmark: str, split: str) -> Split:
    """Counted where the split's files lie under results/, else of the options, else of own captions, else published.

    Raises ValueError for a benchmark whose size nothing tells before it is prepared.
    """
    entry = config["benchmarks"][benchmark]
    kind, options = entry["kind"], entry["options"]
    tokens = _scene_tokens(options) if kind == "scenes" else float(TOKENS.get(kind, UNKNOWN))
    manifest = Path(split_files.manifest_path(benchmark, split))
    if manifest.is_file():
        pairs, counted = _counted(manifest, manifest.stat().st_mtime_ns)
        return Split(pairs, counted or tokens, "counted")
    told = options.get("counts") if isinstance(options.get("counts"), dict) else options.get("pairs")
    if told and split in told:
        return Split(told[split], tokens, "options")
    expected, known = _expected(kind, json.dumps(options, sort_keys=True))
    if split in expected:
        return Split(expected[split], tokens, known)
    raise ValueError(
        f"benchmark {benchmark!r}: nothing tells how many pairs {split!r} has before it is prepared; run "
        f"`hnclip run STUDY --data` first, or `snakemake --until prepare_{benchmark}`"
    )


def _scene_tokens(options: dict[str, Any]) -> float:
    """Tokens of a drawn scene's caption, by its number of objects."""
    fewest, most = options.get("objects", import_module("hnclip.data.prepare.scenes").Options.objects)
    return SCENE + OBJECT * (fewest + most) / 2


@cache
def _expected(kind: str, spelled: str) -> tuple[dict[str, int], str]:
    """The pairs of each split that the preparation expects under its options, and where the numbers are from.

    Options as JSON. Of own data captions are counted, once; none where they have faults, which the preparation names.
    """
    module, options = import_module(f"hnclip.data.prepare.{kind}"), json.loads(spelled)
    if hasattr(module, "count"):
        with suppress(ValueError, OSError):
            return module.count(options), "counted"
        return {}, "counted"
    if hasattr(module, "expected"):
        return module.expected(options), "published"
    counts = getattr(module, "PUBLISHED", {})
    if len(counts) < 2:
        return next(iter(counts.values()), {}), "published"
    return counts.get(options.get("protocol", module.Options.protocol), {}), "published"


@cache
def _counted(manifest: Path, written: int) -> tuple[int, float | None]:
    """Pairs of a split, and the mean length of its captions where they were tokenised; read once as `written` then."""
    import numpy as np
    from pyarrow import parquet

    pairs = parquet.ParquetFile(manifest).metadata.num_rows
    for path in sorted(manifest.parent.glob(f"{manifest.stem}.*.tokens.npz")):
        with np.load(path) as file:
            return pairs, float(np.diff(file["start"]).mean())
    return pairs, None


def downloads(config: Config, benchmarks: list[str]) -> dict[str, dict[str, Any]]:
    """Of each source that these benchmarks need: bytes as published, bytes unpacked, whether put there by hand."""
    needed = set()
    for name in benchmarks:
        module = import_module(f"hnclip.data.prepare.{config['benchmarks'][name]['kind']}")
        needed.update(getattr(module, "SOURCES", ()))
    found = {}
    for name in sorted(needed):
        files = sources.source(name).files
        found[name] = {
            "bytes": sum(file.bytes or 0 for file in files),
            "unpacked": sum(file.bytes or 0 for file in files if file.unpack),
            "by_hand": [file.name for file in files if file.url is None],
        }
    return found
