"""What a source's files were when they were first had: later runs take no others."""

from pathlib import Path
from typing import Any

from hnclip.store import read_json, sha256_of, write_json

NAME = "lock.json"


class Lock:
    """The hashes of a source's files: published, set in the config, or recorded at the first download."""

    def __init__(self, folder: Path, given: dict[str, str | None]):
        self.path, self._given = Path(folder) / NAME, given
        self.files = _read(self.path) if self.path.exists() else {}

    def expected(self, name: str, published: str | None) -> str | None:
        """The hash that a file must have; the config's goes before the published one, null there takes it away."""
        known = self._given.get(name, published)
        return known or self.files.get(name, {}).get("sha256")

    def check(self, name: str, path: Path, published: str | None) -> str:
        """The file's hash. Raises ValueError with both hashes, and the way out, where another was expected."""
        found = sha256_of(path)
        expected = self.expected(name, published)
        if expected and found != expected:
            raise ValueError(f"{path} has the SHA-256 {found}; {self.way_out(name, published)}")
        return found

    def way_out(self, name: str, published: str | None) -> str:
        """What was expected of a file, by what, and what to do where it is another."""
        expected = self.expected(name, published)
        text = f"expected {expected}, as {self._source(name, published)}. A damaged file is to be fetched again"
        if self._given.get(name, published):
            return f"{text}; where its publisher replaced it knowingly, set `sha256: {{{name}: HASH}}` of the source"
        return f"{text}; where its publisher replaced it knowingly, delete its entry there, and start a new study"

    def _source(self, name: str, published: str | None) -> str:
        if self._given.get(name):
            return "the config sets it"
        return "published" if self._given.get(name, published) else f"{self.path} recorded it at the first download"

    def record(self, name: str, path: Path, sha256: str, origin: str) -> str:
        """Remember a file that is sound, once; returns where it first came from."""
        if self.files.get(name, {}).get("sha256") != sha256:
            self.files[name] = {"sha256": sha256, "bytes": path.stat().st_size, "from": origin}
            write_json(self.path, {"files": self.files})
        return self.files[name]["from"]


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """The entries by file. Raises ValueError where it is no such record."""
    record = read_json(path)
    files = record.get("files") if isinstance(record, dict) else None
    if not isinstance(files, dict):
        raise ValueError(f"{path} has no entry `files`, so it is no record of hashes; restore it, or delete it")
    for name, entry in files.items():
        if not isinstance(entry, dict) or not {"sha256", "bytes", "from"} <= entry.keys():
            raise ValueError(f"{path}: the entry {name!r} lacks its sha256, bytes or from; restore it, or delete it")
    return files
