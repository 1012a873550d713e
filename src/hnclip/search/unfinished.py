"""Embeddings that an update has made so far, kept in the index's folder until it is done, so that it can go on."""

import shutil
from pathlib import Path

import numpy as np
import pyarrow
from pyarrow import parquet

from hnclip.search.record import UNFINISHED
from hnclip.search.walk import Found
from hnclip.store import write_rows

PART = 512  # images that are kept at once


class Unfinished:
    """Files that were embedded, in parts of PART; their vectors follow one another in one file.

    What is found there of another model is removed.
    """

    def __init__(self, index: Path, identity: str, width: int):
        self.folder, self.identity, self.width = index / UNFINISHED, identity, width
        self.files: dict[str, tuple[Found, str, int]] = {}  # path -> the file, its sha256, the row of its vector
        self._waiting: list[tuple[Found, str, int]] = []
        self._vectors: list[np.ndarray] = []
        self._count = 0
        self._read()

    def add(self, file: Found, sha256: str, vector_D: np.ndarray) -> None:
        """Keep one more; every PART of them it is written."""
        kept = (file, sha256, self._count + len(self._vectors))
        self._vectors.append(vector_D)
        self._waiting.append(kept)
        self.files[file.path] = kept
        if len(self._waiting) == PART:
            self.write()

    def write(self) -> None:
        """Write what waits: first the vectors, then the rows that make them count."""
        if not self._waiting:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._path.open("r+b" if self._path.exists() else "wb") as file:
            file.seek(self._count * self.width * 4)
            file.truncate()
            file.write(np.stack(self._vectors).astype(np.float32).tobytes())
        rows = [
            {"path": found.path, "size": found.size, "mtime": found.mtime, "sha256": sha256, "row": row}
            for found, sha256, row in self._waiting
        ]
        write_rows(self.folder / f"rows-{self._waiting[0][2]:09d}.parquet", rows, {"identity": self.identity})
        self._count += len(self._vectors)
        self._waiting, self._vectors = [], []

    def vectors(self) -> np.ndarray:
        """All that are written, float32 [I, D], in the file."""
        if not self._count:
            return np.zeros((0, self.width), np.float32)
        return np.memmap(self._path, np.float32, "r", shape=(self._count, self.width))

    @property
    def _path(self) -> Path:
        return self.folder / "vectors.f32"

    def _read(self) -> None:
        """Take up what an earlier command left; what cannot be used costs its time again, and no more."""
        for path in sorted(self.folder.glob("rows-*.parquet")):
            try:
                table = parquet.read_table(path)
            except pyarrow.ArrowInvalid:
                table = None
            if table is None or (table.schema.metadata or {}).get(b"identity") != self.identity.encode():
                return self._forget()
            for row in table.to_pylist():
                found = Found(row["path"], row["size"], row["mtime"])
                self.files[found.path] = (found, row["sha256"], row["row"])
                self._count = row["row"] + 1
        if self._count and (not self._path.is_file() or self._path.stat().st_size < self._count * self.width * 4):
            self._forget()

    def _forget(self) -> None:
        forget(self.folder.parent)
        self.files, self._count = {}, 0


def forget(index: Path) -> None:
    """Remove what an update kept, when the index has it or it is of no use."""
    shutil.rmtree(index / UNFINISHED, ignore_errors=True)
