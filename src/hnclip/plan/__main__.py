"""What a study takes: `python -m hnclip.plan STUDY.yaml [OVERLAY.yaml ...] [--device A100] [--json]`.

Read from the config that the workflow would run, laid together in the same order, in the repository's folder.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from hnclip.command import run
from hnclip.plan.config import read
from hnclip.plan.devices import DEVICES, device
from hnclip.plan.study import plan

GB = 1e9


def cells_table(made: dict[str, Any], summary: bool) -> Table:
    """One row a cell, or with `summary` one for the cells that cost the same."""
    table = Table(title=f"study {made['study']}: {len(made['cells'])} cells")
    table.add_column("cell", overflow="fold")
    for name in ("cells", "pairs", "steps", "PFLOP", "GPU-h", "evaluation GPU-h", "hours", "peak GB", "weights GB"):
        table.add_column(name, justify="right")
    for names, cost in _rows(made["cells"], summary):
        if not cost["counted"]:
            table.add_row(_name(names), str(len(names)), f"{cost['pairs']:,}", f"{cost['steps']:,}", *["-"] * 6)
            continue
        hours = [cost["seconds"] / 3600, cost["eval_seconds"] / 3600]
        hours.append(sum(hours) / cost["processes"])
        table.add_row(
            _name(names),
            str(len(names)),
            f"{cost['pairs']:,}",
            f"{cost['steps']:,}",
            f"{cost['flops'] / 1e15:,.0f}",
            *(f"{value:.2f}" for value in hours),
            f"{cost['peak'] / GB:.1f}",
            f"{cost['weights'] / GB:.2f}",
        )
    return table


def _name(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} ..."


def _rows(costs: list[dict[str, Any]], summary: bool) -> list[tuple[list[str], dict[str, Any]]]:
    """Names of cells and the cost of each; those that cost the same come together with `summary`."""
    rows: dict[Any, tuple[list[str], dict[str, Any]]] = {}
    for cost in costs:
        name = cost["cell"]
        key = tuple(value for field, value in cost.items() if field != "cell") if summary else name
        rows.setdefault(key, ([], cost))[0].append(name)
    return list(rows.values())


def sums_table(made: dict[str, Any]) -> Table:
    """Hours and bytes of the whole study."""
    table = Table(title="in sum")
    table.add_column("what")
    table.add_column("amount", justify="right")
    for name, hours in made["gpu_hours"].items():
        table.add_row(f"GPU-hours: {name}", f"{hours:,.1f}")
    table.add_row("GPU-hours: all", f"{made['total_gpu_hours']:,.1f}", end_section=True)
    for name, size in made["disk"].items():
        table.add_row(f"disk: {name}", f"{size / GB:,.2f} GB")
    table.add_row("disk: all", f"{sum(made['disk'].values()) / GB:,.1f} GB", end_section=True)
    table.add_row("largest peak memory of a cell", f"{made['peak'] / GB:,.1f} GB")
    return table


def show(made: dict[str, Any], summary: bool, name: str) -> None:
    console = Console(width=140)
    console.print(cells_table(made, summary))
    console.print(sums_table(made))
    speed = made["device"]
    console.print(
        f"Assumed of {name}: {speed['mixed']:g} TFLOP/s sustained under mixed precision, {speed['fp32']:g} in fp32 "
        f"(evaluation is fp32), {speed['bandwidth']:g} GB/s, {speed['memory']:g} GB. Measure a cell and give --tflops.",
        highlight=False,
    )
    if made["peak"] > speed["memory"] * GB:
        console.print("A cell needs more memory than this device has: lower `chunk`, or see docs/large_batches.md.")
    for name in made["uncounted"]:
        console.print(
            f"Backbone {name}: not counted, its towers are of another layout than OpenAI's. Sums are without what it "
            "computes and holds; measure a cell.",
            highlight=False,
        )
    for split in made["sizes"]:
        pairs, tokens = f"{split['pairs']:,} pairs", f"{split['tokens']:.0f} tokens a caption"
        console.print(f"{split['split']}: {pairs} ({split['known']}), {tokens}", highlight=False)
    for source, files in made["by_hand"].items():
        if files:
            console.print(f"source {source}: to be put there by hand: {', '.join(files)}", highlight=False)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m hnclip.plan", description="What a study takes: counted, not run.")
    parser.add_argument("overlays", type=Path, nargs="*", help="studies as given to snakemake --configfile, in order")
    parser.add_argument("--device", default="A100", help=f"one of {', '.join(DEVICES)} (default A100)")
    parser.add_argument("--tflops", type=float, help="sustained TFLOP/s that you measured, in place of the device's")
    parser.add_argument("--summary", action="store_true", help="cells that cost the same in one row")
    parser.add_argument("--json", action="store_true", help="print all of it as JSON")
    given = parser.parse_args()
    made = plan(read(given.overlays), device(given.device, given.tflops))
    if given.json:
        print(json.dumps(made, indent=2))
    else:
        show(made, given.summary, given.device)


if __name__ == "__main__":
    run(main)
