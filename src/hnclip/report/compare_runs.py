"""Any runs compared: paired differences on the test splits that all of them ranked, judged as a study's are."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import pandas
from pyarrow import parquet

from hnclip.report.compared_seeds import distinct, same_seeds, seeds_note
from hnclip.report.contrast import contrast
from hnclip.report.holm import holm
from hnclip.report.load import SCORING, ReportOptions
from hnclip.report.query_check import check_queries, check_repeats
from hnclip.report.recalls import read_ranks
from hnclip.report.statistics import Hits, count_hits, difference
from hnclip.store import read_run_record

PARTS = ("backbone", "train", "framework", "loss", "fraction")
DEFAULTS = ReportOptions()
SHOWN = 4  # runs below a folder that is none, in a message
LOOKED_AT = 2000  # folders in which these are looked for


@dataclass(frozen=True)
class Run:
    """One model's ranks; runs of one `method` differ in the seed alone, which is None of a model that none trained."""

    path: str
    method: str
    parts: tuple[str, ...]
    seed: int | None
    ranks: pandas.DataFrame


@dataclass(frozen=True)
class Compared:
    """`a` - `b` on a target, in points of percent, over these seeds; `p_adjusted` by Holm over the target's rows.

    `same_seeds` is False where each side is one run, of a seed of its own.
    """

    target: str
    a: str
    b: str
    k: int
    score_a: float
    score_b: float
    difference: float
    low: float
    high: float
    p: float
    p_adjusted: float
    seeds: tuple[int, ...]
    same_seeds: bool
    captions: int
    images: int


def read_runs(paths: Sequence[str]) -> list[Run]:
    """The ranks that each path names, as `read_run` has them; all that name none are told at once."""
    faults = [fault for path in paths if (fault := _no_ranks(path))]
    if faults:
        raise FileNotFoundError("\n  ".join(faults))
    return [read_run(path) for path in paths]


def _no_ranks(path: str) -> str | None:
    """Why a path is not read, with some of the runs that lie below it; None where it is."""
    place = Path(path)
    if place.is_file() or (place / "run.json").is_file():
        return None
    below = _runs_below(place)
    told = f"; the runs below it: {', '.join(below[:SHOWN])}{' and others' * (len(below) > SHOWN)}" if below else ""
    return f"{path} is neither the folder of a finished run nor a file of ranks (.parquet){told}"


def _runs_below(folder: Path) -> list[str]:
    """The first runs in a folder, one more than are shown; a folder as large as a disk is not looked through."""
    found = []
    for place, folders, files in islice(os.walk(folder), LOOKED_AT):
        folders.sort()
        if "run.json" in files:
            found.append(place)
            folders.clear()
        if len(found) > SHOWN:
            break
    return found


def read_run(path: str) -> Run:
    """The ranks of a run's folder, its further benchmarks included, or those of a file that an evaluation wrote.

    Raises FileNotFoundError or ValueError where there are none.
    """
    place = Path(path)
    if place.is_file():
        ranks = read_ranks(place)
        name = (parquet.read_schema(place).metadata or {}).get(b"model", place.name.encode()).decode()
        return Run(path, path, (name,), None, ranks)
    if fault := _no_ranks(path):
        raise FileNotFoundError(fault)
    record = read_run_record(place, "cell", "seed", "data")
    config = record["config"]
    files = [place / "ranks.parquet", *sorted((place / "eval").glob("*.parquet"))]
    ranks = [found for file in files if len(found := read_ranks(file))]
    if not ranks:
        raise ValueError(f"{path} ranked no test split; rank captions by it with `hnclip evaluate {path} CAPTIONS`")
    train = config["data"]["train"]
    train["content"] = record.get("files", {}).get(train.get("manifest"))  # two folders may have a study of one name
    method = json.dumps({**config, "cell": "", "seed": 0, "data": train}, sort_keys=True)
    return Run(path, method, _parts(config["cell"]), config["seed"], pandas.concat(ranks, ignore_index=True))


def _parts(cell: str) -> tuple[str, ...]:
    parts = cell.split("/")
    return tuple(parts[:5]) if len(parts) == 6 else (cell,)


