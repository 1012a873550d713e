"""What a finished study cost, cell by cell: `python benchmarks/study_costs.py results/scenes`.

Pair-visits, seconds of training and of evaluation from each run.json; what a job took beside them (importing packages,
opening data, writing results) from Snakemake's benchmark files under logs/. What other jobs take to start is measured
anew: their commands' imports, in fresh processes. Prints Markdown.
"""

import argparse
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[1]
SHARED = ("prepare", "pixels", "tokens", "embed")  # rules whose files studies share


def cell_costs(study: Path, logs: Path) -> pd.DataFrame:
    """One row a cell: pairs, seconds of training, evaluation and the rest of its job."""
    rows = []
    for path in sorted((study / "runs").glob("*/*/*/*/*/*/run.json")):
        run = json.loads(path.read_text())
        wall = pd.read_csv(logs / "train" / study.name / f"{run['cell']}.tsv", sep="\t")["s"].iloc[-1]
        row = {"cell": run["cell"], "pair-visits": run["pairs"], "pairs/s": run["pairs_per_second"]}
        row |= {"train s": run["seconds"], "evaluate s": run["evaluation_seconds"]}
        rows.append({**row, "rest s": wall - run["seconds"] - run["evaluation_seconds"]})
    return pd.DataFrame(rows)


def other_jobs(logs: Path, study: str) -> pd.DataFrame:
    """Seconds of all jobs that are no training, and how many there were, by rule."""
    rows = []
    for path in logs.rglob("*.tsv"):
        rule = path.relative_to(logs).parts[0]
        if rule != "train" and (study in path.parts or path.stem == study or rule in SHARED):
            rows.append({"rule": rule, "s": pd.read_csv(path, sep="\t")["s"].iloc[-1]})
    return pd.DataFrame(rows).groupby("rule")["s"].agg(["sum", "count"]).sort_values("sum", ascending=False)


def starting(others: pd.DataFrame) -> float:
    """Seconds in which these jobs only import: each command's imports in a fresh process, times its jobs."""
    text = "\n".join(path.read_text() for path in (ROOT / "rules").glob("*.smk"))
    command = r"^ *rule (\w+):(?:(?!^ *rule ).)*?python -m (?:hnclip[.]launch )?(hnclip[\w.]*)"
    modules = dict(re.findall(command, text, re.MULTILINE | re.DOTALL))
    modules["prepare"] = "hnclip.data.prepare"  # its rules are named by benchmark
    total = 0.0
    for rule, (seconds, count) in others.iterrows():
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", f"import {modules[rule]}"], check=True)
        total += min(seconds, count * (time.perf_counter() - start))
    return total


def markdown(frame: pd.DataFrame) -> str:
    rows = [frame.columns, ["---"] * len(frame.columns)]
    rows += [[f"{value:.1f}" if isinstance(value, float) else str(value) for value in row] for row in frame.to_numpy()]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("study", type=Path, help="folder of the study under results/")
    parser.add_argument("--logs", type=Path, default=Path("logs"))
    options = parser.parse_args()
    cells, others = cell_costs(options.study, options.logs), other_jobs(options.logs, options.study.name)
    print(markdown(cells))
    total = cells[["train s", "evaluate s", "rest s"]].sum()
    print(f"\n{len(cells)} cells, {cells['pair-visits'].sum()} pair-visits; seconds of jobs, two of which run at once:")
    print(", ".join(f"{name} {seconds:.0f}" for name, seconds in total.items()))
    print("other jobs: " + ", ".join(f"{rule} {seconds:.0f}" for rule, seconds in others["sum"].items()))
    everything, started = total.sum() + others["sum"].sum(), starting(others)
    print(f"share of training jobs' rest in all jobs' seconds: {total['rest s'] / everything:.2f}")
    print(f"with what other jobs take to start ({started:.0f} s): {(total['rest s'] + started) / everything:.2f}")


if __name__ == "__main__":
    main()
