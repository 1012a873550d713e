"""The ranks of a trained cell on another benchmark.

`python -m hnclip.evaluate RUN TARGET.json OUT.parquet`; TARGET.json is {"test": [records of splits]}, each record
naming manifest, pixels and tokens.
"""

import argparse
from pathlib import Path

import pandas as pd

from hnclip.command import run
from hnclip.data.split import open_split
from hnclip.encode import encode_split, trained_towers
from hnclip.ranks import retrieval
from hnclip.store import read_json, write_rows


def main(folder: Path, target: Path, out: Path) -> None:
    towers, batch = trained_towers(folder)
    splits = [open_split(record) for record in read_json(target)["test"]]
    ranks = [retrieval(split, *encode_split(towers, split, batch)) for split in splits]
    write_rows(out, pd.concat(ranks, ignore_index=True))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m hnclip.evaluate", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="the cell's run: run.json and weights.safetensors")
    parser.add_argument("target", type=Path, help='JSON: {"test": [records of splits]}')
    parser.add_argument("out", type=Path, help="the ranks to write, .parquet")
    return parser.parse_args()


if __name__ == "__main__":
    run(lambda: main(**vars(_arguments())))
