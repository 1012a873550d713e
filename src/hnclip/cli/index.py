"""`hnclip index`: an index of a folder of images, made or brought up to date."""

import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from hnclip.cli.output import Json, console, print_json, say

EXAMPLES = (
    "Example: [bold]hnclip index tiny photos[/bold], and the same again when images have come or gone; "
    "[bold]hnclip index --to photos.index --remove photos/old[/bold]"
)
STOPPED = 75


def index(
    model: Annotated[
        str | None,
        typer.Argument(metavar="MODEL", help="A run's folder, tiny, a weights file, or open_clip's MODEL:TAG."),
    ] = None,
    images: Annotated[list[Path] | None, typer.Argument(metavar="IMAGES...", help="Folders, or image files.")] = None,
    to: Annotated[
        Path | None,
        typer.Option(metavar="INDEX", help="The index's folder; unless given, beside IMAGES, called IMAGES.index."),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="How it is searched: auto, flat (all are compared), ivf or hnsw (larger folders, approximate). "
            "Unless given, as it is, and auto at first.",
        ),
    ] = None,
    recursive: Annotated[bool, typer.Option(help="With the folders inside IMAGES.")] = True,
    skip_unreadable: Annotated[
        bool, typer.Option("--skip-unreadable", help="Leave out images that cannot be read, and list them.")
    ] = False,
    remove: Annotated[
        list[Path] | None,
        typer.Option(metavar="PATH", help="Take this image or folder out of the index --to; may be given again."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Make images searchable; run again, it takes up what is new or changed and drops what has gone."""
    from hnclip.search import build
    from hnclip.search import remove as take_out

    if remove:
        if model or not to:
            raise typer.BadParameter("--remove takes --to INDEX and no MODEL or IMAGES", param_hint="--remove")
    elif not model or not images:
        raise typer.BadParameter("a MODEL and a folder of IMAGES are needed", param_hint="MODEL IMAGES")
    try:
        with redirect_stdout(sys.stderr), _progress() as tell:
            if remove:
                update = take_out(to, remove)
            else:
                update = build(model, images, to, kind, recursive, skip_unreadable, tell)
    except KeyboardInterrupt:
        say("stopped; the index is as it was. Run the same command again to go on: no image is embedded twice")
        raise typer.Exit(STOPPED) from None
    print_json(vars(update)) if as_json else _show(update)


def _show(update) -> None:
    from rich.markup import escape

    counts = [("added", update.added), ("changed", update.changed), ("removed", update.removed)]
    told = ", ".join(f"{count} {name}" for name, count in [*counts, ("unchanged", update.unchanged)])
    index = update.index.removeprefix(os.getcwd().rstrip(os.sep) + os.sep)
    lines = [f"{index}: {update.images} images ({told})"]
    known = update.added + update.changed - update.embedded
    if known > 0:
        lines.append(f"  the pictures of {known} of these were known, and not embedded again")
    if update.recall:
        found = update.recall
        lines.append(
            f"  {update.kind}, approximate: finds {found['pictures']:.1%} of the true {found['at']} nearest of its own "
            f"pictures, and {found['texts']:.1%} of queries as far off as texts are"
        )
    if update.other_files:
        lines.append(f"  {update.other_files} other files are no images")
    if update.closed_formats:
        kinds = ", ".join(f"{count} {suffix}" for suffix, count in sorted(update.closed_formats.items()))
        lines.append(f"  not indexed, pictures of formats that are not read: {kinds}")
    if update.skipped:
        lines += [
            f"  {len(update.skipped)} unreadable images were left out:",
            *(f"    {one}" for one in update.skipped),
        ]
    lines.append(f'search it: hnclip search {shlex.quote(index)} "what you look for"')
    console().print(escape("\n".join(lines)), soft_wrap=True)


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal; in a log a line for each tenth."""
    if not sys.stderr.isatty():
        yield _Lines().tell
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("images"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("images", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


class _Lines:
    def __init__(self) -> None:
        self._told = 0

    def tell(self, done: int, total: int) -> None:
        if total >= 100 and done * 10 // total > self._told:
            self._told = done * 10 // total
            say(f"{done} of {total} images")
