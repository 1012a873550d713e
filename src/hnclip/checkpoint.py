"""Where an interrupted run stands, written whole, so that it goes on bit for bit."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch

from hnclip.processes import rank, say
from hnclip.sharded import own_optimiser_state, own_state, whole_state
from hnclip.store import write_whole


@dataclass
class Progress:
    """How far a run is: steps done, in which epoch, how many of its steps, the seconds spent, the rows logged.

    `chunk` is how many rows a process encodes at once, where the recipe encodes a batch in parts.
    """

    step: int = 0
    epoch: int = 0
    step_of_epoch: int = 0
    pairs: int = 0
    seconds: float = 0.0
    evaluation_seconds: float = 0.0
    rows: list[dict[str, Any]] = field(default_factory=list)
    chunk: int | None = None


def save_checkpoint(
    path: Path, origin: dict, progress: Progress, model: torch.nn.Module, optimiser: torch.optim.Optimizer, scaler: Any
) -> None:
    """Weights, optimiser, place in the data and log, in one file, with all that they follow from.

    Random draws follow from the seed and the step, so there is no state of theirs to keep. Written by the first
    process; all call it together where they share the model.
    """
    record = {
        "origin": origin,
        "progress": asdict(progress),
        "model": whole_state(model.state_dict()),
        "optimiser": whole_state(optimiser.state_dict()),
        "scaler": scaler.state_dict() if scaler is not None else {},
    }
    if rank() == 0:
        write_whole(path, lambda part: torch.save(record, part))


def load_checkpoint(
    path: Path, origin: dict, model: torch.nn.Module, optimiser: torch.optim.Optimizer, scaler: Any
) -> Progress:
    """Restore all that `save_checkpoint` wrote.

    A checkpoint of another config, other data, code or packages is left aside, and so is a damaged one; it is said.
    """
    if not path.exists():
        return Progress()
    try:
        record = torch.load(path, weights_only=True, map_location="cpu")
        other = [part for part in origin if record["origin"].get(part) != origin[part]]
    except (RuntimeError, KeyError, EOFError, ValueError, UnpicklingError) as error:
        say(f"{path} cannot be read ({type(error).__name__}) and is not used: the run starts anew")
        return Progress()
    if other:
        say(f"{path} was made with other {', '.join(other)} and is not used: the run starts anew")
        return Progress()
    model.load_state_dict(own_state(record["model"], model), strict=True)
    optimiser.load_state_dict(own_optimiser_state(record["optimiser"], optimiser))
    if scaler is not None and record["scaler"]:
        scaler.load_state_dict(record["scaler"])
    progress = Progress(**record["progress"])
    say(f"resumed at optimiser step {progress.step}, epoch {progress.epoch}")
    return progress
