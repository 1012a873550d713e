"""The config of a study as the workflow reads it: config.yaml, overlays laid over it in order, checked."""

from functools import reduce
from pathlib import Path
from typing import Any

import yaml

from hnclip.check import check
from hnclip.check_schema import check_keys

SCHEMA = Path("workflow/schemas/config.schema.yaml")


def merge(base: dict[str, Any], overlay: dict[str, Any]) -> dict[str, Any]:
    """As Snakemake merges: dictionaries key by key, everything else replaced."""
    merged = dict(base)
    for key, value in overlay.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = merge(merged[key], value) if both else value
    return merged


def read(overlays: list[Path], base: Path = Path("config.yaml")) -> dict[str, Any]:
    """The merged config. Raises FileNotFoundError, or ValueError naming everything wrong with it."""
    paths = [base, *overlays]
    missing = [str(path) for path in paths if not path.is_file()]
    if missing:
        raise FileNotFoundError(f"no such file: {', '.join(missing)} (run it in the repository's folder)")
    check_keys(paths)
    merged = reduce(merge, [yaml.safe_load(path.read_text(encoding="utf-8")) or {} for path in paths])
    check(merged, yaml.safe_load((base.parent / SCHEMA).read_text(encoding="utf-8")))
    return merged
