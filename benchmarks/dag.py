"""What the workflow takes beside its jobs: finding nothing to do, dry runs of many cells, choosing what runs next.

`python benchmarks/dag.py`; each figure is of fresh processes, in turn, of which the median stands. Stubs stand for the
commands, as in the tests of the graph. No torch.
"""

import argparse
import os
import platform
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from dag_world import Study  # noqa: E402

Seconds = tuple[float, float]  # of the processor, of the clock


def overlay(cells: int) -> dict:
    """A study of so many cells, an even number: plain and boosted, with half as many seeds."""
    grid = {"backbones": ["tiny"], "train": ["scenes"], "frameworks": ["longclip"], "losses": ["infonce", "hn"]}
    seeds = list(range(1, cells // 2 + 1))
    return {"study": f"cells-{cells}", "run": ["many"], "grids": {"many": {**grid, "fractions": [100], "seeds": seeds}}}


def seconds(command: Callable[[], object]) -> Seconds:
    """Of a command and the processes that it starts."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command()
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def in_turn(commands: dict[str, Callable[[], object]], times: int) -> dict[str, Seconds]:
    """The medians of each, so that a drifting machine weighs on all of them."""
    rounds = [{name: seconds(command) for name, command in commands.items()} for _ in range(times)]
    return {name: tuple(median(each[name][clock] for each in rounds) for clock in (0, 1)) for name in commands}


def folder(parent: Path, name: str) -> Study:
    (parent / name).mkdir()
    return Study(parent / name)


def waits(parent: Path, sizes: list[int], finished: int | None, times: int) -> None:
    """A run that finds nothing to do, and dry runs of studies from which nothing is there."""
    done, empty = folder(parent, "finished"), folder(parent, "empty")
    study = {} if finished is None else overlay(finished)
    done.snakemake(study)
    commands = {"`snakemake --version`": lambda: empty.snakemake({}, "--version")}
    commands["nothing to do, " + (study.get("study") or "the default study")] = lambda: done.snakemake(study)
    for cells in sizes:
        commands[f"dry run, {cells} cells"] = lambda cells=cells: empty.snakemake(
            overlay(cells), "--dry-run", "--quiet"
        )
    found = in_turn(commands, times)
    print("| what | processor s | clock s |\n| --- | --- | --- |")
    for name, (processor, clock) in found.items():
        print(f"| {name} | {processor:.1f} | {clock:.1f} |")
    few, many = (found[f"dry run, {cells} cells"][0] for cells in (sizes[0], sizes[-1]))
    each = (many - few) / (sizes[-1] - sizes[0]) * 1000
    print(f"{sizes[-1]} / {sizes[0]} cells = {many / few:.1f}; {each:.1f} ms of the processor a cell")


def schedulers(parent: Path, cells: int) -> None:
    """A study run with stubs under either scheduler."""
    took = {}
    for name in ("greedy", "ilp"):
        study = folder(parent, name)
        took[name] = seconds(lambda study=study, name=name: study.snakemake(overlay(cells), "--scheduler", name))[0]
    more = (took["ilp"] - took["greedy"]) / cells * 1000
    print(f"ilp / greedy, {cells} cells = {took['ilp'] / took['greedy']:.2f}; {more:.0f} ms of the processor a cell")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cells", type=int, nargs="+", default=[10, 100, 1000], help="of the dry runs; even numbers")
    parser.add_argument("--finished", type=int, help="cells of the finished study (default: the default study)")
    parser.add_argument("--run", type=int, default=100, help="cells of the study run under either scheduler; 0: none")
    parser.add_argument("--times", type=int, default=3, help="fresh processes a figure (default 3)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as parent:
        waits(Path(parent), options.cells, options.finished, options.times)
        if options.run:
            schedulers(Path(parent), options.run)
    print(f"machine: {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")


if __name__ == "__main__":
    main()
