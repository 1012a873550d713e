"""`hnclip plan`: what a study takes, counted and not run."""

from pathlib import Path
from typing import Annotated

import typer

from hnclip.cli.output import Json, print_json

EXAMPLES = "Example: [bold]hnclip plan workflow/studies/paper.yaml --device A100 --summary[/bold]"


def plan(
    overlays: Annotated[list[Path], typer.Argument(metavar="STUDY...", help="The study, with its overlays in order.")],
    device: Annotated[str, typer.Option(help="The GPU that is counted on, such as A100.")] = "A100",
    tflops: Annotated[float | None, typer.Option(help="Sustained TFLOP/s that you measured, in its place.")] = None,
    summary: Annotated[bool, typer.Option("--summary", help="Cells that cost the same in one row.")] = False,
    as_json: Json = False,
) -> None:
    """What a study takes before it takes it: cells, disk, GPU-hours, peak memory."""
    from hnclip.plan import devices
    from hnclip.plan.__main__ import show
    from hnclip.plan.config import read
    from hnclip.plan.study import plan as planned

    made = planned(read(overlays), devices.device(device, tflops))
    print_json(made) if as_json else show(made, summary, device)
