"""`hnclip run`: a whole study, from captions to its report."""

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from hnclip.cli.output import Json, print_json, say

EXAMPLES = """Examples:
[bold]hnclip run my_images/study.yaml[/bold]
[bold]hnclip run my_images --dry-run[/bold]  what would run
[bold]hnclip run scenes[/bold]  the study that comes with hnclip, no download

A study of your own runs in the folder that its file lies in, wherever you
call it from: relative paths in it start there, and results land in its
[bold]results/[/bold]. One that comes with hnclip runs in the current folder."""


def run(
    studies: Annotated[
        list[str], typer.Argument(metavar="STUDY...", help="The study's file (or its folder), overlays behind it.")
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Say what would run, and run nothing.")] = False,
    cores: Annotated[int | None, typer.Option(min=1, help="CPU cores to use; all by default.")] = None,
    unlock: Annotated[
        bool, typer.Option("--unlock", help="Remove the lock that a hard stop left (kill -9, a power cut).")
    ] = False,
    data: Annotated[bool, typer.Option("--data", help="Check and prepare the data, and train nothing.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Snakemake's own messages instead.")] = False,
    as_json: Json = False,
) -> None:
    """A whole study: prepare the data, train every cell, write tables, figures and the report.

    Stop it with Ctrl-C at any time: trainings write a checkpoint, and the
    next run goes on where it was. Run again, it does only what a change made
    necessary.
    """
    from hnclip import project, replaced
    from hnclip.cli.workflow import check_writable, ended, work
    from hnclip.run_workflow import command

    files = project.overlays(studies)
    folder = project.home(files)
    check_writable(folder)
    again = shlex.join(["hnclip", "run", *studies])
    if unlock:
        found = work(command(files, folder, "--unlock", cores="1"), verbose)
        say("The lock is removed." if found.status == 0 else "\n".join(found.tail))
        raise typer.Exit(int(found.status != 0))
    config = project.read(files, folder)
    targets = tuple(path for paths in replaced.manifests(config).values() for path in paths) if data else ()
    if not data:
        replaced.refuse(config, folder, f"{again} --data")
    elif not dry_run:
        for name in replaced.forget(config, folder):
            say(f"Images of benchmark {name} were replaced: it is prepared anew")
    if dry_run:
        _would_run(files, folder, again, targets, as_json)
        return
    line = command(files, folder, "--quiet", "host", "reason", targets=targets, cores=str(cores or "all"))
    found = work(line, verbose)
    status = ended(found, folder, again, f"{again} --unlock")
    if status:
        raise typer.Exit(status)
    if data:
        _say_prepared(folder, targets, as_json)
    else:
        _results(files, folder, config, not found.total, as_json)


def _say_prepared(folder: Path, manifests: tuple[str, ...], as_json: bool) -> None:
    made = [os.path.relpath(folder / name) for name in manifests]
    if as_json:
        print_json({"data": made})
    else:
        typer.echo("\n  ".join(["The data is checked and prepared:", *made]))


def _would_run(files: list[Path], folder: Path, again: str, targets: tuple[str, ...], as_json: bool) -> None:
    """The jobs of a dry run in plain words."""
    from hnclip.cli.workflow import ended
    from hnclip.run_workflow import command, follow, foretold, planned

    line = command(files, folder, "--dry-run", "--quiet", "host", "reason", targets=targets)
    found = follow(line, lambda said, found: None)
    status = ended(found, folder, again, f"{again} --unlock")
    if status:
        raise typer.Exit(status)
    plan, stops = planned(found), foretold(found)
    if as_json:
        jobs = [{"first": said, "count": count} for said, count in plan]
        print_json({"jobs": jobs, **({"stops": stops} if stops else {})})
        return
    if not plan:
        typer.echo("Nothing to do: all results are there and nothing has changed.")
        return
    typer.echo("Would run, in about this order:")
    for said, count in plan:
        typer.echo(f"  {said}" + (f" (and {count - 1} more like it)" if count > 1 else ""))
    typer.echo(stops or "How long and how large: `hnclip plan`, with the same study.")


def _results(files: list[Path], folder: Path, config: dict, nothing: bool, as_json: bool) -> None:
    """The report, written where a page is newer, and the main results."""
    from hnclip.cell import study_folder
    from hnclip.report.load import read_study
    from hnclip.report.summary import summary
    from hnclip.run_workflow import command, follow

    made = folder / study_folder(config)
    report = made / "report.html"
    pages = [page for part in ("tables", "figures", "galleries", "report") for page in (made / part).glob("*.html")]
    if not report.is_file() or any(page.stat().st_mtime > report.stat().st_mtime for page in pages):
        say("Writing the report")
        line = command(files, folder, "--quiet", "all", "--report", str(report))
        found = follow(line, lambda said, found: None)
        if found.status:
            raise ValueError("\n".join(["the report could not be written:", *found.tail]))
    elif nothing:
        say("Nothing to do: all results are there and nothing has changed.")
    shown = Path(os.path.relpath(made))
    if as_json:
        print_json({"results": str(shown), "tables": str(shown / "tables"), "report": str(shown / "report.html")})
        return
    study = read_study(made / "study.json", made / "tables", folder)
    typer.echo(summary(study, shown / "tables"), nl=False)
    say(f"Open {report.absolute()} in a browser.")
