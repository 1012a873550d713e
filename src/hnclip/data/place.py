"""Where each file of a source is, or has to be put by a person."""

import shutil
from pathlib import Path

from rich.filesize import decimal

from hnclip.data import hub
from hnclip.data.downloads import PARTS, shown
from hnclip.data.source_options import Options
from hnclip.data.sources import File, Source


def find(source: Source, options: Options, folder: Path) -> dict[str, Path]:
    """The path of each file; one that is not there yet can be downloaded to it.

    Raises FileNotFoundError naming every file that a person has to fetch, and where to put it; OSError where those to
    be downloaded would not fit on the disk.
    """
    found: dict[str, Path] = {}
    by_hand = []
    for file in source.files:
        path = _path(file, options, folder)
        if path is None:
            by_hand.append(_request(source, file, options, folder))
        else:
            found[file.name] = path
    if by_hand:
        count = "a file" if len(by_hand) == 1 else f"{len(by_hand)} files"
        why = ", since downloads are off (offline)" if options.is_offline() else ""
        raise FileNotFoundError("\n  ".join([f"{source.name}: {count} to be put in place by hand{why}:", *by_hand]))
    if not options.mirror:  # what a mirror holds may be smaller; then each file is checked when its size is known
        _check_space([file for file in source.files if not found[file.name].exists()], folder)
    return found


def _path(file: File, options: Options, folder: Path) -> Path | None:
    given, own = options.files.get(file.name), folder / file.name
    if given is not None:
        unpacked = file.unpack and Path(given).is_dir() and any(Path(given).iterdir())
        return Path(given) if unpacked or Path(given).is_file() else None
    if own.is_dir():
        return None
    if own.is_file():
        return own
    if not options.is_offline():
        return own if options.address(file) else None
    return hub.cached(file.url) if (file.url or "").startswith(hub.PREFIX) else None


def _request(source: Source, file: File, options: Options, folder: Path) -> str:
    """What a person is asked to do for one file."""
    address = options.address(file)
    if address and address.startswith(hub.PREFIX):
        address = hub.page(address)
    address = shown(address or "")
    about = "; ".join(text for text in (address, file.about) if text)
    size = f", {decimal(file.bytes)}" if file.bytes else ""
    given = options.files.get(file.name)
    if given is not None:
        lacking = f"{given} is an empty folder" if Path(given).is_dir() and file.unpack else f"there is no file {given}"
        return f"{file.name}{size}: {lacking} (sources.{source.name}.files; looked in {Path.cwd()}): {about}"
    if (folder / file.name).is_dir():
        return f"{file.name}{size}: {folder / file.name} is a folder; move it away, and run again"
    key = f"`sources: {{{source.name}: {{files: {{{file.name}: PATH}}}}}}`"
    return f"{file.name}{size}: put it at {folder / file.name}, or name it in the config, {key}: {about}"


def _check_space(lacking: list[File], folder: Path) -> None:
    """Refuse downloads, unpacked archives included, that the disk has no room for."""
    need = 0
    for file in lacking:
        part = folder / PARTS / file.name
        received = part.stat().st_size if part.exists() else 0
        need += max((file.bytes or 0) - received, 0) + (file.bytes or 0) * file.unpack
    free = shutil.disk_usage(folder).free
    if need > free:
        listed = ", ".join(file.name for file in lacking)
        raise OSError(
            f"about {decimal(need)} are needed in {folder} for {listed} and what is in them, and {decimal(free)} are "
            "free; make room, or put files elsewhere and name them under `sources` in the config"
        )
