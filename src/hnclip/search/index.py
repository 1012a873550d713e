"""An index that is searched: by text, by picture, or by unit vectors."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hnclip.search.model import check_same, encoder_of
from hnclip.search.record import check_whole, read_record
from hnclip.search.table import located, read_table
from hnclip.search.write import read_vectors


@dataclass(frozen=True)
class Hit:
    """An image that was found."""

    rank: int  # from 1
    cosine: float  # with the query
    path: str  # absolute
    id: int  # its number in the index, for good

    @property
    def missing(self) -> bool:
        """Whether the file has gone since it was indexed."""
        return not os.path.isfile(self.path)


@dataclass(frozen=True)
class Query:
    """What is looked for: its unit embedding, and the row of the index that is the very picture, or -1."""

    words: str  # the text, or the picture's path
    kind: str  # "text" or "image"
    vector_D: np.ndarray
    row: int = -1
    cut: bool = False  # a text of which the model does not read the end


def open_index(folder: str | os.PathLike, model: Any = None) -> "Index":
    """The index in a folder. `model` says where its model is now, or is the encoder; it is opened when needed.

    Raises FileNotFoundError or ValueError saying what is wrong.
    """
    try:
        return Index(Path(folder), model)
    except FileNotFoundError:
        return Index(Path(folder), model)  # an update took its files away just now: the record names others


class Index:
    """Unit embeddings of image files by one model; made by `hnclip.search.build`, opened by `open_index`."""

    def __init__(self, folder: Path, model: Any = None):
        self.folder = folder
        self.record = read_record(folder)
        self._model = model
        self._table = folder / self.record["files"]["files"]
        self._vectors_ID = read_vectors(folder, self.record)
        check_whole(folder, self.record, "files")
        table = read_table(self._table, ("id", "path"))
        self._ids_I, self._paths = np.array(table["id"], np.int64), table["path"]

    def __len__(self) -> int:
        return len(self._paths)

    @property
    def width(self) -> int:
        """Numbers of an embedding."""
        return self.record["model"]["width"]

    @cached_property
    def encoder(self) -> Any:
        """The model that the index was made with. Raises ValueError where it has gone, or another is in its place."""
        about = self.record["model"]
        try:
            encoder = encoder_of(about["name"] if self._model is None else self._model)
        except (ValueError, OSError) as error:
            raise ValueError(
                f"{self.folder} was made with {about['name']}, which cannot be opened ({error}); if it has moved, say "
                "where it is now by --model"
            ) from error
        check_same(encoder, about, self.folder)
        return encoder

    def texts(self, texts: Sequence[str]) -> list[Query]:
        """Texts to be looked for. Raises ValueError for an empty one."""
        empty = [number for number, text in enumerate(texts, 1) if not text.strip()]
        if empty:
            raise ValueError(f"empty query (number {', '.join(map(str, empty))}): say what to look for")
        if not texts:
            return []
        vectors_QD, cut = self.encoder.texts(list(texts)), self.encoder.cut(list(texts))
        return [
            Query(text, "text", vector_D, cut=ends) for text, vector_D, ends in zip(texts, vectors_QD, cut, strict=True)
        ]

    def image(self, path: str | os.PathLike) -> Query:
        """A picture to be looked for; one that the index has needs no model. Raises as reading a picture does."""
        data = Path(path).read_bytes()
        sha256 = hashlib.sha256(data).hexdigest()
        place = os.path.abspath(path)
        same = [row for row, known in enumerate(read_table(self._table, ("sha256",))["sha256"]) if known == sha256]
        if not same:
            return Query(str(path), "image", self.encoder.images([(str(path), data)])[0])
        row = next((row for row in same if located(self._paths[row], self.folder) == place), same[0])
        return Query(str(path), "image", np.array(self._vectors_ID[row]), row)

    def search(self, query: str | os.PathLike | Query | np.ndarray, top: int = 10) -> list[Hit]:
        """The `top` nearest images of the index, the nearest first.

        `query` is a text, a picture's Path, a `Query`, or a unit embedding [D] of the index's own model. Equal cosines
        go by number, but a picture of the index that is the query itself comes first.
        """
        if top < 1:
            raise ValueError(f"at least one result can be asked for, not {top}")
        if isinstance(query, str):
            query = self.texts([query])[0]
        elif isinstance(query, os.PathLike):
            query = self.image(query)
        elif not isinstance(query, Query):
            query = Query("", "vector", np.asarray(query, np.float32))
        if query.vector_D.shape != (self.width,):
            raise ValueError(f"embeddings here are of {self.width} numbers, not of shape {query.vector_D.shape}")
        rows = self._candidates(query.vector_D, min(len(self), 2 * top + 10))
        rows = np.union1d(rows, [query.row]) if query.row >= 0 else np.sort(rows)
        cosines = np.round(self._vectors_ID[rows] @ query.vector_D, 6)  # equal pictures are equal, however multiplied
        order = np.lexsort((rows, rows != query.row, -cosines))[:top]
        return [
            Hit(
                rank,
                round(float(cosines[place]), 6),
                located(self._paths[rows[place]], self.folder),
                int(self._ids_I[rows[place]]),
            )
            for rank, place in enumerate(order, 1)
        ]

    def _candidates(self, vector_D: np.ndarray, count: int) -> np.ndarray:
        """Rows of the vectors that are likely the nearest, in no order."""
        from hnclip.search import approximate

        if self.record["kind"] != "flat":
            rows = self._near(vector_D, count)
            if len(rows) == count:
                return rows  # else so many were asked for that too few lists were looked into
        return approximate.exact(vector_D[None], self._vectors_ID, count)[1][0]

    def _near(self, vector_D: np.ndarray, count: int) -> np.ndarray:
        from hnclip.search import approximate

        found = approximate.near(
            self._faiss, self.record["kind"], vector_D[None], count, self.record["effort"], self._ids_I
        )[0]
        return approximate.rows_of(found[found >= 0], self._ids_I)

    @cached_property
    def _faiss(self) -> Any:
        from hnclip.search import approximate

        check_whole(self.folder, self.record, "faiss")
        return approximate.read(self.folder / self.record["files"]["faiss"], whole=False)
