"""Our training step against open_clip's on a ViT-B/16 with captions of DOCCI's lengths, and the bound of the ratio.

`python benchmarks/docci_step.py`: random weights, batch 16, plain InfoNCE, one AdamW step. open_clip computes 248
tokens a caption. The bound is what leaving out padding alone can bring: with O seconds for open_clip's step and T for
its text tower (forward and backward), measured in turn with ours, and r the share of the 248 tokens that are real, it
is O / (O - T (1 - r)). Work that grows faster than the tokens (attention) and work that does not hang on them (the
gradient of the token table) are both counted as if they grew with them. Counted are seconds of the processor.
"""

import time
from collections.abc import Callable

import numpy as np
import torch
from common import arguments, ratio
from docci_lengths import lengths
from framework_step import SIZE, captions, entry
from torch.nn.functional import pad
from training_step import open_clips_model, open_clips_step, our_step

from hnclip.models.load import backbone_from


def rotated(calls: list[Callable[[], None]], rounds: int) -> np.ndarray:
    """Seconds of the processor of each call, [rounds, calls], after one untimed round; who goes first turns."""
    seconds = np.empty((rounds, len(calls)))
    for turn in range(-1, rounds):
        for place in np.roll(np.arange(len(calls)), turn):
            start = time.process_time()
            calls[place]()
            seconds[turn, place] = time.process_time() - start
    return seconds


def main() -> None:
    parser = arguments(__doc__.split("\n")[0])
    parser.set_defaults(pairs=7)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    backbone = backbone_from(entry())
    ids_NT, length_N = captions(lengths(options.batch))
    pixels = torch.randint(0, 256, (options.batch, SIZE, SIZE, 3), dtype=torch.uint8)
    theirs = open_clips_model(backbone)
    texts = pad(ids_NT, (0, 248 - ids_NT.shape[1]))

    def open_clips_text() -> None:
        theirs.encode_text(texts, normalize=True).sum().backward()
        theirs.zero_grad()

    real = float(length_N.float().mean() / 248)
    calls = [
        open_clips_step(theirs, backbone, pixels, texts),
        open_clips_text,
        our_step(backbone, pixels, ids_NT, length_N),
    ]
    whole, text, ours = rotated(calls, options.pairs).T
    bound = np.median(whole / (whole - text * (1 - real)))
    found, low, high = ratio(np.stack([whole, ours], axis=1))
    print(f"captions: {length_N.float().mean():.0f} tokens on average, {length_N.max()} at most, of 248 positions")
    print(f"open_clip / hnclip = {found:.3f} (95 % interval {low:.3f} to {high:.3f}, {options.pairs} pairs)")
    print(
        f"bound {bound:.3f}: {np.median(text / whole):.1%} of open_clip's step is text, {real:.1%} of its tokens real"
    )
    print(f"share of the bound: {found / bound:.1%}")
    print(f"medians: open_clip {np.median(whole):.2f} s, hnclip {np.median(ours):.2f} s of the processor")


if __name__ == "__main__":
    main()
