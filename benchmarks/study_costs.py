"""What a finished study cost, cell by cell: `python benchmarks/study_costs.py results/scenes`.

Pair-visits, seconds of training and of evaluation from each run.json; what a job took beside them (importing packages,
opening data, writing results) from Snakemake's benchmark files under logs/. Prints Markdown.
"""

import argparse
import json
from pathlib import Path

import pandas as pd

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


def other_jobs(logs: Path, study: str) -> pd.Series:
    """Seconds of all jobs that are no training, by rule."""
    rules = {}
    for path in logs.rglob("*.tsv"):
        rule = path.relative_to(logs).parts[0]
        if rule != "train" and (study in path.parts or path.stem == study or rule in SHARED):
            rules[rule] = rules.get(rule, 0.0) + pd.read_csv(path, sep="\t")["s"].iloc[-1]
    return pd.Series(rules).sort_values(ascending=False)


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
    print("other jobs: " + ", ".join(f"{rule} {seconds:.0f}" for rule, seconds in others.items()))
    everything = total.sum() + others.sum()
    print(f"share of training jobs' rest in all jobs' seconds: {total['rest s'] / everything:.2f}")


if __name__ == "__main__":
    main()
