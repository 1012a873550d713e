"""The part of a config's check that looks at downloads. No torch."""

from collections.abc import Iterator
from pathlib import Path

from hnclip.cell import Config
from hnclip.data import prepare, sources
from hnclip.data.source_options import Options
from hnclip.options import from_dict, unknown


def source_problems(config: Config, used: Config) -> Iterator[str]:
    """Sources and files that nothing answers to, and files of the user's that are not there.

    `used` holds the benchmarks of the study alone: only what they are made from has to be there.
    """
    kinds = {entry["kind"] for entry in used["benchmarks"].values()} & set(prepare.kinds())
    wanted = {name for kind in kinds for name in prepare.sources(kind)}
    for name, entry in (config.get("sources") or {}).items():
        if name not in sources.names():
            yield f"sources.{name}: " + unknown("source", name, sources.names())
            continue
        try:
            options = from_dict(Options, entry, f"sources.{name}")
        except ValueError as error:
            yield str(error)
            continue
        yield from (f"sources.{name}.{fault}" for fault in options.faults(sources.source(name)))
        for path in options.files.values():
            if name in wanted and not Path(path).exists():
                yield f"sources.{name}.files: there is no file {path}"
