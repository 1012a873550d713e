"""An index of image files is made and brought up to date."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hnclip.claim import claimed
from hnclip.model_spec import lasting
from hnclip.search.changes import Changes, changes
from hnclip.search.embedding import embed
from hnclip.search.model import check_same, described, encoder_of, name_of
from hnclip.search.record import UNFINISHED, check_whole, is_index, read_record
from hnclip.search.table import Row, located, read_rows, stored
from hnclip.search.unfinished import Unfinished, forget
from hnclip.search.walk import Found, Walked, check_there, walk
from hnclip.search.write import read_vectors, write

KINDS = ("auto", "flat", "ivf", "hnsw")


@dataclass
class Update:
    """What an update did to an index; counts are of image files."""

    index: str
    images: int = 0  # in the index now
    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    embedded: int = 0  # pictures that the model saw now; one that is there twice is embedded once
    kind: str = "flat"
    recall: dict[str, Any] | None = None  # of an approximate kind, against the full comparison
    skipped: list[str] = field(default_factory=list)  # images that cannot be read, and why
    other_files: int = 0
    closed_formats: dict[str, int] = field(default_factory=dict)  # pictures of formats that are not opened


def build(
    model: Any,
    images: str | os.PathLike | Sequence[str | os.PathLike],
    to: str | os.PathLike | None = None,
    kind: str | None = None,
    recursive: bool = True,
    skip_unreadable: bool = False,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Update:
    """Make an index of the images in folders (or of image files), or bring one up to date.

    `model` is a name (`hnclip.model_spec`) or an `Encoder`. The index is the folder `to`, else beside the first of
    `images`, its name with `.index`. New and changed files are embedded, vanished ones removed; those of an index that
    lie elsewhere stay. `kind` is one of KINDS; None is what the index has, at first `auto`. `tell(done, total)` hears
    how many files are read.

    Raises ValueError or OSError, the index as it was: images that cannot be read (all named; `skip_unreadable` leaves
    them out), no images at all, an index of another model, a folder that holds other things.
    """
    places = [Path(images)] if isinstance(images, str | os.PathLike) else [Path(place) for place in images]
    _check_kind(kind)
    index = Path(to) if to is not None else beside(places[0])
    _check_free(index)
    check_there(places)
    with claimed(index):
        walked = walk(places, recursive, index)  # only now: what another update saw meanwhile must not count as gone
        had = read_record(index) if is_index(index) else None
        if had:
            read_vectors(index, had)  # damage is told now, not by the next search
            check_whole(index, had, "files")
        rows = read_rows(index / had["files"]["files"]) if had else []
        found = changes(rows, walked.images, places, recursive, index)
        _check_some(walked, found, places)
        about, embedded, faults = _embedded(model, index, had, found, rows, tell)
        faults = walked.faults + faults
        if faults and not skip_unreadable:
            raise ValueError(_unreadable(faults, len(walked.images) + len(walked.faults), index))
        found.settle(rows)
        record = write(index, had, about, rows, found, kind)
        forget(index)
    return Update(
        str(index),
        **_counts(record, found),
        embedded=embedded,
        skipped=faults,
        other_files=walked.others,
        closed_formats=dict(walked.closed),
    )


def remove(index: str | os.PathLike, paths: Iterable[str | os.PathLike]) -> Update:
    """Take images, or all that lie in folders, out of an index; the files themselves stay where they are.

    Raises ValueError naming those that the index does not have; it is as it was then.
    """
    index = Path(index)
    with claimed(index):
        had = read_record(index)
        rows = read_rows(index / had["files"]["files"])
        where = {row.id: located(row.path, index) for row in rows}
        gone: set[int] = set()
        unknown = []
        for path in map(os.path.abspath, paths):
            hit = {number for number, at in where.items() if at == path or at.startswith(path.rstrip(os.sep) + os.sep)}
            gone |= hit
            if not hit:
                unknown.append(path)
        if unknown:
            raise ValueError(f"not in {index}, which was not changed:\n  " + "\n  ".join(unknown))
        if len(gone) == len(rows):
            raise ValueError(f"this would remove all {len(rows)} images of {index}: delete the folder instead")
        found = Changes(kept=[row for row in rows if row.id not in gone], gone=gone, removed=len(gone))
        record = write(index, had, had["model"], rows, found, None)
    return Update(str(index), **_counts(record, found))


def beside(place: Path) -> Path:
    """Where the index of a folder, or of an image file's folder, lies unless it is told."""
    folder = Path(os.path.abspath(place))
    folder = folder.parent if folder.is_file() else folder
    return folder.with_name(f"{folder.name}.index")


