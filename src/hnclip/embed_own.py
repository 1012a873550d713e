"""Embeddings of a person's own images and captions by a model that they name, as one file."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from hnclip.data.captions_of import Source, read_data
from hnclip.data.folder_checks import check_leaks
from hnclip.data.problems import Problems
from hnclip.encoder import Encoder
from hnclip.store import write_rows


@dataclass(frozen=True)
class Embedded:
    """What was written: images, captions, those cut at the context, numbers an embedding, what was said on the way."""

    images: int
    captions: int
    cut: int
    width: int
    told: list[str]


def embed_own(
    model: str, source: Source, out: Path, batch: int = 32, doing: Callable[[str], None] = lambda words: None
) -> Embedded:
    """Embed every image and caption of `source` and write one Parquet file, whole or not at all.

    It has one row a caption: id, caption, path, split where the source has a column of them, image[D], text[D]; its
    metadata say the model (`hnclip.embedded_by`), its scale and how many captions were cut. Raises ValueError naming
    everything that is wrong with the data before the model is loaded. `doing` is told what begins.
    """
    data = read_data(source, out.with_name(f"{out.name}.images"))
    data.problems.stop(f"the data of {source.captions} cannot be used", out.with_name(f"{out.name}.problems.txt"))
    copies = Problems()  # which nothing but a study's split makes a fault
    check_leaks(data.rows, data.facts, copies, copies)
    encoder = Encoder(model, batch)
    ids = list(dict.fromkeys(row.id for row in data.rows))
    paths = {row.id: row.path for row in data.rows}
    doing(f"embedding {len(ids):,} images ...")
    image_ID = encoder.files([paths[name] for name in ids])
    captions = [row.caption for row in data.rows]
    doing(f"embedding {len(captions):,} captions ...")
    text_CD = encoder.texts(captions)
    cut = sum(encoder.cut(captions))
    place = {name: number for number, name in enumerate(ids)}
    columns = {
        "id": [row.id for row in data.rows],
        "caption": captions,
        "path": [str(row.path) for row in data.rows],
        **({"split": [row.split for row in data.rows]} if source.split_column else {}),
        "image": _vectors(image_ID[[place[row.id] for row in data.rows]]),
        "text": _vectors(text_CD),
    }
    told = {"scale": repr(encoder.scale), "cut": str(cut), **encoder.maker().metadata()}
    write_rows(out, pa.table(columns), told)
    return Embedded(len(ids), len(captions), cut, encoder.width, [*data.told, *copies.lines(5)])


def _vectors(rows_ND: np.ndarray) -> pa.FixedSizeListArray:
    return pa.FixedSizeListArray.from_arrays(pa.array(rows_ND.astype(np.float32).ravel()), rows_ND.shape[1])
