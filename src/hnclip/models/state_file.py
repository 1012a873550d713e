"""The tensors of a weights file that somebody else wrote."""

import zipfile
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

State = dict[str, torch.Tensor]


def read_state(path: Path) -> Any:
    """What a .safetensors or .pt file holds, on the CPU and in its own precision; of a TorchScript archive its state.

    Raises FileNotFoundError, or ValueError for a file that is neither.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no weights file at {path}")
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        if _is_torchscript(path):
            return dict(torch.jit.load(path, map_location="cpu").state_dict())
        return torch.load(path, map_location="cpu", weights_only=True)
    except (SafetensorError, UnpicklingError, RuntimeError, EOFError, KeyError) as error:
        reason = str(error).strip().split("\n")[0]
        raise ValueError(
            f"{path} is no file of weights (safetensors, or a PyTorch file of tensors): {reason}"
        ) from error


def load_strictly(model: torch.nn.Module, state: State, where: str) -> None:
    """Fill a model's weights, which keep their precision; ValueError says what is lacking or does not fit."""
    own = model.state_dict()
    faults = {
        "lacking": [name for name in own if name not in state],
        "not of the model": [name for name in state if name not in own],
        "of another shape": [
            f"{name} is {list(state[name].shape)}, the model's {list(own[name].shape)}"
            for name in own
            if name in state and state[name].shape != own[name].shape
        ],
    }
    found = [f"{fault}: {_few(names)}" for fault, names in faults.items() if names]
    if found:
        raise ValueError(f"{where}; {'; '.join(found)}")
    model.load_state_dict(state, strict=True)


def say_contents(state: Any) -> str:
    """What a file holds, for a message that refuses it."""
    if not isinstance(state, dict):
        return f"a {type(state).__name__}"
    names = [str(name) for name in state]
    return f"{len(names)} entries ({_few(names)})"


def _few(names: list[str], count: int = 5) -> str:
    return ", ".join(names[:count]) + (f" and {len(names) - count} more" if len(names) > count else "")


def _is_torchscript(path: Path) -> bool:
    """TorchScript archives are zip files with their code inside."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any(name.endswith("/constants.pkl") for name in archive.namelist())
