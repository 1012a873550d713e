"""What one or several processes compute of the same batches: `torchrun ... process_gradients.py CELLS OUT.pt`.

CELLS holds a cell of each framework. The first process writes gradients and terms by framework, loss, chunk and batch,
and the ranks of an evaluation. All in float64, where rounding hides no fault.
"""

import sys
from pathlib import Path

import numpy as np
import torch

from hnclip.checkpoint import Progress
from hnclip.deadline import Deadline
from hnclip.devices import started_processes
from hnclip.losses.entry import LossEntry
from hnclip.losses.objective import Tables, contrastive
from hnclip.parts import Chunk
from hnclip.processes import average_gradients, rank, summed
from hnclip.sharded import whole
from hnclip.store import read_json
from hnclip.train import Trainer

BOOSTED = {"boost": "captions", "gamma": 0.5}
LOSSES = {
    "infonce": {},
    "captions": BOOSTED,
    "images": {"boost": "images", "gamma": 0.5},
    "matched": {"boost": "matched", "gamma": 0.5},
    "constant": {"boost": "constant", "margin": 0.4},
    "centred": {"boost": "centred", "gamma": 0.5},
    "shuffled": {"boost": "shuffled", "gamma": 0.5},
    "frozen": {"boost": "frozen", "gamma": 0.5},
    "smoothing": {"label_smoothing": 0.1, **BOOSTED},
    "masked": {"mask_duplicates": True, **BOOSTED},
    "reweighted": {"base": "reweighted", "beta": 0.25, **BOOSTED},
    "hardest": {"base": "hardest", "hinge": 0.2},
    "sigmoid": {"base": "sigmoid", "threshold": 0.3, **BOOSTED},
    "soft": {"base": "soft", "mix": 0.2, "sharpness": 10.0, **BOOSTED},
}
TILES = {"captions": 3, "matched": 3, "infonce": 3}
OF_OTHERS = ("infonce", "captions")  # the losses of frameworks other than longclip
SHARDED = ("longclip", "finelip", "structxlip")
BATCHES = (slice(0, 10), slice(10, 13))  # the last one has fewer rows than there are processes


def tables(captions: int) -> Tables:
    random = torch.Generator().manual_seed(3)
    frozen_MD = torch.nn.functional.normalize(torch.randn(captions, 6, generator=random), dim=-1)
    return Tables(frozen_MD, torch.arange(captions) // 2)


def gradient(trainer: Trainer, images: np.ndarray) -> dict[str, torch.Tensor]:
    """The batch's gradient of every trained weight and its terms, averaged as in training."""
    trainer.model.train()
    trainer._seed_draws()
    terms = trainer._backward(images, trainer._step_of(), 1.0)
    weights = {name: weight for name, weight in trainer.framework.named_parameters() if weight.requires_grad}
    average_gradients(weights.values())
    found = {name: whole(weight.grad).clone() for name, weight in weights.items() if weight.grad is not None}
    trainer.optimiser.zero_grad()
    return found | {f"term {name}": torch.tensor(value) for name, value in terms.items()}


def computed(kind: str, config: Path, strategy: str = "ddp") -> dict[str, dict[str, torch.Tensor]]:
    record = read_json(config)
    record["recipe"] |= {"gpus": started_processes(), "strategy": strategy}
    trainer = Trainer(record, config.parent)
    trainer.framework.double()
    trainer.progress, trainer.deadline = Progress(epoch=1), Deadline()
    found = {}
    for name in LOSSES if kind == "longclip" else OF_OTHERS:
        for tile in (None, TILES[name]) if kind == "longclip" and name in TILES else (None,):
            entry = LossEntry(**LOSSES[name])
            known = tables(len(trainer.data.split.frame))
            trainer.contrastive = contrastive(entry, trainer.generator, known, tile)
            for chunk in (None, 2):
                trainer.chunk = chunk and Chunk(chunk)
                for number, rows in enumerate(BATCHES):
                    key = f"{kind} {name} tile={tile} chunk={chunk} batch={number}"
                    found[key] = gradient(trainer, trainer.data.images[rows])
    ranks = trainer._evaluate(last=True)["rank"].to_numpy()
    total = summed(torch.from_numpy(ranks).long())
    found[f"{kind} ranks"] = {"ranks": torch.from_numpy(ranks).long(), "of all processes": total}
    return found


def main(cells: Path, out: Path) -> None:
    torch.set_default_dtype(torch.float64)
    torch.Tensor.float = torch.Tensor.double
    found = {}
    for folder in sorted(cells.iterdir()):
        config = folder / "run" / "config.json"
        found |= computed(folder.name, config)
        if folder.name in SHARDED and started_processes() > 1:
            found |= {f"fsdp {key}": value for key, value in computed(folder.name, config, "fsdp").items()}
    if rank() == 0:
        torch.save(found, out)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
