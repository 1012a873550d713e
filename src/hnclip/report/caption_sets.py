"""Captions with their embeddings: every test split under every frozen backbone, and captions embedded alone."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy
import pandas
from pyarrow import parquet

from hnclip.report.load import Study, test_targets


@dataclass(frozen=True)
class CaptionSet:
    """N captions: whose they are, the encoder that embedded them, the images' ids, unit rows [N, D].

    `path` is the file of embeddings, `words` the file that has the captions: a manifest, or the same for captions
    embedded alone, which have no pictures.
    """

    name: str
    encoder: str
    ids_N: numpy.ndarray
    text_ND: numpy.ndarray
    path: Path
    words: Path

    @property
    def images(self) -> int:
        return len(set(self.ids_N))

    @property
    def alone(self) -> bool:
        return self.words == self.path

    @cached_property
    def captions(self) -> list[str]:
        """The captions as written. ValueError where the file of captions lists others than were embedded."""
        return list(self._read("caption"))

    @property
    def worded(self) -> bool:
        """False where the data has embeddings alone: `ID #NUMBER` then stands for each caption."""
        named = zip(self.ids_N, self.captions, strict=True)
        return not all(re.fullmatch(re.escape(name) + r" #\d+", caption) for name, caption in named)

    @cached_property
    def pictures(self) -> list[Path]:
        """The picture's file of each caption, there or not; none for captions alone."""
        return [] if self.alone else [self.words.parent / image for image in self._read("image")]

    def _read(self, column: str) -> pandas.Series:
        frame = parquet.read_table(self.words, columns=["id", column]).to_pandas()
        if list(frame["id"]) != list(self.ids_N):
            raise ValueError(
                f"{self.path} and {self.words} do not list the same captions ({len(self.ids_N)} and {len(frame)}); "
                f"delete {self.path} and run `snakemake` again"
            )
        return frame[column]


def read_sets(study: Study) -> Iterator[CaptionSet]:
    """Every set that the study embedded, one at a time: backbones' test splits first, then captions alone."""
    for encoder, name, path in _listed(study):
        ids_N, text_ND = read_text(path)
        words = Path(study.record["manifests"][name]) if (encoder, name) in _splits(study) else path
        yield CaptionSet(name, encoder, ids_N, text_ND, path, words)


def titles(study: Study) -> dict[tuple[str, str], str]:
    """What figures call each set, by its encoder and name: the encoder is named where there are several."""
    keys = [(encoder, name) for encoder, name, _ in _listed(study)]
    several = len({encoder for encoder, _ in keys}) > 1
    return {(encoder, name): f"{encoder} on {name}" if several else name for encoder, name in keys}


def read_text(path: Path) -> tuple[numpy.ndarray, numpy.ndarray]:
    """(images' ids [N], caption embeddings [N, D]) of a file."""
    table = parquet.read_table(path, columns=["id", "text"]).combine_chunks()
    column = table["text"].combine_chunks()
    values = column.flatten().to_numpy(zero_copy_only=False)
    return table["id"].to_numpy(), values.reshape(len(column), -1).astype(numpy.float32)


def _listed(study: Study) -> list[tuple[str, str, Path]]:
    """(encoder, name, embeddings) of every set, in the report's order."""
    alone = [(entry["encoder"], entry["name"], Path(entry["path"])) for entry in study.record.get("captions", [])]
    return [(*key, path) for key, path in _splits(study).items()] + alone


def _splits(study: Study) -> dict[tuple[str, str], Path]:
    """The embeddings of every test split that was ranked, by backbone and BENCHMARK/SPLIT."""
    targets = test_targets(study)
    found = {(one["backbone"], f"{one['benchmark']}/{one['split']}"): Path(one["path"]) for one in study.embeddings}
    keys = sorted((key for key in found if key[1] in targets), key=lambda key: (key[0], targets.index(key[1])))
    return {key: found[key] for key in keys}
