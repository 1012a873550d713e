"""The part of a config's check that looks at frameworks' further inputs. No torch."""

from collections.abc import Iterator
from importlib import import_module

from hnclip import frameworks, inputs
from hnclip.cell import Config
from hnclip.data import prepare
from hnclip.data.derive.entries import EdgesEntry, SegmentsEntry
from hnclip.data.derive.lexicon import LexiconEntry
from hnclip.options import from_dict, unknown

ENTRIES = {"segments": SegmentsEntry, "edges": EdgesEntry, "lexicons": LexiconEntry}
NAMED = {"edges": "edges", "lexicon": "lexicons"}  # an input that names an entry, and the section of it


def input_problems(config: Config) -> Iterator[str]:
    """Entries that their kind does not take, and inputs that name what is not there."""
    for section, kind in ENTRIES.items():
        for name, entry in config[section].items():
            try:
                from_dict(kind, entry, f"{section}.{name}")
            except ValueError as error:
                yield str(error)
    for name, entry in config["segments"].items():
        if entry["backbone"] not in config["backbones"]:
            yield f"segments.{name}.backbone: " + unknown("backbone", entry["backbone"], config["backbones"])
    for name, entry in config["frameworks"].items():
        wanted = inputs.wanted(entry)
        for key, section in NAMED.items():
            if key in wanted and wanted[key] not in config[section]:
                yield f"frameworks.{name}.inputs.{key}: " + unknown(key, wanted[key], config[section])
        if "edge_crops" in wanted and "edges" not in wanted:
            yield f"frameworks.{name}.inputs.edge_crops: crops of edge maps need `edges` beside them"
    yield from _refused(config)
    for name, entry in config["benchmarks"].items():
        if "segments" in entry and entry["segments"] not in config["segments"]:
            yield f"benchmarks.{name}.segments: " + unknown("segments", entry["segments"], config["segments"])
    yield from dict.fromkeys(_missing_segments(config))


def _refused(config: Config) -> Iterator[str]:
    """Options that a framework does not take, and inputs that it reads but its entry does not name."""
    for name, entry in config["frameworks"].items():
        if entry["kind"] not in frameworks.names():
            continue
        fields = frameworks.fields(entry["kind"])
        try:
            frameworks.check_options(entry["kind"], entry.get("options", {}), f"frameworks.{name}.options")
        except ValueError as error:
            yield str(error)
        try:
            frameworks.check_fields(fields, entry)
        except ValueError as error:
            yield f"frameworks.{name}: {error}"
        read = {inputs.bringing(field) for field in fields}
        read |= {"edges"} if "edge_crops" in read else set()
        for key in sorted((inputs.FIELDS.keys() & inputs.wanted(entry)) - read if fields else ()):
            yield f"frameworks.{name}.inputs.{key}: framework {entry['kind']!r} does not train on it"


def _missing_segments(config: Config) -> Iterator[str]:
    """Benchmarks without regions that a framework of the study trains on or filters by."""
    found = set()
    for grid in (config["grids"][name] for name in config["run"] if name in config["grids"]):
        for framework in (name for name in grid["frameworks"] if name in config["frameworks"]):
            entry = config["frameworks"][framework]
            filters = inputs.filters_by_segments({**config["recipe"], **entry.get("recipe", {})})
            if inputs.needs_segments(entry) or filters:
                trained = {name: config["benchmarks"][name] for name in grid["train"] if name in config["benchmarks"]}
                found |= {(name, framework) for name, entry in trained.items() if "segments" not in entry}
                yield from _without_boxes(config, trained)
    for name, framework in sorted(found):
        known = ", ".join(config["segments"]) or "none"
        yield f"benchmarks.{name}: framework {framework!r} needs regions: name its `segments` (known: {known})"


def _without_boxes(config: Config, trained: Config) -> Iterator[str]:
    """Benchmarks that want regions `given` by a kind that knows none."""
    for name, entry in trained.items():
        segments = config["segments"].get(entry.get("segments"), {})
        if segments.get("kind") == "given" and entry["kind"] in prepare.kinds():
            if not getattr(import_module(f"hnclip.data.prepare.{entry['kind']}"), "BOXES", False):
                yield (
                    f"benchmarks.{name}.segments: kind {entry['kind']!r} knows no boxes of its sentences, so none are "
                    "given; take segments of another kind, such as felzenszwalb"
                )
