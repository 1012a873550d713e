"""What a model finds on a split: every query's rank from embeddings, and the items that it puts on top."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy
import pandas
from pyarrow import parquet

from hnclip.report.load import Study
from hnclip.report.model_embeddings import Embedded

BLOCK = 1024
NEEDED = ("id", "image", "caption", "family")
CAPTION, IMAGE = "t2i", "i2t"  # a caption looks for its image, an image looks for its caption


@dataclass(frozen=True)
class Shown:
    """A split with its words and pictures: I images, C captions, those of one image adjacent."""

    name: str
    ids_I: list[str]
    pictures_I: list[Path]
    families_I: list[str]
    captions_C: list[str]
    image_of_C: numpy.ndarray

    def queries(self, direction: str) -> list[str]:
        """The names of the queries as tables of ranks have them: an image's id, and behind it `#` and a number."""
        if direction == IMAGE:
            return self.ids_I
        first_I = numpy.searchsorted(self.image_of_C, numpy.arange(len(self.ids_I)))
        return [f"{self.ids_I[image]}#{row - first_I[image]}" for row, image in enumerate(self.image_of_C)]

    def image_of(self, direction: str, query: int) -> int:
        """The image that a query is, or whose caption it is."""
        return query if direction == IMAGE else int(self.image_of_C[query])

    @cached_property
    def relevant(self) -> dict[str, list[numpy.ndarray]]:
        """Each query's relevant gallery rows, by direction; captions of the very same words stand for each other."""
        words_C = pandas.factorize(pandas.Series(self.captions_C))[0]
        images_of = pandas.Series(self.image_of_C).groupby(words_C).unique()
        rows_of = pandas.Series(numpy.arange(len(words_C))).groupby(words_C).unique()
        own_I = pandas.Series(words_C).groupby(self.image_of_C).unique()
        return {
            CAPTION: [images_of[word] for word in words_C],
            IMAGE: [numpy.concatenate([rows_of[word] for word in own]) for own in own_I],
        }


def shown_split(study: Study, target: str) -> Shown | None:
    """The split with what there is to show; None where the study has no manifest of it with captions and images."""
    path = Path(study.record.get("manifests", {}).get(target, ""))
    if not path.is_file() or not set(NEEDED) <= set(parquet.read_schema(path).names):
        return None
    frame = pandas.DataFrame(parquet.read_table(path, columns=list(NEEDED)).to_pydict())
    first = frame.drop_duplicates("id")
    image_of_C = pandas.factorize(frame["id"])[0]
    pictures = [path.parent / image for image in first["image"]]
    return Shown(target, list(first["id"]), pictures, list(first["family"]), list(frame["caption"]), image_of_C)


def ranks(model: Embedded, split: Shown, direction: str) -> numpy.ndarray:
    """Rank of each query's best relevant item from the embeddings, 0 is best, ties count against the model, [Q]."""
    relevant, found = split.relevant[direction], []
    for score_BG in _scores(model, split, direction, numpy.arange(len(relevant))):
        for score_G in score_BG:
            own = score_G[relevant[len(found)]]
            found.append(int((score_G >= own.max()).sum() - (own >= own.max()).sum()))
    return numpy.array(found)


def tops(model: Embedded, split: Shown, direction: str, queries: numpy.ndarray, count: int) -> numpy.ndarray:
    """The gallery rows with the highest scores of these queries, best first, [queries, count]."""
    blocks = _scores(model, split, direction, numpy.asarray(queries, int))
    return numpy.concatenate([numpy.argsort(-score_BG, 1, kind="stable")[:, :count] for score_BG in blocks])


def _scores(model: Embedded, split: Shown, direction: str, queries: numpy.ndarray) -> Iterator[numpy.ndarray]:
    """Cosines of these queries with the whole gallery, blockwise, [B, G]."""
    if list(dict.fromkeys(model.ids_C)) != split.ids_I or len(model.ids_C) != len(split.captions_C):
        raise ValueError(
            f"the embeddings of {model.method.framework}, {model.method.loss} on {split.name} are not those of the "
            "split's manifest; delete them and run again"
        )
    sides = (model.image_ID, model.text_CD) if direction == IMAGE else (model.text_CD, model.image_ID)
    query_QD, gallery_GD = sides
    for start in range(0, len(queries), BLOCK):
        yield query_QD[queries[start : start + BLOCK]] @ gallery_GD.T
