"""Where a cell is trained: one device, or several processes with one each, through Lightning Fabric."""

import os
import warnings

import torch
from lightning_fabric import Fabric
from lightning_fabric.strategies import DDPStrategy
from torch import nn

from hnclip.encode import device
from hnclip.recipe import Recipe


class Processes(DDPStrategy):
    """Fabric's processes, devices and collectives, without the hooks of DistributedDataParallel.

    These need every weight to get a gradient from the wrapped forward pass in each step. Here losses read weights
    outside it (the scale), some losses leave weights out, and a chunked step passes forward and backward many times.
    `hnclip.processes.average_gradients` averages once an optimiser step instead.
    """

    def setup_module(self, module: nn.Module) -> nn.Module:
        return module


def fabric_of(recipe: Recipe) -> Fabric:
    """The device, or with several processes this one's, in the recipe's precision.

    Raises ValueError for a precision that the device lacks, and where the recipe wants other processes than there are.
    """
    warnings.filterwarnings("ignore", message="The `srun` command is available")  # one process needs no srun
    kind = device().type
    if recipe.precision == "16-mixed" and kind == "cpu":
        raise ValueError("recipe: precision 16-mixed needs a GPU; on a CPU take bf16-mixed or 32-true")
    started = started_processes()
    by_torchrun = "TORCHELASTIC_RUN_ID" in os.environ  # of SLURM's tasks not all need run this command
    if recipe.processes == 1 and not (by_torchrun and started > 1):
        return Fabric(accelerator=kind, devices=1, precision=recipe.precision)
    if started != recipe.processes:
        raise ValueError(
            f"recipe: gpus {recipe.gpus} on nodes {recipe.nodes} are {recipe.processes} processes, and {started} "
            "started: run `python -m hnclip.launch hnclip.train CONFIG FOLDER`, which starts them"
        )
    if kind == "cuda" and torch.cuda.device_count() < recipe.gpus:
        raise ValueError(f"recipe: gpus is {recipe.gpus}, and this node shows {torch.cuda.device_count()} GPUs")
    fabric = Fabric(
        accelerator=kind,
        devices=recipe.gpus,
        num_nodes=recipe.nodes,
        strategy=Processes(process_group_backend="nccl" if kind == "cuda" else "gloo"),
        precision=recipe.precision,
    )
    fabric.launch()
    return fabric


def started_processes() -> int:
    """How many processes torchrun or srun started together, by their environment."""
    for name in ("TORCHELASTIC_RUN_ID", "SLURM_NTASKS"):
        if name in os.environ:
            return int(os.environ["WORLD_SIZE" if name == "TORCHELASTIC_RUN_ID" else name])
    return 1
