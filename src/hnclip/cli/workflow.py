"""What `run` and `train` share: progress while Snakemake works, and what is said where it fails."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hnclip.cli.output import say

if TYPE_CHECKING:
    from hnclip.run_workflow import Followed

GOES_ON = 75  # as a training that stopped early ends


def check_writable(folder: Path) -> None:
    """Raises PermissionError for a study's folder that takes no results, where Snakemake would end in a traceback."""
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(
            f"{folder} cannot be written to, and a study's results land in the folder of its file: allow it, or copy "
            "the file to a folder of yours"
        )


def work(line: list[str], verbose: bool = False) -> "Followed":
    """Run Snakemake with a line for each job that starts, and a bar on a terminal."""
    from hnclip.run_workflow import follow

    if verbose:
        return follow(line, lambda said, found: None, every=say)
    with _bar() as move:

        def tell(said: str, found: "Followed") -> None:
            say(f"[{len(found.jobs):>{len(str(found.total))}}/{found.total}] {said}")
            move(found)

        return follow(line, tell, every=lambda text: None)


@contextmanager
def _bar() -> Iterator:
    """A line at the bottom of a terminal with how far the work is; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda found: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    columns = ("jobs", BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("jobs", total=None)
        yield lambda found: progress.update(task, completed=found.done, total=found.total or None)


def ended(found: "Followed", folder: Path, again: str, unlock: str) -> int:
    """Say why Snakemake failed; the exit status of the command.

    `again` is how it is run another time, `unlock` what removes a lock.
    """
    from hnclip.run_workflow import last_lines

    if found.status == 0:
        return 0
    if found.locked:
        say(
            f"error: {folder / '.snakemake'} is locked: another run may be at work there. If none is, one was stopped "
            f"hard (kill -9, a power cut): run `{unlock}` once, then `{again}` as before"
        )
        return 1
    if found.status < 0 and not found.interrupted:
        say(f"Snakemake was killed (signal {-found.status}). `{again}` goes on where it was.")
        return GOES_ON
    stopped = bool(found.failed)
    for job, log in found.failed.items():
        lines = last_lines(folder / log) if log else []
        if found.interrupted and not any(line.startswith("error: ") for line in lines):
            continue  # it did not fail, it was stopped
        stopped &= any(line.startswith("stopped after ") for line in lines)
        say(f"failed: {job}" + (f" (whole log: {folder / log})" if log else ""))
        for text in lines:
            say(f"  {text}")
    if found.interrupted or stopped:
        say(f"Stopped. `{again}` goes on where it was.")
        return GOES_ON
    if not found.failed:
        first = next((number for number, text in enumerate(found.tail) if text.startswith("WorkflowError")), 0)
        for text in found.tail[first:]:
            say(f"  {text}")
        say("error: the workflow could not run, see above")
    return 1
