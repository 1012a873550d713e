"""The share of training batches that the global loss counts as solved (below 1e-3), by cell and epoch.

`python benchmarks/solved_batches.py results/scenes`
"""

import argparse
from pathlib import Path

import pandas as pd


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("study", type=Path, help="folder of the study under results/")
    for path in sorted(parser.parse_args().study.glob("runs/*/*/*/*/f100/*/log.parquet")):
        steps = pd.read_parquet(path).query("kind == 'train'")
        solved = steps.groupby("epoch")["loss_global"].apply(lambda losses: (losses < 1e-3).mean())
        print("/".join(path.parts[-7:-1]), " ".join(f"{share:.0%}" for share in solved))


if __name__ == "__main__":
    main()
