"""One module a published data set; the module's name is the source.

Each has `SOURCE`: its files with their addresses, and the licence that they come under.
"""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from hnclip.options import unknown
from hnclip.store import read_json

RECORD = "fetched.json"
MARK = ".unpacked.json"  # in a folder that an archive was unpacked into, when it is whole


@dataclass(frozen=True)
class File:
    """A file of a source.

    url: http(s)://..., or hub:datasets/OWNER/REPO/FILE, or None where a person has to fetch it. sha256: where it is
    published. bytes: its rounded size, for the check of free disk space. about: what it is, and where to get it.
    """

    name: str
    url: str | None
    sha256: str | None = None
    bytes: int | None = None
    unpack: bool = False
    about: str = ""


@dataclass(frozen=True)
class Source:
    """A published data set: where it is described, what it may be used for, and its files."""

    name: str
    homepage: str
    licence: str
    noncommercial: bool
    files: tuple[File, ...]


def names() -> list[str]:
    """The known sources."""
    return sorted(module.name for module in iter_modules(__path__))


def source(name: str) -> Source:
    """The source of that name. Raises ValueError with the known ones."""
    if name not in names():
        raise ValueError(unknown("source", name, names()))
    return import_module(f"{__name__}.{name}").SOURCE


def fetched(folder: Path, source: str) -> dict[str, Path]:
    """The files of a source by name, and under `NAME/` the folder that an archive was unpacked into.

    `folder` is the benchmark's, results/data/BENCHMARK. Raises FileNotFoundError where the source was not fetched,
    naming all that is gone.
    """
    downloads = Path(folder).absolute().parents[1] / "downloads" / source
    record = downloads / RECORD
    again = f"run `snakemake results/downloads/{source}/{RECORD}`"
    if not record.is_file():
        raise FileNotFoundError(f"the source {source!r} was not fetched, there is no {record}; {again}")
    found: dict[str, Path] = {}
    lost = []
    for name, entry in read_json(record)["files"].items():
        found[name] = downloads / entry["path"]
        if not found[name].exists():
            lost.append(str(found[name]))
        if entry["unpacked"]:
            found[f"{name}/"] = downloads / entry["unpacked"]
            if not found[f"{name}/"].is_dir():
                lost.append(f"{found[f'{name}/']}/")
    if lost:
        listed = "\n  ".join(lost)
        raise FileNotFoundError(f"{record} names what is no longer there; delete it and {again}:\n  {listed}")
    return found
