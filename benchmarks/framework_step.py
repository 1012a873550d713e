"""The training step of each framework against the plain one of `longclip`.

`python benchmarks/framework_step.py`: a backbone of ViT-B/16's size with random weights and 248 text positions, drawn
pictures of 224 pixels with captions of about 140 tokens, sentences of about 25 and filtered captions of about 130, two
edge crops a pair, plain InfoNCE; forward, backward and one AdamW step of both in turn. The plain step pads nothing.
Counted are seconds of the processor, which neighbours on the machine lengthen less than those of the clock.
"""

import time
from collections.abc import Callable

import numpy as np
import torch
from common import arguments, interleaved, ratio, scenes

from hnclip import frameworks
from hnclip.frameworks.base import Step
from hnclip.losses.objective import LossEntry, contrastive
from hnclip.models.load import backbone_from
from hnclip.models.openclip import open_clip

PLAIN = "longclip"
OBJECTS = (7, 8)  # in a picture; their captions have about the tokens of the compared benchmarks
SIZE, CROPS, CHUNKS = 224, 2, 64
START, END = 49406, 49407


def entry() -> dict:
    """ViT-B-16-quickgelu as a backbone of random weights."""
    architecture = open_clip().get_model_config("ViT-B-16-quickgelu")
    transform = {"size": SIZE, "interpolation": "bicubic", "resize": "shortest", "exif": "ignore"}
    return {"kind": "random", "context": 248, "transform": transform, "architecture": architecture}


def captions(length_N: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Random token ids of these lengths, padded with zeros, and the lengths."""
    ids_NT = torch.randint(1, START, (len(length_N), int(length_N.max())))
    place = torch.arange(ids_NT.shape[1])
    ids_NT[place >= length_N[:, None]] = 0
    ids_NT[:, 0] = START
    return ids_NT.scatter(1, length_N[:, None] - 1, END), length_N


def make_batch(pairs: int) -> dict[str, torch.Tensor]:
    """Everything that a framework can read, of these many pairs; all have a crop and edges."""
    pixels, tokens = scenes(pairs, OBJECTS, SIZE)
    return batch_of(torch.from_numpy(pixels), *tokens.batch(np.arange(pairs)))


def batch_of(pixels: torch.Tensor, ids_NT: torch.Tensor, length_N: torch.Tensor) -> dict[str, torch.Tensor]:
    """The same of these pictures and captions of at least 64 tokens."""
    pairs, size = len(pixels), pixels.shape[1]
    batch = {"image": pixels, "text": ids_NT, "text_length": length_N}
    batch["crop"] = batch["image"].flip(2)
    batch["edge"], batch["edge_crops"] = (
        batch["image"][..., :1],
        batch["image"][:, None, ..., :1].repeat_interleave(2, 1),
    )
    for name in ("short", "crop"):
        batch[f"{name}_text"], length_N = captions(torch.randint(15, 36, (pairs,)))
        batch[f"{name}_length" if name == "short" else f"{name}_text_length"] = length_N
    batch["filtered_text"], batch["filtered_length"] = captions((batch["text_length"] - 10).clamp_min(CHUNKS))
    batch["crop_box"] = (torch.tensor([[20.0, 30.0, 150.0, 170.0]]) / SIZE * size).repeat(pairs, 1)
    batch["image_box"] = batch["crop_box"].clone()
    batch["span"] = torch.tensor([[10, 35]]).repeat(pairs, 1)
    first_C = torch.arange(1, CHUNKS - 2)
    batch["chunks"] = torch.stack([first_C, first_C + 3], dim=1).repeat(pairs, 1, 1)
    batch["has_crop"] = batch["has_edge"] = torch.ones(pairs, dtype=torch.bool)
    batch["has_edge_crop"] = torch.ones(pairs, CROPS, dtype=torch.bool)
    return batch


def step_of(kind: str, batch: dict[str, torch.Tensor]) -> Callable[[], None]:
    """One training step of a framework with its default options."""
    framework = frameworks.create(kind, backbone_from(entry()), {}).train()
    update = torch.optim.AdamW(list(framework.parameter_groups(1e-6)), fused=True)
    loss, step = contrastive(LossEntry(), torch.Generator()), Step(torch.arange(len(batch["image"])), 0, 1, 0.0)

    def take() -> None:
        sum(framework.losses(framework(batch), step, loss).values()).backward()
        update.step()
        update.zero_grad()

    return take


def main() -> None:
    others = [name for name in frameworks.names() if name != PLAIN]
    parser = arguments(__doc__.split("\n")[0])
    parser.add_argument("--frameworks", nargs="+", choices=others, default=others, metavar="NAME", help=str(others))
    parser.set_defaults(pairs=20, batch=8)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    batch = make_batch(options.batch)
    for name in ("text", "crop_text", "filtered"):
        length_N = batch[f"{name}_length"]
        print(f"{name}: {length_N.float().mean():.0f} tokens on average, {length_N.max()} at most")
    plain = step_of(PLAIN, batch)
    print(f"| framework | step / {PLAIN}'s step | 95 % interval of {options.pairs} pairs |\n| --- | --- | --- |")
    for kind in options.frameworks:
        seconds = interleaved(step_of(kind, batch), plain, options.pairs, untimed=1, clock=time.process_time)
        median, low, high = ratio(seconds)
        print(f"| {kind} | {median:.2f} | {low:.2f} to {high:.2f} |", flush=True)


if __name__ == "__main__":
    main()