def _counts(record: dict[str, Any], found: Changes) -> dict[str, Any]:
    kept = len(found.kept)
    return {
        "images": record["images"],
        "added": found.added,
        "changed": found.changed,
        "removed": found.removed,
        "unchanged": kept,
        "kind": record["kind"],
        "recall": record["recall"],
    }


def _embedded(
    model: Any,
    index: Path,
    had: dict[str, Any] | None,
    found: Changes,
    rows: Sequence[Row],
    tell: Callable[[int, int], None],
) -> tuple[dict[str, Any], int, list[str]]:
    """(the index's model, pictures embedded, faults); the model is not opened where its name is enough."""
    if had and not found.unsure and lasting(name_of(model)) == had["model"]["name"]:
        return had["model"], 0, []
    encoder = encoder_of(model)
    if had:
        check_same(encoder, had["model"], index)
    return described(encoder), *_embed(index, encoder, found, rows, tell)


def _embed(
    index: Path, encoder: Any, found: Changes, rows: Sequence[Row], tell: Callable[[int, int], None]
) -> tuple[int, list[str]]:
    """Embed what is new to the index, going on where an earlier command stopped: (pictures embedded, faults)."""
    unfinished = Unfinished(index, encoder.identity, encoder.width)
    before = {sha256: row for _, sha256, row in unfinished.files.values()}
    todo: list[Found] = []
    for file in found.unsure:
        kept = unfinished.files.get(file.path)
        if kept and kept[0] == file:
            found.hashes[stored(file.path, index)] = (file, kept[1])
        else:
            todo.append(file)
    known = {row.sha256 for row in rows} | before.keys()
    total, counted = len(found.unsure), len(found.unsure) - len(todo)
    tell(counted, total)

    def advance(more: int) -> None:
        nonlocal counted
        counted += more
        tell(counted, total)

    done, faults = embed(todo, encoder, known, unfinished, advance)
    for file, sha256 in done:
        found.hashes[stored(file.path, index)] = (file, sha256)
    found.new_vectors = unfinished.vectors()
    found.new_rows = {sha256: row for _, sha256, row in unfinished.files.values()}
    return len(found.new_rows.keys() - before.keys()), faults


def _check_kind(kind: str | None) -> None:
    if kind is not None and kind not in KINDS:
        raise ValueError(f"unknown kind of index {kind!r}; known: {', '.join(KINDS)}")


def _check_free(index: Path) -> None:
    """Refuse a place that holds anything but an index."""
    if index.exists() and not index.is_dir():
        raise ValueError(f"{index} is a file, and an index is a folder: give another place by --to")
    if index.is_dir() and not is_index(index) and not (index / UNFINISHED).is_dir() and any(index.iterdir()):
        raise ValueError(f"{index} holds other things than an index: give another place by --to")


def _check_some(walked: Walked, found: Changes, places: Sequence[Path]) -> None:
    if walked.images or walked.faults:
        return
    closed = ", ".join(f"{count} {suffix}" for suffix, count in sorted(walked.closed.items()))
    what = f"{walked.others} other files" + (f", and pictures of formats that are not read: {closed}" if closed else "")
    had = f", where the index has {found.removed}; to take them out, use --remove" if found.removed else ""
    raise ValueError(f"no images in {', '.join(map(str, places))} ({what}){had}")


def _unreadable(faults: Sequence[str], count: int, index: Path) -> str:
    return (
        f"{len(faults)} of {count} images cannot be read, and {index} was not changed; repair or remove them, or leave "
        "them out by --skip-unreadable (the others are not embedded again):\n  " + "\n  ".join(faults)
    )
