"""`hnclip compare`: paired differences between any runs."""

from typing import Annotated

import typer

from hnclip.cli.output import Json, console, print_json, say, table
from hnclip.cli.results import record

EXAMPLES = """Examples:
[bold]hnclip compare RUNS/infonce/f100/s42 RUNS/hn/f100/s42[/bold]
[bold]hnclip compare RUNS/infonce/f100/s* RUNS/hn/f100/s*[/bold]  all seeds
[bold]hnclip compare tiny.parquet RUN[/bold]  with ranks that `hnclip evaluate` wrote

Runs that differ in the seed alone are one method with several seeds."""
LEVEL = 0.05  # an adjusted p-value below it is a verdict


def compare(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN RUN...", help="Folders of runs, or files of ranks (.parquet).")
    ],
    every: Annotated[bool, typer.Option("--all", help="Every pair; by default each method against the first.")] = False,
    k: Annotated[int, typer.Option("--k", min=1, help="The K of R@K.")] = 1,
    as_json: Json = False,
) -> None:
    """Paired differences between runs, with intervals and p-values.

    They are compared on every test split that all of them ranked: their own,
    and captions that `hnclip evaluate` ranked by each of them. Query meets the
    same query; whole families of images are drawn again; p-values are
    adjusted (Holm) over the comparisons of a test split.
    """
    from hnclip.report import compare_runs

    groups = compare_runs.methods(compare_runs.read_runs([path.rstrip("/") for path in runs]))
    if len(groups) < 2:
        raise ValueError(
            f"{', '.join(runs)}: these are one method"
            + " with several seeds" * (len(runs) > 1)
            + "; name a run of another"
        )
    found, notes = compare_runs.compare(groups, k, every)
    if as_json:
        print_json({"comparisons": [record(row) | {"verdict": _verdict(row)} for row in found], "notes": notes})
        return
    for target in dict.fromkeys(row.target for row in found):
        _show([row for row in found if row.target == target])
    for note in notes:
        say(note)


def _show(rows: list) -> None:
    from hnclip.report.format import bounds, p_words, percent, signed

    first, k = rows[0], rows[0].k
    title = (
        f"R@{k} in percent on {first.target}, mean of both directions: {first.captions:,} captions find among "
        f"{first.images:,} images, and images among captions"
    )
    columns = ("a", "b", "a's", "b's", "a − b [95 % interval]", "p", "adjusted p", "so a is", "seeds")
    lines = [
        (
            *(row.a, row.b, percent(row.score_a), percent(row.score_b)),
            f"{signed(row.difference)} {bounds(row.low, row.high)}",
            *(p_words(row.p), p_words(row.p_adjusted), _verdict(row), ", ".join(map(str, row.seeds)) or "–"),
        )
        for row in rows
    ]
    console().print(table(title, columns, lines, ("a's", "b's", "a − b [95 % interval]", "p", "adjusted p", "seeds")))
    if min(first.captions, first.images) <= k:
        console().print(f"R@{k} says nothing here: a gallery has no more than {k} items.", markup=False)


def _verdict(row) -> str:
    from hnclip.report.judged import outcome_of

    return outcome_of(row.difference, row.p_adjusted, LEVEL)
