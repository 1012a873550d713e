"""Cells that a run of the workflow leaves without a result, and what their logs end with. Standard library only."""

from pathlib import Path

from hnclip import cell as cells
from hnclip.cell import Config

TAIL = 16384  # bytes from the end of a log
TELLS = ("error: ", "stopped after ")  # how a line of ours begins that says why; a launcher's own may follow
SLURM = ".snakemake/slurm_logs/rule_train"
RECORD = "run.json"


def unfinished(config: Config, root: Path = Path()) -> dict[str, str]:
    """Of each cell that was started and has no result: the last line of its log."""
    found = {}
    for cell in sorted(cells.trained(config)):
        log = root / "logs" / "train" / config["study"] / f"{cell}.log"
        if log.is_file() and not (root / cells.run_folder(config, cell) / RECORD).is_file():
            found[str(cell)] = last_line(log)
    return found


def last_line(log: Path) -> str:
    """The last line that says why, or else the last one that says something; of a long log only the end is read."""
    with log.open("rb") as file:
        file.seek(max(log.stat().st_size - TAIL, 0))
        lines = file.read().decode("utf-8", errors="replace").split("\n")
    said = [line.strip() for line in reversed(lines) if line.strip()]
    empty = f"(its log is empty: it never started; on a cluster see {SLURM})"
    return next((line for line in said if line.startswith(TELLS)), said[0] if said else empty)


def table(config: Config, root: Path = Path()) -> str:
    """One line a cell, under a heading; nothing where every cell that was started has its result."""
    found = unfinished(config, root)
    if not found:
        return ""
    width = max(map(len, found))
    folder = f"logs/train/{config['study']}"
    rows = [f"  {cell:<{width}}  {line}" for cell, line in found.items()]
    return "\n".join([f"Started and without a result, {len(found)} of the study's cells ({folder}/CELL.log):", *rows])
