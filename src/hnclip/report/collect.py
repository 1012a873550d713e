"""Gather a study's per-query ranks, per-epoch scores and run records into tables, or say what does not fit.

Beside them what the manifests say of images that are both trained and tested on, and under which licences data came.

python -m hnclip.report.collect results/STUDY/study.json results/STUDY/tables
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas

from hnclip import store
from hnclip.cell import Cell
from hnclip.command import run
from hnclip.commits import WAYS_OUT, mixed
from hnclip.report.config_check import check_configs, check_weights
from hnclip.report.load import CELL, COSINE, SCORING, SOURCES, ZERO_SHOT
from hnclip.report.overlap import overlap
from hnclip.report.query_check import check_queries, check_repeats

RANK_COLUMNS = ("target", "direction", "query", "id", "family", "rank", "gallery", SCORING)
RUN_KEYS = (
    "commit dirty device threads seconds pairs pairs_per_second peak_memory_bytes baseline_memory_bytes "
    "trained_parameters finished"
).split()
JSON_KEYS = ("captions_cut", "inputs", "warnings")  # records within the run record, kept as text


def collect(study_json: Path, out: Path) -> None:
    """Write ranks.parquet, epochs.parquet, runs.parquet, overlap.parquet and sources.parquet into `out`.

    Raises FileNotFoundError naming every missing file, and ValueError where cells were trained with another config
    than the study's or from other published weights of one name, where commits are mixed without
    `allow_mixed_commits`, or where files of one target do not rank the same queries.
    """
    record = store.read_json(study_json)
    config = record["config"]
    _check_files(record)
    tried = [entry for choice in record["choices"] for entry in choice["cells"]]
    check_configs(config, [*record["cells"], *tried])
    check_weights([*record["cells"], *tried])
    runs = [_run_row(entry) for entry in record["cells"]]
    if not config.get("allow_mixed_commits", False):
        _check_commits([*runs, *map(_run_row, tried)], Path(study_json))
    ranks = [frame for entry in record["cells"] for frame in _cell_ranks(entry, config)]
    ranks += [_zero_shot_ranks(entry) for entry in record["zero_shot"]]
    check_queries(ranks)
    epochs = [_epochs(entry) for entry in record["cells"]]
    shared = overlap(record)
    out = Path(out)
    store.write_rows(out / "ranks.parquet", _table([frame for _, frame in ranks], (*CELL, *RANK_COLUMNS)))
    store.write_rows(out / "epochs.parquet", _table(epochs, (*CELL, "epoch", "target", "t2i_r1", "i2t_r1")))
    columns = ["cell", *CELL, *RUN_KEYS, *JSON_KEYS, "versions"]
    store.write_rows(out / "runs.parquet", pandas.DataFrame(runs, columns=columns))
    store.write_rows(out / "overlap.parquet", shared)
    store.write_rows(out / "sources.parquet", _sources(record))


def _sources(record: dict[str, Any]) -> pandas.DataFrame:
    """The published data that benchmarks were made from, with its licence; what was not downloaded has no row."""
    rows = []
    for benchmark, downloads in sorted(record["downloads"].items()):
        for source, path in sorted(downloads.items()):
            if Path(path).is_file():
                fetched = store.read_json(path)
                rows.append((benchmark, source, fetched["licence"], bool(fetched["noncommercial"])))
    return pandas.DataFrame(rows, columns=list(SOURCES)).astype({"noncommercial": bool})


def _table(frames: list[pandas.DataFrame], columns: tuple[str, ...]) -> pandas.DataFrame:
    if not frames:
        return pandas.DataFrame(columns=list(columns))
    return pandas.concat(frames, ignore_index=True)


def _run_files(entry: dict[str, Any]) -> list[str]:
    return [f"{entry['run']}/{name}" for name in ("run.json", "log.parquet", "ranks.parquet")] + entry["eval"]


def _choice_files(choice: dict[str, Any]) -> list[str]:
    return [choice["path"], *(f"{entry['run']}/run.json" for entry in choice["cells"])]


def _check_files(record: dict[str, Any]) -> None:
    lacking = [name for name in ("manifests", "downloads", "near", "choices") if name not in record]
    if lacking:
        raise ValueError(
            f"study.json is of an older version, without {', '.join(lacking)}; delete it and run `snakemake` again"
        )
    paths = [path for entry in record["cells"] for path in _run_files(entry)]
    paths += [path for choice in record["choices"] for path in _choice_files(choice)]
    paths += [entry["ranks"] for entry in record["zero_shot"]] + list(record["manifests"].values())
    paths += [path for found in record["near"].values() for path in found.values()]
    missing = [path for path in paths if not Path(path).is_file()]
    if missing:
        raise FileNotFoundError(
            "missing files:\n  " + "\n  ".join(missing) + "\ntrain or evaluate their cells (`snakemake` does) first"
        )


def _cell_columns(frame: pandas.DataFrame, cell: dict[str, Any]) -> pandas.DataFrame:
    front = pandas.DataFrame({name: [cell[name]] * len(frame) for name in CELL}, index=frame.index)
    return pandas.concat([front, frame], axis=1)


def _read_ranks(path: str) -> pandas.DataFrame:
    frame = _read_parquet(path)
    missing = [name for name in RANK_COLUMNS if name not in frame]
    if missing:
        raise ValueError(f"{path} lacks the columns {', '.join(missing)}; evaluate its cell anew")
    check_repeats(path, frame)
    return frame[list(RANK_COLUMNS)]


def _read_parquet(path: str) -> pandas.DataFrame:
    try:
        return pandas.read_parquet(path)
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as Parquet ({error}); delete it and run its rule again") from error


def _cell_ranks(entry: dict[str, Any], config: dict[str, Any]) -> list[tuple[str, pandas.DataFrame]]:
    """(path, rows) of the trainer's own ranks and of each further benchmark's."""
    cell = Cell.parse(entry["cell"])
    found = []
    for path in (f"{entry['run']}/ranks.parquet", *entry["eval"]):
        benchmark = cell.train if path not in entry["eval"] else Path(path).stem
        frame = _read_ranks(path)
        wanted = [f"{benchmark}/{split}" for split in config["benchmarks"][benchmark]["test"]]
        ranked = set(frame.loc[frame[SCORING] == COSINE, "target"])
        lacking = [target for target in wanted if target not in ranked]
        if lacking:
            raise ValueError(f"{path} holds no ranks of {', '.join(lacking)}; delete it and run its rule again")
        found.append((path, _cell_columns(frame, asdict(cell))))
    return found


def _zero_shot_ranks(entry: dict[str, Any]) -> tuple[str, pandas.DataFrame]:
    cell = Cell(entry["backbone"], "", ZERO_SHOT, "none", 0, 0)
    return entry["ranks"], _cell_columns(_read_ranks(entry["ranks"]), asdict(cell))


def _epochs(entry: dict[str, Any]) -> pandas.DataFrame:
    path = f"{entry['run']}/log.parquet"
    log = _read_parquet(path)
    if "kind" not in log or not (log["kind"] == "eval").any():
        raise ValueError(f"{path} holds no evaluation; delete it and train its cell anew")
    rows = log[log["kind"] == "eval"].reset_index(drop=True)
    rows = rows[["epoch", "target", "t2i_r1", "i2t_r1", "queries", "gallery"]].astype({"epoch": int})
    return _cell_columns(rows, asdict(Cell.parse(entry["cell"])))


def _run_row(entry: dict[str, Any]) -> dict[str, Any]:
    record = store.read_json(Path(entry["run"]) / "run.json")
    versions = ", ".join(f"{name} {version}" for name, version in record.get("versions", {}).items())
    cell = Cell.parse(entry["cell"])
    _check_inputs(record.get("inputs", {}), entry)
    texts = {key: json.dumps(record.get(key) or {}, sort_keys=True) for key in JSON_KEYS}
    row = {"cell": str(cell), **asdict(cell), **{key: record.get(key) for key in RUN_KEYS}}
    return {**row, **texts, "versions": versions}


def _check_inputs(inputs: dict[str, Any], entry: dict[str, Any]) -> None:
    bare = [name for name, derived in inputs.items() if "seconds" not in derived]
    if bare:
        raise ValueError(
            f"{entry['run']}/run.json does not say how many seconds its inputs took: {', '.join(bare)}; "
            "delete the folder and train its cell anew"
        )


def _check_commits(runs: list[dict[str, Any]], study_json: Path) -> None:
    """Code edits do not retrain, so cells of two commits may not be comparable."""
    if listed := mixed(runs):
        raise ValueError(f"the cells of {study_json} were trained by different commits:\n{listed}\n{WAYS_OUT}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m hnclip.report.collect", description=__doc__.splitlines()[0])
    parser.add_argument("study", type=Path, help="study.json")
    parser.add_argument("out", type=Path, help="folder of the tables")
    given = parser.parse_args()
    collect(given.study, given.out)


if __name__ == "__main__":
    run(main)
