"""`hnclip export`: a run, or another model, as a folder that other libraries load."""

import sys
from contextlib import redirect_stdout
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hnclip.cli.output import Json, console, print_json, table

EXAMPLES = "Example: [bold]hnclip export results/ours/runs/CELL my-clip --to onnx[/bold]"


class Format(StrEnum):
    """Who is to load the folder."""

    open_clip = "open_clip"
    transformers = "transformers"
    adapter = "adapter"
    peft = "peft"
    onnx = "onnx"


def export(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="The folder of a run, or another model (tiny, a file ...).")
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to write; it must not exist.")],
    to: Annotated[
        Format,
        typer.Option(
            "--to",
            help="Who is to load it. adapter: what a cell of framework lora, dora or adapter learned, alone; "
            "onnx: two graphs for onnxruntime, checked against PyTorch.",
        ),
    ],
    as_json: Json = False,
) -> None:
    """A run as a folder for open_clip, transformers, peft or onnxruntime, with a card that says how it was made."""
    from hnclip.export import main

    with redirect_stdout(sys.stderr):
        made = main(run, out, to.value)
    if as_json:
        print_json(made)
        return
    files = [(name, f"{(out / name).stat().st_size:,}") for name in made["files"]]
    console().print(table(f"{out}: {made['format']}", ["file", "bytes"], files, numbers=["bytes"]))
    for tower, difference in made.get("largest_difference", {}).items():
        console().print(f"{tower}.onnx differs from PyTorch by at most {difference:.1e}", markup=False)
