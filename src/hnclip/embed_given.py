"""Embeddings that the user has, as those of one split, and the zero-shot ranks by them.

`python -m hnclip.embed_given BACKBONE.json MANIFEST OUT.parquet OUT.ranks.parquet`; BACKBONE.json names the file.
"""

import argparse
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import torch

from hnclip.command import run
from hnclip.data.manifest import images, read_manifest
from hnclip.data.split import Split
from hnclip.data.text_vectors import TextVectors
from hnclip.data.vectors import Vectors, column_words, read_vectors
from hnclip.embed import embedding_rows, write_embeddings
from hnclip.encode import encode_split
from hnclip.models.cached import CachedTowers
from hnclip.options import from_dict
from hnclip.ranks import retrieval
from hnclip.store import read_json, write_rows

BATCH = 4096
ROUNDING = 1e-3  # of a number of a unit row: one picture embedded twice, in other batches or half precision


@dataclass(frozen=True)
class Given:
    """A backbone of kind `embeddings`: a Parquet file with one row a caption, and the columns that hold what.

    caption_column: where the file has the words, by which its rows are then told; null: an image's captions stand in
    the order of the benchmark's own file. scale: the inverse temperature that training starts from; null: the file's
    metadata say it, or else 100.
    """

    file: str
    kind: Literal["embeddings"] = "embeddings"
    id_column: str = "id"
    image_column: str = "image"
    text_column: str = "text"
    caption_column: str | None = None
    scale: float | None = None


def main(backbone: Path, manifest: Path, out: Path, out_ranks: Path) -> None:
    given = from_dict(Given, read_json(backbone), "backbone")
    frame = read_manifest(manifest)
    vectors = read_vectors(Path(given.file), given.id_column, given.image_column, given.text_column)
    words = column_words(given.file, given.caption_column) if given.caption_column else None
    row_C = rows_of(vectors.ids, frame, given.file, words)
    check_images(list(frame["id"]), vectors.image_CD[row_C], given.file)
    first = images(frame).index.to_numpy()
    image_ID, text_CD = _unit(vectors.image_CD[row_C[first]]), _unit(vectors.text_CD[row_C])
    scale = given.scale or vectors.scale
    start = np.append(first, len(frame)).astype(np.int64)
    name = f"{manifest.parent.name}/{manifest.stem}"
    split = Split(name, frame, image_ID, TextVectors(text_CD, _cut(vectors, row_C)), start, [], scale)
    towers = CachedTowers((image_ID.shape[1], text_CD.shape[1]), scale).eval()
    write_rows(out_ranks, retrieval(split, *encode_split(towers, split, BATCH)))
    rows = embedding_rows(split, torch.from_numpy(image_ID), torch.from_numpy(text_CD))
    write_embeddings(out, rows, towers, split.tokens.truncated)


def rows_of(ids: list[str], frame: pd.DataFrame, file: str, words: list[str | None] | None = None) -> np.ndarray:
    """For each caption of the manifest the row of the file: the one with the same `words`.

    Without them an image's captions stand there in the same order. Raises ValueError naming images of the manifest
    that the file lacks, has other numbers of captions of, or has other words of.
    """
    count = Counter(ids)
    wanted = Counter(frame["id"])
    if odd := [name for name, captions in wanted.items() if count[name] != captions]:
        listed = ", ".join(f"{name!r} ({count[name]} of {wanted[name]} captions)" for name in odd[:20])
        more = f" and {len(odd) - 20} more" if len(odd) > 20 else ""
        raise ValueError(f"{file} does not have the embeddings of {len(odd)} images of this split: {listed}{more}")
    if words is None:
        given = list(zip(ids, pd.Series(ids).groupby(ids, sort=False).cumcount(), strict=True))
        asked = list(zip(frame["id"], frame.groupby("id", sort=False).cumcount(), strict=True))
    else:
        given, asked = list(zip(ids, words, strict=True)), list(zip(frame["id"], frame["caption"], strict=True))
    place = {key: number for number, key in enumerate(given)}
    if odd := [f"{name!r}: {str(caption)[:60]!r}" for name, caption in asked if (name, caption) not in place]:
        more = f" and {len(odd) - 20} more" if len(odd) > 20 else ""
        raise ValueError(f"{file} has other words for {len(odd)} captions of this split: {'; '.join(odd[:20])}{more}")
    return np.array([place[key] for key in asked], np.int64)


def check_images(ids: list[str], image_CD: np.ndarray, file: str) -> None:
    """Raises ValueError naming the images whose captions stand beside embeddings that differ by more than rounding."""
    unit_CD, first = _unit(image_CD), {}
    row_C = [first.setdefault(name, row) for row, name in enumerate(ids)]
    apart_C = np.abs(unit_CD - unit_CD[row_C]).max(1) > ROUNDING
    if apart_C.any():
        odd = list(dict.fromkeys(ids[row] for row in np.flatnonzero(apart_C)))
        more = f" and {len(odd) - 20} more" if len(odd) > 20 else ""
        listed = f"{', '.join(map(repr, odd[:20]))}{more}"
        raise ValueError(f"{file} has more than one embedding of the images {listed}; keep one of each")


def _unit(row_ND: np.ndarray) -> np.ndarray:
    return row_ND / np.linalg.norm(row_ND, axis=1, keepdims=True)


def _cut(vectors: Vectors, row_C: np.ndarray) -> int | None:
    """Captions that the encoder cut; told of the whole file alone."""
    return vectors.truncated if not vectors.truncated or len(row_C) == len(vectors.ids) else None


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m hnclip.embed_given", description=__doc__.splitlines()[0])
    parser.add_argument("backbone", type=Path, help="JSON: the backbone as the configuration has it")
    parser.add_argument("manifest", type=Path, help="the split's SPLIT.parquet")
    parser.add_argument("out", type=Path, help="the embeddings to write, .parquet")
    parser.add_argument("out_ranks", type=Path, help="the zero-shot ranks to write, .ranks.parquet")
    return parser.parse_args()


if __name__ == "__main__":
    run(lambda: main(**vars(_arguments())))
