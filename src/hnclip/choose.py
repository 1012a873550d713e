"""The setting of a tuned loss: the one with the best recall on the validation split after the last epoch. No torch.

`python -m hnclip.choose RECORD.json OUT.json` chooses; `python -m hnclip.choose CELL.json OUT.json --by CHOICE.json`
writes a tuned cell's config with the setting that was chosen.
"""

import argparse
from pathlib import Path
from typing import Any

import pandas

from hnclip.command import run
from hnclip.store import read_json, write_json
from hnclip.tuning import best, settle


def choose(record: dict[str, Any]) -> dict[str, Any]:
    """The record with R@1 (0..1) of each setting on `target`, and the name of the best one; the first of equals."""
    tried = [
        {"name": setting["name"], "entry": setting["entry"], **last_recall(Path(setting["run"]), record["target"])}
        for setting in record["settings"]
    ]
    chosen = best({setting["name"]: setting["mean"] for setting in tried})
    return {key: record[key] for key in ("loss", "seed", "target")} | {"chosen": chosen, "settings": tried}


def last_recall(folder: Path, target: str) -> dict[str, float]:
    """R@1 of both directions and their mean after a run's last epoch; ValueError where it was not evaluated there."""
    path = folder / "log.parquet"
    log = pandas.read_parquet(path)
    rows = log[(log["kind"] == "eval") & (log["target"] == target)]
    if rows.empty:
        raise ValueError(f"{path} holds no evaluation on {target}; delete {folder} and train its cell anew")
    last = rows.loc[rows["epoch"].idxmax()]
    found = {key: float(last[key]) for key in ("t2i_r1", "i2t_r1")}
    return {**found, "mean": sum(found.values()) / 2}


def main(record: Path, out: Path, by: Path | None) -> None:
    if by is None:
        choice = choose(read_json(record))
        write_json(out, choice)
        print(f"{choice['chosen']} of {len(choice['settings'])} settings")
    else:
        write_json(out, settle(read_json(record), read_json(by)))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m hnclip.choose", description=__doc__.splitlines()[0])
    parser.add_argument("record", type=Path, help="JSON: the settings with their runs, or a tuned cell's config")
    parser.add_argument("out", type=Path, help="JSON: the choice, or the config with the chosen setting")
    parser.add_argument("--by", type=Path, help="the choice that settles a config")
    return parser.parse_args()


if __name__ == "__main__":
    run(lambda: main(**vars(_arguments())))
