"""Embeddings of models on whole splits as the report reads them: of trained cells and of frozen backbones."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy
from pyarrow import compute, parquet

from hnclip.cell import Cell
from hnclip.report.load import Study
from hnclip.report.methods import Method, Setting, methods, zero_shot


@dataclass(frozen=True)
class Embedded:
    """One model on one split: a row a caption, rows of one image adjacent; embeddings are unit vectors.

    `scale` is exp of the model's logit scale, None where the file does not tell it; seed is None of a frozen backbone.
    """

    method: Method
    seed: int | None
    split: str
    scale: float | None
    ids_C: numpy.ndarray
    image_CD: numpy.ndarray
    text_CD: numpy.ndarray

    @property
    def caption_start(self) -> numpy.ndarray:
        """Each image's first caption, and the number of captions, [images + 1]."""
        starts = numpy.flatnonzero(numpy.append(True, self.ids_C[1:] != self.ids_C[:-1]))
        return numpy.append(starts, len(self.ids_C))

    @property
    def image_ID(self) -> numpy.ndarray:
        """The embedding of each image once, [I, D]."""
        return self.image_CD[self.caption_start[:-1]]


def embedded_cells(study: Study) -> list[tuple[Method, int, list[str]]]:
    """(method, seed, a path a benchmark) of every embedded cell that was trained on all its data, by method."""
    paths: dict[Cell, list[str]] = {}
    for entry in study.record.get("cell_embeddings", []):
        paths.setdefault(Cell.parse(entry["cell"]), []).append(entry["path"])
    places = dict.fromkeys(Setting(cell.backbone, cell.train, cell.framework) for cell in paths)
    return [
        (method, cell.seed, files)
        for place in places
        for method in methods(study, place)
        for cell, files in paths.items()
        if cell.fraction == 100
        and (cell.backbone, cell.train, cell.framework, cell.loss)
        == (method.backbone, method.train, method.framework, method.loss)
    ]


def read_cell(method: Method, seed: int, paths: list[str]) -> Iterator[Embedded]:
    """A model on every split of its files, in their order: that of its own benchmark, training split first."""
    for path in paths:
        table = parquet.read_table(path).combine_chunks()
        scale = (table.schema.metadata or {}).get(b"scale")
        for split in compute.unique(table["split"]).to_pylist():
            rows = table.filter(compute.equal(table["split"], split)).combine_chunks()
            yield _embedded(method, seed, split, scale, rows)


def frozen(study: Study) -> Iterator[Embedded]:
    """Every frozen backbone on every test split; one whose images and texts have no cosine is left out."""
    for entry in study.embeddings:
        table = parquet.read_table(entry["path"]).combine_chunks()
        scale = (table.schema.metadata or {}).get(b"scale")
        split = f"{entry['benchmark']}/{entry['split']}"
        found = _embedded(zero_shot(study, entry["backbone"]), None, split, scale, table)
        if found.image_CD.shape == found.text_CD.shape:
            yield found


def _embedded(method: Method, seed: int | None, split: str, scale: bytes | None, rows) -> Embedded:
    ids_C = rows["id"].to_numpy()
    vectors = [_vectors(rows[column]) for column in ("image", "text")]
    return Embedded(method, seed, split, float(scale) if scale else None, ids_C, *vectors)


def _vectors(column) -> numpy.ndarray:
    """A column of vectors, fp32 [N, D]."""
    values = column.combine_chunks()
    return values.flatten().to_numpy(zero_copy_only=False).reshape(len(values), -1).astype(numpy.float32)
