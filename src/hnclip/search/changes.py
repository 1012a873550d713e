"""What an update finds changed: files that are new, others, touched or gone, against the table of the index."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from hnclip.search.table import Row, located, stored
from hnclip.search.walk import Found


@dataclass
class Changes:
    """First what the table and the folders say; `settle` then tells by their hashes what the unsure files are."""

    kept: list[Row] = field(default_factory=list)  # rows that stay, ascending
    gone: set[int] = field(default_factory=set)  # numbers whose vectors go
    fresh: list[tuple[str, Found, str]] = field(default_factory=list)  # (path of the table, file, sha256), to get a row
    unsure: list[Found] = field(default_factory=list)  # files whose size or time the table does not have
    hashes: dict[str, tuple[Found, str]] = field(default_factory=dict)  # of those that could be read
    new_vectors: np.ndarray | None = None
    new_rows: dict[str, int] = field(default_factory=dict)  # sha256 -> row of new_vectors
    touched: int = 0  # files with another time and the same content
    added: int = 0
    changed: int = 0
    removed: int = 0

    def settle(self, rows: Sequence[Row]) -> None:
        """Tell touched files from changed and new ones. One that cannot be read now goes."""
        by_path = {row.path: row for row in rows}
        kept = {row.path: row for row in self.kept}
        for path, (file, sha256) in self.hashes.items():
            row = by_path.get(path)
            if row and row.sha256 == sha256:
                kept[path] = replace(row, size=file.size, mtime=file.mtime)
                self.gone.discard(row.id)
                self.touched += 1
                continue
            self.fresh.append((path, file, sha256))
            self.changed += row is not None
            self.added += row is None
        self.kept = sorted(kept.values(), key=lambda row: row.id)
        self.removed = len(rows) - len(self.kept) - self.changed

    @property
    def any(self) -> bool:
        return bool(self.gone or self.fresh or self.touched)


def changes(
    rows: Sequence[Row], images: Sequence[Found], places: Sequence[Path], recursive: bool, index: Path
) -> Changes:
    """Rows of files as they were stay, those of files gone from the places go; others lie elsewhere, and stay."""
    present = {stored(image.path, index): image for image in images}
    found = Changes()
    same = set()
    tops = [os.path.abspath(place) for place in places]
    for row in rows:
        image = present.get(row.path)
        if image and (image.size, image.mtime) == (row.size, row.mtime):
            same.add(row.path)
        if row.path in same or (image is None and not _within(located(row.path, index), tops, recursive)):
            found.kept.append(row)
        else:
            found.gone.add(row.id)
            found.removed += image is None
    found.unsure = [image for path, image in present.items() if path not in same]
    return found


def _within(path: str, tops: Sequence[str], recursive: bool) -> bool:
    if recursive:
        return any(path == top or path.startswith(top.rstrip(os.sep) + os.sep) for top in tops)
    return any(path == top or os.path.dirname(path) == top for top in tops)
