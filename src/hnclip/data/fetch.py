"""`python -m hnclip.data.fetch SOURCE.json FOLDER RECORD` brings a source's files into a folder, checked and unpacked.

SOURCE.json: {"source": NAME} and what the config says of it: "mirror", "files", "sha256", "offline".
"""

import argparse
import re
import shutil
from pathlib import Path
from typing import Any

from rich.filesize import decimal

from hnclip.claim import claimed
from hnclip.command import run
from hnclip.data import hub, sources
from hnclip.data.downloads import PARTS, download, shown
from hnclip.data.lock import Lock
from hnclip.data.place import find
from hnclip.data.source_options import Options
from hnclip.data.sources import File, Source
from hnclip.data.unpack import is_unpacked, unpack
from hnclip.options import from_dict
from hnclip.store import read_json, write_json


def fetch(source: Source, options: Options, folder: Path, record: Path) -> None:
    """Bring all files of a source into `folder`, and write `record`: where each is, its hash, and the licence.

    Raises FileNotFoundError naming all that a person has to fetch, before anything is downloaded; ValueError naming
    every file that could not be had or is not what was expected, after the others were had. Waits while another
    process brings files into the folder.
    """
    if faults := options.faults(source):
        raise ValueError(f"sources.{source.name}: {'; '.join(faults)}")
    note = "; non-commercial use only" if source.noncommercial else ""
    print(f"{source.name}, {source.homepage}: licence {source.licence}{note}", flush=True)
    with claimed(folder):
        _fetch(source, options, folder, record)


def _fetch(source: Source, options: Options, folder: Path, record: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    found = find(source, options, folder)
    lock, entries, faults = Lock(folder, options.sha256), {}, []
    for file in source.files:
        try:
            entries[file.name] = _have(file, found[file.name], options, folder, lock)
        except (ValueError, OSError) as error:
            faults.append(str(error))
            print(f"{file.name}: failed", flush=True)
    if faults:
        count = "a file" if len(faults) == 1 else f"{len(faults)} files"
        raise ValueError("\n  ".join([f"{source.name}: {count} could not be had:", *faults]))
    shutil.rmtree(folder / PARTS, ignore_errors=True)
    about = {key: getattr(source, key) for key in ("homepage", "licence", "noncommercial")}
    write_json(record, {"source": source.name, **about, "files": entries})


def _have(file: File, path: Path, options: Options, folder: Path, lock: Lock) -> dict[str, Any]:
    """The record's entry of one file, which is downloaded where it is not there, checked and unpacked."""
    if path.is_dir():
        spelled = str(path.absolute())
        return {"path": spelled, "bytes": None, "sha256": None, "from": spelled, "unpacked": spelled}
    lacking, origin = not path.exists(), str(path.absolute())
    if lacking:
        origin = options.address(file)
        _download(file, origin, path, lock)
    unpacked = folder / f"{file.name}.unpacked"
    try:
        if not file.unpack and not lock.expected(file.name, file.sha256):
            _check_content(file, path, origin, file.bytes if lacking and not options.mirror else None)
        sha256 = lock.check(file.name, path, file.sha256)
        if file.unpack and not is_unpacked(unpacked, sha256):
            print(f"{file.name}: unpacking", flush=True)
            print(f"{file.name}: {unpack(path, unpacked, sha256)} files", flush=True)
    except ValueError as error:
        if lacking:
            path.unlink()
            raise
        again = "to have it fetched again, delete" if path.parent == folder and options.address(file) else "replace"
        raise ValueError(f"{error}\n  {again} {path}") from error
    return {
        "path": _spell(path, folder),
        "bytes": path.stat().st_size,
        "sha256": sha256,
        "from": lock.record(file.name, path, sha256, shown(origin)),
        "unpacked": unpacked.name if file.unpack else None,
    }


def _check_content(file: File, path: Path, origin: str, size: int | None) -> None:
    """Refuse what is no such file before its hash is recorded; archives are checked by being unpacked."""
    way_out = f"fetch it again; if it has to be so, set `sha256: {{{file.name}: HASH}}` of the source"
    with path.open("rb") as start:
        if start.read(2**12).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"<":
            raise ValueError(f"{shown(origin)} is a web page, perhaps of a login, and not {file.name}; {way_out}")
    if size and path.stat().st_size < size / 2:
        have = decimal(path.stat().st_size)
        raise ValueError(f"{shown(origin)} has {have} where about {decimal(size)} are expected; {way_out}")


def _download(file: File, address: str, path: Path, lock: Lock) -> None:
    size = f" ({decimal(file.bytes)})" if file.bytes else ""
    print(f"{file.name}{size}: downloading from {shown(address)}", flush=True)
    if address.startswith(hub.PREFIX):
        hub.download_from_hub(address, path)
        return
    try:
        download(address, path, lock.expected(file.name, file.sha256))
    except ValueError as error:
        found = re.findall("[0-9a-f]{64}", str(error)) or [str(error)]
        way_out = lock.way_out(file.name, file.sha256)
        raise ValueError(f"{shown(address)} has the SHA-256 {found[-1]}; {way_out}") from error


def _spell(path: Path, folder: Path) -> str:
    """From the folder where it lies there, so that results can be moved as a whole."""
    return path.name if path.parent == folder else str(path.absolute())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m hnclip.data.fetch", description=__doc__)
    parser.add_argument("source", type=Path, help='JSON: {"source": NAME}, with what the config says of it')
    parser.add_argument("folder", type=Path, help="where its files go, results/downloads/NAME")
    parser.add_argument("record", type=Path, help="what is there then, FOLDER/fetched.json")
    given = parser.parse_args()
    wanted = read_json(given.source)
    source = sources.source(wanted.pop("source"))
    fetch(source, from_dict(Options, wanted, f"sources.{source.name}"), given.folder, given.record)


if __name__ == "__main__":
    run(main)
