"""Where processes differ, held against what they must agree on: run by test_processes.py, as one of two."""

import os
import sys

import torch
from torch import distributed

from hnclip.processes import alike, average_gradients, least, most


def check_gradients_that_some_lack(rank):
    """A weight that one process's rows do not reach has its share of the mean there; one that none reaches has none."""
    weights = [torch.nn.Parameter(torch.ones(size)) for size in (3, 2, 2)]
    if rank == 0:
        weights[0].grad = torch.full((3,), 4.0)
    weights[1].grad = torch.full((2,), 1.0 + rank)
    average_gradients(weight for weight in weights)
    assert weights[0].grad.tolist() == [2.0] * 3 and weights[1].grad.tolist() == [1.5] * 2 and weights[2].grad is None


if __name__ == "__main__":
    rank = int(sys.argv[1])
    os.environ.update(RANK=sys.argv[1], WORLD_SIZE="2")
    distributed.init_process_group("gloo", init_method=f"file://{sys.argv[2]}", rank=rank, world_size=2)
    check_gradients_that_some_lack(rank)
    assert (least(3 + rank), most(3 + rank)) == (3, 4)
    assert alike(5) and not alike(5 + rank)
    distributed.destroy_process_group()
    print("done")
