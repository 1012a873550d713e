"""A step encoded in chunks against the whole one, in time and memory; activations recomputed or kept.

`python benchmarks/chunk.py`: a mid-size backbone of random weights, noise pictures of 160 pixels, captions of DOCCI's
lengths (its 5,100 test captions have 142 tokens of CLIP on average, deviation 47, median 134, 248 at most), plain
InfoNCE; forward, backward and one AdamW step of both in turn. Counted are seconds of the processor.

Memory is the most that a whole training step holds, counted exactly from what torch allocates: weights, both moments,
gradients and activations on either side, as each must find room in a step of any batch. Beside it stands what is above
weights and moments, which no chunk can make smaller. The chunked step is set against steps whose whole batch is one
chunk of rows as they come, and against one that adds up the gradients of such batches (another loss, but the same
weights' gradients held while parts are encoded).
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch
from common import arguments, interleaved, ratio
from framework_step import captions
from torch.profiler import ProfilerActivity, profile

from hnclip import frameworks, gradients
from hnclip.frameworks.base import Step
from hnclip.losses.objective import LossEntry, contrastive
from hnclip.models.load import backbone_from
from hnclip.models.recomputed import recompute_blocks

SIZE, CONTEXT = 160, 248
ARCHITECTURE = {
    "embed_dim": 256,
    "vision_cfg": {"image_size": SIZE, "layers": 6, "width": 256, "head_width": 64, "patch_size": 16},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 192, "heads": 3, "layers": 6},
    "quick_gelu": True,
}
READ = ("longclip", "finelip", "hnclip", "lora")  # frameworks that read image and caption alone


def make_batch(rows: int) -> dict[str, torch.Tensor]:
    length_N = torch.empty(rows).log_normal_(4.9, 0.34).round().long().clamp(37, CONTEXT)
    text, length_N = captions(length_N)
    pixels = torch.randint(0, 256, (rows, SIZE, SIZE, 3), dtype=torch.uint8)
    return {"image": pixels, "text": text, "text_length": length_N}


def make_framework(kind: str):
    transform = {"size": SIZE, "interpolation": "bicubic", "resize": "shortest", "exif": "ignore"}
    entry = {"kind": "random", "context": CONTEXT, "transform": transform, "architecture": ARCHITECTURE}
    torch.manual_seed(0)
    return frameworks.create(kind, backbone_from(entry), {}).train()


def step_of(framework, *batches: dict[str, torch.Tensor], chunk: int | None = None) -> Callable[[], None]:
    """One training step, in chunks of so many rows or whole; of several batches their gradients are added up."""
    update = torch.optim.AdamW(list(framework.parameter_groups(1e-6)), fused=True)
    loss, step = contrastive(LossEntry(), torch.Generator()), Step(torch.arange(len(batches[0]["image"])), 1, 2, 0.0)
    losses = lambda z: framework.losses(z, step, loss)  # noqa: E731

    def take() -> None:
        for batch in batches:
            if chunk is None:
                gradients.whole(framework, losses, batch, torch.Tensor.backward, 1.0)
            else:
                gradients.chunked(framework, losses, batch, torch.Tensor.backward, 1.0, chunk=chunk)
        update.step()
        update.zero_grad()

    return take


def peak(step: Callable[[], None]) -> int:
    """The most bytes that torch has allocated in a step beyond those from before it."""
    step()  # the moments are there from now on
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        step()
    events = [event for event in seen.profiler.kineto_results.events() if event.name() == "[memory]"]
    return int(np.cumsum([event.nbytes() for event in sorted(events, key=lambda event: event.start_ns())]).max())


def timed(name: str, first: Callable[[], None], second: Callable[[], None], pairs: int) -> None:
    seconds = interleaved(first, second, pairs, untimed=1, clock=time.process_time)
    median, low, high = ratio(seconds)
    print(f"time, {name} = {median:.3f} (95 % interval {low:.3f} to {high:.3f}, {pairs} pairs)", flush=True)


def compared(name: str, first: float, second: float) -> None:
    held = 3 * 4 * sum(weight.numel() for weight in make_framework("longclip").parameters())  # weights, two moments
    whole = held + first, held + second
    print(
        f"memory, {name}: whole step {whole[0] / whole[1]:.3f} ({whole[0] / 1e6:.0f} MB, {whole[1] / 1e6:.0f} MB); "
        f"above the {held / 1e6:.0f} MB of weights and moments {first / second:.3f} "
        f"({first / 1e6:.0f} MB, {second / 1e6:.0f} MB)",
        flush=True,
    )


def options_given() -> argparse.Namespace:
    parser = arguments(__doc__.split("\n")[0])
    parser.add_argument("--chunk", type=int, default=16, help="rows encoded at once (default 16)")
    parser.add_argument("--framework", choices=READ, default="longclip", help="default longclip")
    parser.set_defaults(pairs=20, batch=64)
    return parser.parse_args()


def main() -> None:
    options = options_given()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    batch, chunk, kind = make_batch(options.batch), options.chunk, options.framework
    lengths = batch["text_length"].float()
    print(f"{kind}, batch {options.batch}, chunk {chunk}: {lengths.mean():.0f} tokens on average, {lengths.max():.0f}")
    whole = step_of(make_framework(kind), batch)
    chunked = step_of(make_framework(kind), batch, chunk=chunk)
    timed("chunked / whole", chunked, whole, options.pairs)

    starts = range(0, options.batch - chunk + 1, chunk)
    parts = [{key: value[start : start + chunk] for key, value in batch.items()} for start in starts]
    small = float(np.mean([peak(step_of(make_framework(kind), part)) for part in parts]))
    found = peak(chunked)
    compared("chunked / a batch of one chunk", found, small)
    compared("chunked / batches of one chunk added up", found, peak(step_of(make_framework(kind), *parts)))
    compared("chunked / whole", found, peak(whole))

    again = make_framework(kind)
    recompute_blocks(again.backbone.clip)
    recomputed, kept = step_of(again, parts[0]), step_of(make_framework(kind), parts[0])
    timed("activations recomputed / kept, a batch of one chunk", recomputed, kept, options.pairs)
    compared("activations recomputed / kept, a batch of one chunk", peak(recomputed), peak(kept))


if __name__ == "__main__":
    main()
