"""An index's files after an update: vectors, table and FAISS, then the record that makes them count."""

import platform
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from hnclip import __version__
from hnclip.search.changes import Changes
from hnclip.search.record import FORMAT, check_whole, checksum, commit, sweep
from hnclip.search.table import Row, write_table
from hnclip.store import write_whole

TOGETHER = 8192  # vectors copied at once


def write(
    index: Path, had: dict[str, Any] | None, model: dict[str, Any], rows: list[Row], found: Changes, kind: str | None
) -> dict[str, Any]:
    """Bring the folder to what was found: the new record; the old one where nothing changed.

    Raises ValueError where no image would be left.
    """
    from hnclip.search import approximate

    asked = kind or (had["asked"] if had else "auto")
    table, next_id = _rows(found, had["next_id"] if had else 0)
    if not table:
        raise ValueError(f"none of the images can be read, so there is nothing to index for {index}")
    now = approximate.kind_for(len(table), asked, had["kind"] if had else None)
    if had and not found.any and now == had["kind"] and _faiss_is_there(index, had):
        record = {**had, "model": model, "asked": asked}
        if record == had:
            sweep(index, had)
        else:
            commit(index, record)
        return record
    update = had["update"] + 1 if had else 1
    index.mkdir(parents=True, exist_ok=True)
    names = {"vectors": f"vectors-{update}.f32", "files": f"files-{update}.parquet", "faiss": None}
    if had and not found.gone and not found.fresh:
        names["vectors"] = had["files"]["vectors"]
    else:
        old = read_vectors(index, had) if had else np.zeros((0, model["width"]), np.float32)
        write_whole(index / names["vectors"], lambda part: _copy(part, old, rows, found))
    write_table(index / names["files"], table)
    record = {
        "format": FORMAT,
        "model": model,
        "images": len(table),
        "asked": asked,
        "kind": now,
        "effort": None,
        "recall": None,
        "update": update,
        "next_id": next_id,
        "files": names,
        "versions": _versions(),
    }
    if now != "flat":
        _write_faiss(index, record, had, found, np.array([row.id for row in table]))
    record["crc32"] = {part: checksum(index / name) for part, name in names.items() if name}
    commit(index, record)
    return record


def read_vectors(index: Path, record: dict[str, Any]) -> np.ndarray:
    """The unit vectors of an index in the table's order, float32 [I, D], in the file.

    Raises FileNotFoundError or ValueError where it is not the file that was written.
    """
    path, shape = index / record["files"]["vectors"], (record["images"], record["model"]["width"])
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there; delete the index and make it again")
    if path.stat().st_size != shape[0] * shape[1] * 4:
        raise ValueError(
            f"{path} is damaged (not {shape[0]} vectors of {shape[1]} numbers); delete the index and make it again"
        )
    check_whole(index, record, "vectors")
    return np.memmap(path, np.float32, "r", shape=shape)


def _rows(found: Changes, next_id: int) -> tuple[list[Row], int]:
    """The table after the update: rows that stay, then new ones under numbers never used before; the next number."""
    new = [
        Row(next_id + place, path, file.size, file.mtime, sha256)
        for place, (path, file, sha256) in enumerate(found.fresh)
    ]
    return [*found.kept, *new], next_id + len(new)


def _copy(part: Path, old_ID: np.ndarray, rows: list[Row], found: Changes) -> None:
    place = {row.id: number for number, row in enumerate(rows)}
    kept = np.array([place[row.id] for row in found.kept], np.int64)
    of_old = {row.sha256: number for number, row in enumerate(rows)}
    with part.open("wb") as file:
        for chunk in _chunks(kept):
            file.write(old_ID[chunk].tobytes())
        for start in range(0, len(found.fresh), TOGETHER):
            vectors = [
                found.new_vectors[found.new_rows[sha256]] if sha256 in found.new_rows else old_ID[of_old[sha256]]
                for _, _, sha256 in found.fresh[start : start + TOGETHER]
            ]
            file.write(np.stack(vectors).astype(np.float32).tobytes())


def _chunks(rows: np.ndarray) -> Iterator[np.ndarray]:
    for start in range(0, len(rows), TOGETHER):
        yield rows[start : start + TOGETHER]


def _write_faiss(
    index: Path, record: dict[str, Any], had: dict[str, Any] | None, found: Changes, ids_I: np.ndarray
) -> None:
    """Change the FAISS index that is there, or build one from the vectors where it has another kind or is outgrown."""
    from hnclip.search import approximate

    kind, vectors_ID = record["kind"], read_vectors(index, record)
    record["files"]["faiss"] = f"faiss-{record['update']}.{kind}"
    made = None
    if had and had["kind"] == kind and _faiss_is_there(index, had):
        check_whole(index, had, "faiss")
        made = approximate.read(index / had["files"]["faiss"], whole=True)
        approximate.remove(made, kind, np.array(sorted(found.gone), np.int64))
        new = len(found.kept)
        approximate.add(made, vectors_ID[new:], ids_I[new:])
    if made is None or approximate.outgrown(made, kind, len(ids_I)):
        made = approximate.build(kind, vectors_ID, ids_I)
    record["effort"], shares = approximate.tuned(made, kind, vectors_ID, ids_I)
    record["recall"] = {"at": approximate.NEIGHBOURS, **shares, "sample": min(approximate.SAMPLE, len(ids_I))}
    approximate.write(index / record["files"]["faiss"], made)


def _faiss_is_there(index: Path, record: dict[str, Any]) -> bool:
    """False where a person removed the file, as a message about a damaged one says: it is built anew."""
    return record["files"]["faiss"] is None or (index / record["files"]["faiss"]).is_file()


def _versions() -> dict[str, str]:
    packages = {name: version(name) for name in ("faiss-cpu", "numpy", "pillow")}
    return {"hnclip": __version__, "python": platform.python_version(), **packages}
