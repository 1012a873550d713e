"""What `accelerator.py` measures beside whole cells: the chip's matrix rate, losses in tiles, ranks."""

import gc
import time
from collections.abc import Callable

import numpy as np
import torch
from torch.nn.functional import normalize

from hnclip.losses.objective import LossEntry, contrastive
from hnclip.rank_counts import both_ranks

SCALE = 100.0


def wait(device: torch.device) -> None:
    """Until the device has done all that it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds_of(call: Callable[[], object], device: torch.device) -> float:
    wait(device)
    start = time.perf_counter()
    call()
    wait(device)
    return time.perf_counter() - start


def peak_of(call: Callable[[], object], device: torch.device) -> tuple[float, float | None]:
    """Seconds of a call, and the most memory that the device held in it, GB (null on a CPU)."""
    gc.collect()
    if device.type != "cuda":
        return seconds_of(call, device), None
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    seconds = seconds_of(call, device)
    return seconds, torch.cuda.max_memory_allocated(device) / 1e9


def matrix_rate(size: int, dtype: torch.dtype, device: torch.device) -> float:
    """Operations a second of a product of two square matrices, the best of five."""
    a, b = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    return 2 * size**3 / min(seconds_of(lambda: a @ b, device) for _ in range(5))


def loss_in_tiles(rows: int, width: int, tile: int, device: torch.device) -> dict[str, float | str | None]:
    """The boosted loss, forward and backward, in tiles and from the whole matrix: seconds, memory, their ratios."""
    image_ND, text_ND = (normalize(torch.randn(rows, width, device=device), dim=-1).requires_grad_() for _ in range(2))
    ids_N, scale = torch.arange(rows, device=device), torch.tensor(SCALE, device=device)
    found: dict[str, float | str | None] = {"rows": rows, "width": width, "tile": tile}
    for name, size in (("tiled", tile), ("dense", None)):
        loss = contrastive(LossEntry(boost="captions", gamma=0.5), torch.Generator(device), tile=size)

        def take(loss=loss) -> None:
            loss(image_ND, text_ND, scale, ids_N).backward()
            image_ND.grad = text_ND.grad = None

        try:
            take()
            found[f"{name}_s"], found[f"{name}_gb"] = peak_of(take, device)
        except torch.OutOfMemoryError:
            found[f"{name}_s"], found["note"] = None, f"the {name} loss found no room"
    if found["dense_s"] and found["tiled_s"]:
        found["tiled_over_dense"] = found["tiled_s"] / found["dense_s"]
    return found


def ranks_over_product(rows: int, width: int, device: torch.device) -> dict[str, float]:
    """Ranks in both directions over the bare product of the same embeddings, both from the CPU's memory."""
    image_ND = normalize(torch.randn(rows, width), dim=-1)
    text_ND = normalize(image_ND + 0.6 * normalize(torch.randn(rows, width), dim=-1), dim=-1)
    relevant = torch.arange(rows), torch.arange(rows)
    calls = {
        "ranks_s": lambda: both_ranks(image_ND, text_ND, relevant, device),
        "product_s": lambda: image_ND.to(device) @ text_ND.to(device).T,
    }
    found = {name: float(np.median([seconds_of(call, device) for _ in range(4)][1:])) for name, call in calls.items()}
    return {"rows": rows, "width": width, **found, "ranks_over_product": found["ranks_s"] / found["product_s"]}