def methods(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """The runs of each method by a name that tells it from the others. Raises ValueError for a run given twice."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        same = groups.setdefault(run.method, [])
        if twice := next((other for other in same if other.seed == run.seed), None):
            raise ValueError(f"{twice.path} and {run.path} are the same method with the same seed; name one of them")
        same.append(run)
    firsts = [group[0] for group in groups.values()]
    varied = [i for i in range(len(PARTS)) if len({run.parts[i] for run in firsts if len(run.parts) > i}) > 1]
    names = [_name(run, varied) for run in firsts]
    names = [name if names.count(name) == 1 else run.path for name, run in zip(names, firsts, strict=True)]
    return dict(zip(names, groups.values(), strict=True))


def _name(run: Run, varied: list[int]) -> str:
    if len(run.parts) < len(PARTS):
        return run.parts[0]
    return "/".join(run.parts[i] for i in varied) or "/".join(run.parts)


def compare(
    groups: dict[str, list[Run]], k: int, every: bool, options: ReportOptions = DEFAULTS
) -> tuple[list[Compared], list[str]]:
    """Each other method against the first, or every pair; and what is worth a note.

    A target of which two files ask other queries or have another gallery is left out with a note. Raises ValueError
    where none is left, naming the files, or where the methods share no target or no seed.
    """
    runs = [run for group in groups.values() for run in group]
    targets, notes = _shared(runs)
    targets = _asking_the_same(runs, targets, notes)
    first, *rest = groups
    pairs = [(b, a) for a, b in combinations(groups, 2)] if every else [(name, first) for name in rest]
    found = [row for target in targets for row in _judged(groups, target, pairs, k, options)]
    notes += [note for a, b in pairs if (note := seeds_note((a, seeds_of(groups[a])), (b, seeds_of(groups[b]))))]
    single = [name for name, group in groups.items() if len(group) == 1 and group[0].seed is not None]
    if single:
        notes.append(
            f"One seed of {', '.join(single)}: intervals and p-values hold for these very weights, and leave out what "
            "another seed would change. One seed is an anecdote, three are a hint."
        )
    return found, notes


def _shared(runs: list[Run]) -> tuple[list[str], list[str]]:
    """The targets that all runs ranked, and a note on each other one."""
    have = {run.path: list(dict.fromkeys(run.ranks["target"])) for run in runs}
    known = list(dict.fromkeys(target for targets in have.values() for target in targets))
    shared = [target for target in known if all(target in targets for targets in have.values())]
    if not shared:
        lines = [f"  {path}: {', '.join(targets)}" for path, targets in have.items()]
        raise ValueError("\n".join(["the runs share no test split; each was ranked on:", *lines]))
    notes = []
    for target in known:
        if lacking := [path for path, targets in have.items() if target not in targets]:
            notes.append(f"Not compared on {target}, which {', '.join(lacking)} did not rank.")
    return shared, notes


def _asking_the_same(runs: list[Run], targets: list[str], notes: list[str]) -> list[str]:
    """The targets of which all runs ranked the same queries; two studies of one name may have other test splits."""
    faults = {}
    for target in targets:
        files = [(run.path, run.ranks[run.ranks["target"] == target].assign(**{SCORING: "cosine"})) for run in runs]
        for path, frame in files:
            check_repeats(path, frame)
        try:
            check_queries(files, "rank the same captions and images by all of them (`hnclip evaluate`)")
        except ValueError as error:
            faults[target] = str(error)
    if len(faults) == len(targets):
        raise ValueError("\n".join(faults.values()))
    notes += [f"Not compared on {target}: {fault}" for target, fault in faults.items()]
    return [target for target in targets if target not in faults]


def _judged(
    groups: dict[str, list[Run]], target: str, pairs: list[tuple[str, str]], k: int, options: ReportOptions
) -> list[Compared]:
    """The rows of a target, p-values adjusted over them."""
    found = []
    for a, b in pairs:
        sides = _hits(groups[a], groups[b], target, k)
        both = difference(*sides)
        judged = contrast(both, options.bootstrap)
        low, high = judged.interval(options.confidence)
        scores = [100 * hits.of_seeds(both.seeds).score() for hits in sides]
        count = dict(zip(both.directions, both.counts_FD.sum(0).astype(int).tolist(), strict=True))
        points = (100 * judged.score, 100 * low, 100 * high, judged.p)
        single = len(groups[a]) == len(groups[b]) == 1
        seeds = distinct(seeds_of(groups[a] + groups[b])) if single else both.seeds
        same = same_seeds(seeds_of(groups[a]), seeds_of(groups[b]))
        found.append((target, a, b, k, *scores, *points, seeds, same, count.get("t2i", 0), count.get("i2t", 0)))
    adjusted = holm([row[9] for row in found])
    return [Compared(*row[:10], q, *row[10:]) for row, q in zip(found, adjusted, strict=True)]


def seeds_of(runs: list[Run]) -> list[int | None]:
    return [run.seed for run in runs]


def _hits(a: list[Run], b: list[Run], target: str, k: int) -> tuple[Hits, Hits]:
    """Hits of both by seed; two single runs stand beside each other, whatever their seeds.

    Raises ValueError where no seed is shared.
    """
    if len(a) == len(b) == 1:
        return _counted(a, target, k, {0}, any_seed=True), _counted(b, target, k, {0}, any_seed=True)
    seeds = [{run.seed for run in group} for group in (a, b)]
    sides = _counted(a, target, k, seeds[1]), _counted(b, target, k, seeds[0])
    if not set(sides[0].seeds) & set(sides[1].seeds):
        paths = [", ".join(run.path for run in group) for group in (a, b)]
        raise ValueError(f"no seed is shared by {paths[0]} and by {paths[1]}: train the same seeds of both")
    return sides


def _counted(runs: list[Run], target: str, k: int, beside: set[Any], any_seed: bool = False) -> Hits:
    """The hits of these runs, each under its seed; a model of no seed (or of any) under each of those beside it."""
    frames = [
        run.ranks[run.ranks["target"] == target].assign(seed=seed)
        for run in runs
        for seed in (beside if run.seed is None or any_seed else [run.seed])
    ]
    return count_hits(pandas.concat(frames, ignore_index=True), k)
