"""What an archive from elsewhere may hold: files and folders, under names that stay within, and not too much."""

import unicodedata
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from rich.filesize import decimal

DEPTH = 32  # levels of a path, the most


class TooMuch(Exception):
    """An archive holds more than its limits allow."""


@dataclass(frozen=True)
class Member:
    """One entry of an archive; `kind` is file, folder, or what else it is in plain words."""

    name: str
    kind: str
    size: int


@dataclass(frozen=True)
class Limits:
    """The most files and folders, and the most bytes of all together."""

    entries: int
    bytes: int

    @classmethod
    def of(cls, archive_bytes: int) -> "Limits":
        """For an archive of that size: photos hardly shrink, and text to no less than a fiftieth."""
        return cls(entries=500_000, bytes=50 * archive_bytes + 2**26)


@dataclass
class Members:
    """The members seen so far, and what is wrong with them."""

    limits: Limits
    faults: list[str] = field(default_factory=list)
    files: int = 0
    bytes: int = 0
    entries: int = 0
    _seen: dict[str, tuple[str, str]] = field(default_factory=dict)  # folded path: its spelling, its kind

    def add(self, member: Member) -> PurePosixPath | None:
        """Where the member goes, None for nowhere; a fault is noted. Raises TooMuch where a limit is passed."""
        self._count(member)
        path = PurePosixPath(member.name)
        fault = _name_fault(member) or (path.parts and self._collision(path, member.kind))
        if fault:
            self.faults.append(fault)
        return None if fault or not path.parts else path

    def _count(self, member: Member) -> None:
        self.entries += 1
        if member.kind == "file":
            self.files += 1
            self.bytes += member.size
        self._check_limits()

    def _check_limits(self) -> None:
        if self.entries > self.limits.entries:
            raise TooMuch(f"it holds more than {self.limits.entries} files and folders")
        if self.bytes > self.limits.bytes:
            raise TooMuch(f"unpacked it has over {decimal(self.limits.bytes)}, too much for an archive of its size")

    def _collision(self, path: PurePosixPath, kind: str) -> str:
        """A file may stand once, and no two names may be one on a disk that ignores case."""
        for part in [*reversed(path.parents), path][1:]:
            wanted = kind if part == path else "folder"
            key = unicodedata.normalize("NFC", str(part)).casefold()
            if key not in self._seen:
                self._seen[key] = (str(part), wanted)
                self.entries += part != path  # a folder that is only implied takes room as well
                self._check_limits()
                continue
            before, before_kind = self._seen[key]
            if before != str(part):
                return f"{str(path)!r}: {str(part)!r} and {before!r} are one name on a disk that ignores case"
            if before_kind != wanted:
                return f"{str(path)!r}: {before!r} is both a file and a folder"
            if wanted == "file":
                return f"{str(path)!r} stands there twice"
        return ""


def _name_fault(member: Member) -> str:
    """What is wrong with a member's name or kind; empty where nothing is."""
    name = member.name
    parts = name.split("/")
    if member.kind not in ("file", "folder"):
        return f"{name!r} is a {member.kind}"
    if name.startswith("/") or parts[0][1:2] == ":":
        return f"{name!r} is an absolute path"
    if ".." in parts or "\\" in name:
        return f"{name!r} leads out of the folder"
    if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in name):
        return f"{name!r} has letters that no file name should have"
    if len(PurePosixPath(name).parts) > DEPTH:
        return f"{name[:60]!r}... lies over {DEPTH} levels deep"
    if len(name) > 1000 or any(len(part.encode()) > 255 for part in parts):
        return f"{name[:60]!r}... is too long"
    if member.kind == "file" and not PurePosixPath(name).parts:
        return "a file has no name"
    return ""
