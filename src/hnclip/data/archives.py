"""Reads archives one member after another: tar, tar.gz and zip, told apart by their bytes, not by their names."""

import gzip
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from hnclip.data.members import Member

Contents = Iterator[tuple[Member, BinaryIO | None]]
CHUNK = 2**20
PADDING = 2**20  # bytes, the most zeros after the end mark of a tar
_META = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)


def read_archive(path: Path) -> Contents:
    """Each member, a file with a stream of its bytes that is good until the next.

    Raises ValueError for what is no archive, and whatever its reader raises (see DAMAGE in unpack.py) for a damaged
    one. A tar archive has to be read to its end to be known sound.
    """
    with path.open("rb") as file:
        start = file.read(tarfile.BLOCKSIZE)
        file.seek(0)
        if start[:2] == b"PK":
            yield from _zip_members(file)
        elif start[:2] == b"\x1f\x8b":
            with gzip.open(file) as stream:
                yield from _tar_members(stream)
        elif _is_tar(start):
            yield from _tar_members(file)
        else:
            page = start.lstrip()[:1] == b"<"
            found = "a web page, perhaps of a login" if page else f"it begins with {start[:8]!r}" if start else "empty"
            raise ValueError(f"no tar, tar.gz or zip archive: {found}")


class _Header(tarfile.TarInfo):
    """A header of a tar archive; one that is not sound stops the reading, which tarfile would end in silence."""

    @classmethod
    def frombuf(cls, buf: bytes, encoding: str, errors: str) -> tarfile.TarInfo:
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.EOFHeaderError:
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(f"{error}, and no end mark before" if buf else "it has no end mark") from error
        if header.size < 0 or (header.type in _META and header.size > CHUNK):
            raise tarfile.ReadError(f"a header announces {header.size} bytes")
        return header


def _is_tar(start: bytes) -> bool:
    try:
        _Header.frombuf(start, "utf-8", "surrogateescape")
    except tarfile.EOFHeaderError:
        return True
    except tarfile.TarError:
        return False
    return True


def _tar_members(stream: BinaryIO) -> Contents:
    with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Header) as tar:
        while item := tar.next():
            tar.members = []  # which would grow with the archive
            kind = _tar_kind(item)
            yield Member(item.name, kind, item.size), tar.extractfile(item) if kind == "file" else None
        zeros = 0
        while data := tar.fileobj.read(CHUNK):  # a compressed stream is checked at its end
            zeros += len(data)
            if data.strip(b"\0"):
                raise tarfile.ReadError("data follows its end mark")
            if zeros > PADDING:
                raise tarfile.ReadError(f"over {PADDING} zeros follow its end mark")


def _tar_kind(item: tarfile.TarInfo) -> str:
    if item.issym() or item.islnk():
        return f"link to {item.linkname!r}"
    if item.issparse() or not (item.isreg() or item.isdir()):
        return "sparse file" if item.issparse() else "device or pipe"
    return "file" if item.isreg() else "folder"


def _zip_members(file: BinaryIO) -> Contents:
    with zipfile.ZipFile(file) as archive:
        for item in archive.infolist():
            kind = _zip_kind(item)
            if kind != "file":
                yield Member(item.filename, kind, item.file_size), None
                continue
            with archive.open(item) as stream:
                yield Member(item.filename, kind, item.file_size), stream


def _zip_kind(item: zipfile.ZipInfo) -> str:
    mode = item.external_attr >> 16
    if stat.S_ISLNK(mode):
        return "link"
    if item.flag_bits & 1:
        return "file behind a password"
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "device or pipe"
    return "folder" if item.is_dir() else "file"
