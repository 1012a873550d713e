"""Reads a Debian package: fetched by apt-get where there is one, opened in Python, never unpacked to disk."""

import gzip
import lzma
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO

_LARGEST_FILE = 64 * 2**20


def find_package(name: str, deb: str | None, cache: Path) -> Path:
    """The package file: `deb` where given, else one in the cache folder, else fetched into it by apt-get."""
    if deb is not None:
        if not Path(deb).is_file():
            raise FileNotFoundError(f"{deb}: no such file (option `deb`; looked in {Path.cwd()})")
        return Path(deb)
    cached = sorted(Path(cache).glob(f"{name}_*.deb"))
    return cached[-1] if cached else _download(name, Path(cache))


def _download(name: str, cache: Path) -> Path:
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as part:
        try:
            done = subprocess.run(["apt-get", "download", name], cwd=part, capture_output=True, text=True, timeout=1800)
            reason = (done.stderr.strip().splitlines() or ["it gave no file"])[-1]
        except FileNotFoundError:
            reason = "there is no apt-get on this machine"
        except (OSError, subprocess.TimeoutExpired) as error:
            reason = str(error)
        found = sorted(Path(part).glob(f"{name}_*.deb"))
        if found:
            target = cache / found[0].name
            shutil.move(found[0], target)
            return target
    raise FileNotFoundError(
        f"the Debian package {name} could not be fetched ({reason}). Either run `sudo apt-get update` and try again; "
        f"or download the .deb from https://packages.debian.org/stable/{name} on any machine, and put it into {cache}/ "
        "or name it in the benchmark's option `deb`"
    )


def read_files(deb: Path, folder: str) -> Iterator[tuple[PurePosixPath, bytes]]:
    """The regular files under `folder` in the package, as path from there and content.

    Links and paths that lead elsewhere are passed over. Raises ValueError for a file that is no sound package.
    """
    inside = PurePosixPath(folder)
    try:
        with Path(deb).open("rb") as file, _data(file) as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
            for member in tar:
                path = PurePosixPath(member.name)  # "./usr" is "usr" here
                if not member.isreg() or ".." in path.parts or not path.is_relative_to(inside):
                    continue
                if member.size > _LARGEST_FILE:
                    raise ValueError(f"{member.name} has {member.size} bytes")
                yield path.relative_to(inside), tar.extractfile(member).read()
    except (ValueError, EOFError, OSError, lzma.LZMAError, tarfile.TarError) as error:
        raise ValueError(f"{deb} is no sound Debian package ({error}); fetch it again") from error


def _data(file: BinaryIO) -> BinaryIO:
    """The package's file tree, a tar stream: a .deb is an `ar` archive with a member data.tar.* ."""
    if file.read(8) != b"!<arch>\n":
        raise ValueError("it is no ar archive")
    while len(header := file.read(60)) == 60:
        name, size = header[:16].decode("ascii", "replace").strip().rstrip("/"), int(header[48:58])
        if name.startswith("data.tar"):
            return _decompressed(name, file)
        file.seek(size + size % 2, 1)
    raise ValueError("it has no data.tar")


def _decompressed(name: str, file: BinaryIO) -> BinaryIO:
    suffix = name.removeprefix("data.tar")
    if suffix == ".xz":
        return lzma.open(file)
    if suffix == ".gz":
        return gzip.open(file)
    if suffix == ".zst":
        import pyarrow

        return pyarrow.CompressedInputStream(pyarrow.PythonFile(file, mode="r"), "zstd")
    if suffix == "":
        return file
    raise ValueError(f"{name} is packed in an unknown way")
