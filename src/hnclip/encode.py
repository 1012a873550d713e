"""Embeddings of a whole split: every row once, in fp32, captions in order of length, without gradient.

Several processes take turns at the batches that one would compute, so that every batch is computed as by one. All take
as many turns, since towers whose weights are split over processes run in all of them or in none.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch

from hnclip import processes
from hnclip.data.split import Split
from hnclip.data.tokens import Tokens
from hnclip.models.backbone import Backbone
from hnclip.models.trained import load_trained
from hnclip.store import read_json

T = TypeVar("T")


def device() -> torch.device:
    """Where towers run: an NVIDIA or AMD GPU where torch has one, else the CPU.

    Products of fp32 numbers are from now on fp32 there: containers of NVIDIA's let torch round their factors to TF32.
    """
    torch.set_float32_matmul_precision("highest")
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def trained_towers(run: Path) -> tuple[Backbone, int]:
    """What a finished run trained, where towers run, and how many rows its recipe evaluates at once.

    torch computes with the threads of the recipe from now on. Raises as `hnclip.models.trained.load_trained` does.
    """
    recipe = read_json(run / "run.json")["config"]["recipe"]
    torch.set_num_threads(recipe["threads"])
    return load_trained(run / "weights.safetensors").eval().to(device()), recipe["eval_batch"]


@torch.no_grad()
def encode_split(backbone: Backbone, split: Split, batch: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Unit embeddings of the split's images [I, D] and captions [C, D], on the CPU, the same in every process."""
    device, images = backbone.mean.device, len(split.pixels)
    image_ID = torch.zeros(images, backbone.architecture["embed_dim"])
    for counts, start in _turns(range(0, images, batch)):
        rows = np.arange(start, min(start + batch, images))
        image_ND = backbone.image(split.image_batch(rows).to(device), states=0)[0].cpu()
        if counts:
            image_ID[rows] = image_ND
    text_CD = _texts(backbone, split.tokens, _turns(split.tokens.by_length(batch)))
    if processes.world() == 1:
        return image_ID, text_CD
    return processes.summed(image_ID.to(device)).cpu(), processes.summed(text_CD.to(device)).cpu()


@torch.no_grad()
def encode_texts(backbone: Backbone, tokens: Tokens, batch: int) -> torch.Tensor:
    """Unit embeddings of texts [C, D], on the CPU; every process that calls it computes all."""
    return _texts(backbone, tokens, ((True, given) for given in tokens.by_length(batch)))


def _turns(batches: Iterable[T]) -> Iterator[tuple[bool, T]]:
    """This process's batches, each with True; the last of all with False where only others have one more."""
    rank, world, number = processes.rank(), processes.world(), -1
    for number, batch in enumerate(batches):
        if number % world == rank:
            yield True, batch
    if 0 < (number + 1) % world <= rank:
        yield False, batch


def _texts(backbone: Backbone, tokens: Tokens, batches: Iterable) -> torch.Tensor:
    """Embeddings of the captions of these batches, zeros for all others, [C, D]."""
    device = backbone.mean.device
    text_CD = torch.zeros(len(tokens), backbone.architecture["embed_dim"])
    for counts, (rows, ids_NT, length_N) in batches:
        text_ND = backbone.text(ids_NT.to(device), length_N.to(device), states=0)[0].cpu()
        if counts:
            text_CD[torch.from_numpy(rows)] = text_ND
    return text_CD
