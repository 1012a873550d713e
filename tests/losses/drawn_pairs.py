"""Pairs to take losses of, and a setting or two of each base."""

import torch
from torch.nn.functional import normalize

N, D = 6, 4
SETTINGS = [
    ("infonce", {}),
    ("reweighted", {"beta": 0.25}),
    ("reweighted", {"beta": 1.0}),
    ("hardest", {"hinge": 0.2}),
    ("hardest", {"hinge": 1.5}),
    ("sigmoid", {"threshold": 0.3}),
    ("soft", {"mix": 0.3, "sharpness": 5.0}),
    ("soft", {"mix": 1.0, "sharpness": 20.0}),
]
CLASSES = torch.tensor([4, 0, 4, 1, 0, 4])  # captions 0, 2 and 5 are the same words, and so are 1 and 4
SAME = [(i, j) for i in range(N) for j in range(N) if i != j and CLASSES[i] == CLASSES[j]]


def drawn(seed=0, count=N, dtype=torch.float64):
    """Images and captions that are somewhat alike in pairs, and a scale; all of them leaves."""
    generator = torch.Generator().manual_seed(seed)
    image = torch.randn(count, D, generator=generator, dtype=torch.float64)
    text = image + torch.randn(count, D, generator=generator, dtype=torch.float64)
    rows = [normalize(rows, dim=-1).to(dtype).requires_grad_() for rows in (image, text)]
    return *rows, torch.tensor(7.0, dtype=dtype, requires_grad=True)


def gradients(loss, leaves):
    """Of every leaf; zeros where it has none."""
    return torch.autograd.grad(loss, leaves, allow_unused=True, materialize_grads=True)
