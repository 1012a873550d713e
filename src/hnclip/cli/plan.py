"""`hnclip plan`: what a study takes, counted and not run."""

from contextlib import chdir
from typing import Annotated

import typer

from hnclip.cli.output import Json, print_json

EXAMPLES = "Example: [bold]hnclip plan paper --device A100 --summary[/bold]"


def plan(
    overlays: Annotated[
        list[str],
        typer.Argument(
            metavar="STUDY...", help="The study: a file, its folder or a shipped one's name; overlays behind it."
        ),
    ],
    device: Annotated[str, typer.Option(help="The GPU that is counted on, such as A100.")] = "A100",
    tflops: Annotated[float | None, typer.Option(help="Sustained TFLOP/s that you measured, in its place.")] = None,
    summary: Annotated[bool, typer.Option("--summary", help="Cells that cost the same in one row.")] = False,
    as_json: Json = False,
) -> None:
    """What a study takes before it takes it: cells, disk, GPU-hours, peak memory."""
    from hnclip import project
    from hnclip.plan import devices
    from hnclip.plan.__main__ import show
    from hnclip.plan.study import plan as planned

    files = project.overlays(overlays)
    folder = project.home(files)
    with chdir(folder):
        made = planned(project.read(files, folder), devices.device(device, tflops))
    print_json(made) if as_json else show(made, summary, device)
