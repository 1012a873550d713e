"""The embeddings of a trained cell on splits of one benchmark, training split included.

`python -m hnclip.embed_run RUN TARGET.json OUT.parquet`; TARGET.json is {"splits": [records of splits]}, each record
naming manifest, pixels and tokens. OUT has one row a caption: split, id, image[D], text[D]; its metadata hold `scale`,
exp of the cell's logit scale.
"""

import argparse
from pathlib import Path

import pyarrow as pa

from hnclip.command import run
from hnclip.data.split import open_split
from hnclip.embed import embedding_rows, write_embeddings
from hnclip.encode import encode_split, trained_towers
from hnclip.store import read_json


def main(folder: Path, target: Path, out: Path) -> None:
    towers, batch = trained_towers(folder)
    tables, cut = [], []
    for record in read_json(target)["splits"]:
        split = open_split(record)
        cut.append(split.tokens.truncated)
        rows = embedding_rows(split, *encode_split(towers, split, batch))
        tables.append(rows.add_column(0, "split", pa.array([split.name] * len(rows), pa.string())))
    if not tables:
        raise ValueError(f"{target} names no splits; give at least one record under `splits`")
    write_embeddings(out, pa.concat_tables(tables), towers, None if None in cut else sum(cut))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m hnclip.embed_run", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="the cell's run: run.json and weights.safetensors")
    parser.add_argument("target", type=Path, help='JSON: {"splits": [records of splits]}')
    parser.add_argument("out", type=Path, help="the embeddings to write, .parquet")
    return parser.parse_args()


if __name__ == "__main__":
    run(lambda: main(**vars(_arguments())))
