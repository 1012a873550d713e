"""The part of a config's check that looks at captions embedded by themselves, and at their encoders. No torch."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hnclip.cell import Config
from hnclip.options import from_dict, unknown
from hnclip.split_files import all_splits
from hnclip.text_encoder import TextEncoder, encoder_folder


def caption_problems(config: Config) -> Iterator[str]:
    """Captions from nowhere or from two places, names that nothing answers to, encoders that are not there.

    An encoder that no captions name may be missing.
    """
    sets, encoders = config.get("captions", {}), config.get("encoders", {})
    for name, entry in sets.items():
        yield from _source_problems(config, f"captions.{name}", entry)
        if entry["encoder"] not in encoders:
            yield f"captions.{name}.encoder: " + unknown("encoder", entry["encoder"], encoders)
    used = {entry["encoder"] for entry in sets.values()}
    for name, entry in encoders.items():
        try:
            encoder = from_dict(TextEncoder, entry, f"encoders.{name}")
        except ValueError as error:
            yield str(error)
            continue
        if name in used:
            try:
                encoder_folder(encoder.folder)
            except (ValueError, OSError) as error:
                yield f"encoders.{name}.folder: {error}"


def _source_problems(config: Config, place: str, entry: dict[str, Any]) -> Iterator[str]:
    """Where a set's captions come from: one file that is there, or one split that a benchmark has."""
    if ("file" in entry) == ("split" in entry):
        yield f"{place}: name either a 'file' or a 'split' (BENCHMARK/SPLIT)"
    elif "file" in entry:
        if not Path(entry["file"]).is_file():
            yield f"{place}.file: there is no file {entry['file']}"
    else:
        benchmark, _, split = entry["split"].partition("/")
        if benchmark not in config["benchmarks"]:
            yield f"{place}.split: " + unknown("benchmark", benchmark, config["benchmarks"])
        elif split not in (known := all_splits(config["benchmarks"][benchmark])):
            yield f"{place}.split: " + unknown(f"split of {benchmark}", split, known)
