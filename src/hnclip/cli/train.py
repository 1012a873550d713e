"""`hnclip train`: one cell by hand, with what it needs and nothing else."""

import os
import shlex
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from hnclip.cli.output import Json, print_json, say

EXAMPLES = """Examples:
[bold]hnclip train my_images --loss hn --seed 42[/bold]
[bold]hnclip train scenes tiny/scenes/longclip/hn/f100/s42[/bold]

Exit status 75: it stopped early and goes on when run again."""


def train(
    study: Annotated[
        str, typer.Argument(metavar="STUDY", help="The study's file, its folder, or a shipped one's name.")
    ],
    cell: Annotated[
        str | None, typer.Argument(metavar="[CELL]", help="BACKBONE/TRAIN/FRAMEWORK/LOSS/fPPP/sSEED, or its parts:")
    ] = None,
    backbone: Annotated[str | None, typer.Option(help="Its backbone.")] = None,
    train: Annotated[str | None, typer.Option(help="The benchmark that it is trained on.")] = None,
    framework: Annotated[str | None, typer.Option(help="Its framework.")] = None,
    loss: Annotated[str | None, typer.Option(help="Its loss.")] = None,
    fraction: Annotated[int | None, typer.Option(help="Per cent of the training images.")] = None,
    seed: Annotated[int | None, typer.Option(help="Its seed.")] = None,
    overlay: Annotated[list[str] | None, typer.Option(help="A file laid over the study; may be given again.")] = None,
    cores: Annotated[int | None, typer.Option(min=1, help="CPU cores to use; all by default.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Snakemake's own messages instead.")] = False,
    as_json: Json = False,
) -> None:
    """Train one cell of a study: a framework with a loss, from a seed.

    Give only the parts in which the study's cells differ. A cell that no grid
    of the study has is trained as well, if its parts are in the config. Its
    run is the one that `hnclip run` would make, which then finds it done.
    """
    from hnclip import one_cell, project
    from hnclip.cell import run_folder

    files = project.overlays([study, *(overlay or [])])
    folder = project.home(files)
    config = project.read(files, folder)
    axes = dict(backbone=backbone, train=train, framework=framework, loss=loss, fraction=fraction, seed=seed)
    if cell and any(value is not None for value in axes.values()):
        raise typer.BadParameter("give the cell, or its parts by options, not both")
    wanted = one_cell.parse(cell, config) if cell else one_cell.chosen(config, **axes)
    again = ["hnclip", "train", study, str(wanted), *(f"--overlay={path}" for path in overlay or [])]
    status = _train(files, folder, wanted, config, cores, verbose, again)
    if status:
        raise typer.Exit(status)
    _tell(Path(os.path.relpath(folder / run_folder(config, wanted))), as_json)


def _train(files, folder: Path, wanted, config: dict, cores: int | None, verbose: bool, again: list[str]) -> int:
    """Let Snakemake make the cell's files; the exit status."""
    import yaml

    from hnclip import one_cell, project, replaced
    from hnclip.cli.workflow import check_writable, ended, work
    from hnclip.run_workflow import command

    check_writable(folder)
    overlay = one_cell.overlay(config, wanted)
    with TemporaryDirectory() as place:
        if overlay:
            by_hand = Path(place) / "by-hand.yaml"
            by_hand.write_text(yaml.safe_dump(overlay), encoding="utf-8")
            files = [*files, by_hand]
            project.read(files, folder)
            say("No grid of the study has this cell: it is trained by hand, and stands in none of the study's tables.")
        targets = one_cell.targets(config, [wanted])
        replaced.refuse(config, folder, shlex.join(["hnclip", "run", again[2], "--data"]))
        line = command(files, folder, "--quiet", "host", "reason", targets=targets, cores=str(cores or "all"))
        found = work(line, verbose)
    if not found.status and not found.total:
        say("It is trained already, and nothing that it depends on has changed.")
    return ended(found, folder, shlex.join(again), shlex.join(["hnclip", "run", again[2], "--unlock"]))


def _tell(run: Path, as_json: bool) -> None:
    """Its recalls, where it lies, and what may come next."""
    from hnclip.cli.results import recall_records, show_recalls
    from hnclip.report.recalls import read_ranks, recalls

    ranks = read_ranks(run / "ranks.parquet")
    rows = recalls(ranks, (1, 5, 10)) if len(ranks) else []
    if as_json:
        print_json({"run": str(run), "recalls": recall_records(rows)})
        return
    if rows:
        show_recalls(rows, "Recall in percent [95 % interval over families of images, of these weights]")
    typer.echo(f"The run: {run}")
    typer.echo("Next, for example:")
    for line in _next(run):
        typer.echo(f"  hnclip {line}")


def _next(run: Path) -> list[str]:
    """Commands that take the run; of one on embeddings whose model is not known, none that needs it."""
    from hnclip.model_spec import is_adapted, made_with

    name = shlex.quote(str(run))
    try:
        made_with(run)
    except ValueError:
        return [f"export {name} OUT --to adapter", f"compare {name} OTHER_RUN"]
    kind = "adapter" if is_adapted(run) else "open_clip"
    return [
        f"evaluate {name} OTHER_CAPTIONS --images DIR",
        f"index {name} IMAGES",
        f"export {name} OUT --to {kind}",
    ]
