"""Embeddings with ragged relevance, the dense answer in float64, and ranks by several processes that run as one."""

import sys
from pathlib import Path

import torch
from torch.nn.functional import normalize
from world import BACKBONE

from hnclip import processes
from hnclip.data.split import open_split
from hnclip.encode import encode_split
from hnclip.models.load import backbone_from
from hnclip.rank_counts import both_ranks
from hnclip.store import read_json

CPU = torch.device("cpu")


def ragged(images: int, width: int, noise: float, seed: int = 0):
    """Images with 1, 2 or 5 captions in turn, each a noisy copy of its image; the last image shares the first's."""
    generator = torch.Generator().manual_seed(seed)
    image_P = torch.arange(images).repeat_interleave(torch.tensor([1, 2, 5]).repeat(images)[:images])
    caption_P = torch.arange(len(image_P))
    image = normalize(torch.randn(images, width, generator=generator), dim=-1)
    moved = image[image_P] + noise * torch.randn(len(image_P), width, generator=generator)
    pairs = torch.cat([image_P, torch.tensor([images - 1])]), torch.cat([caption_P, torch.tensor([0])])
    return image, normalize(moved, dim=-1), pairs


def dense_ranks(image: torch.Tensor, text: torch.Tensor, pairs: tuple[torch.Tensor, torch.Tensor]):
    """Ranks of both directions from all scores in float64, [I] and [C]."""
    score, relevant = image.double() @ text.double().T, torch.zeros(len(image), len(text), dtype=torch.bool)
    relevant[pairs] = True
    own = score.masked_fill(~relevant, float("-inf"))
    return tuple(((score >= own.amax(axis, keepdim=True)) & ~relevant).sum(axis) for axis in (1, 0))


def write_all(folder: Path, out: Path) -> None:
    """Ranks by this process and its fellows, and embeddings of the split in `folder`, written by each of them."""
    ranks = both_ranks(*ragged(21, 6, 0.5), CPU, block=4)
    embeddings = encode_split(backbone_from(BACKBONE).eval(), open_split(read_json(folder / "record.json")), 4)
    torch.save([*ranks, *embeddings], out / f"{processes.rank()}.pt")


if __name__ == "__main__":
    torch.distributed.init_process_group("gloo")
    write_all(*map(Path, sys.argv[1:]))
    torch.distributed.destroy_process_group()
