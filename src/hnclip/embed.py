"""The frozen backbone's embeddings of one split, and its zero-shot ranks.

`python -m hnclip.embed BACKBONE.json MANIFEST PIXELS TOKENS OUT.parquet OUT.ranks.parquet`
"""

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch

from hnclip.command import run
from hnclip.data.split import Split, open_split
from hnclip.encode import device, encode_split
from hnclip.models.backbone import Backbone
from hnclip.models.load import backbone_from
from hnclip.ranks import retrieval
from hnclip.store import read_json, write_rows

BATCH = 128


def main(backbone: Path, manifest: Path, pixels: Path, tokens: Path, out: Path, out_ranks: Path) -> None:
    name = f"{manifest.parent.name}/{manifest.stem}"
    split = open_split({"name": name, "manifest": str(manifest), "pixels": str(pixels), "tokens": str(tokens)})
    towers = backbone_from(read_json(backbone)).eval().to(device())
    image_ID, text_CD = encode_split(towers, split, BATCH)
    write_rows(out_ranks, retrieval(split, image_ID, text_CD))
    write_embeddings(out, embedding_rows(split, image_ID, text_CD), towers, split.tokens.truncated)


def embedding_rows(split: Split, image_ID: torch.Tensor, text_CD: torch.Tensor) -> pa.Table:
    """One row a caption of the split: the image's id, its embedding (repeated for each caption), the caption's."""
    image_of = np.repeat(np.arange(len(image_ID)), np.diff(split.caption_start))
    return pa.table(
        {
            "id": pa.array(split.frame["id"], pa.string()),
            "image": _vectors(image_ID.numpy()[image_of]),
            "text": _vectors(text_CD.numpy()),
        }
    )


def write_embeddings(out: Path, rows: pa.Table, backbone: Backbone, cut: int | None) -> None:
    """Write embeddings as one Parquet file; its metadata hold what `hnclip.data.vectors` reads.

    `scale` is exp of the backbone's logit scale, `cut` how many captions did not fit its context, where that is known.
    """
    told = {} if cut is None else {"cut": str(cut)}
    write_rows(out, rows, {"scale": repr(backbone.scale().item()), **told})


def _vectors(rows_ND: np.ndarray) -> pa.FixedSizeListArray:
    return pa.FixedSizeListArray.from_arrays(pa.array(rows_ND.ravel()), rows_ND.shape[1])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m hnclip.embed", description=__doc__.splitlines()[0])
    parser.add_argument("backbone", type=Path, help="JSON: the backbone as the configuration has it")
    parser.add_argument("manifest", type=Path, help="the split's SPLIT.parquet")
    parser.add_argument("pixels", type=Path, help="written by hnclip.data.pixels")
    parser.add_argument("tokens", type=Path, help="written by hnclip.data.tokens")
    parser.add_argument("out", type=Path, help="the embeddings to write, .parquet")
    parser.add_argument("out_ranks", type=Path, help="the zero-shot ranks to write, .ranks.parquet")
    return parser.parse_args()


if __name__ == "__main__":
    run(lambda: main(**vars(_arguments())))
