"""Times two functions in turn, so that a drifting machine weighs on both, and states the ratio with its interval."""

import argparse
import platform
import time
from collections.abc import Callable
from random import Random

import numpy as np
import torch

from hnclip.data.scene import draw, random_scene
from hnclip.data.scene_words import dense_sentences
from hnclip.data.tokens import Tokens, tokenize


def arguments(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--pairs", type=int, default=200, help="interleaved pairs of timings (default 200)")
    parser.add_argument("--batch", type=int, default=16, help="image-caption pairs a step (default 16)")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (default 1)")
    return parser


def interleaved(
    first: Callable[[], None],
    second: Callable[[], None],
    pairs: int,
    untimed: int = 5,
    clock: Callable[[], float] = time.perf_counter,
) -> np.ndarray:
    """Seconds of both functions, [pairs, 2], after `untimed` calls of each; which goes first alternates."""
    for _ in range(untimed):
        first()
        second()
    seconds = np.empty((pairs, 2))
    for pair in range(pairs):
        for place in (0, 1) if pair % 2 else (1, 0):
            start = clock()
            (first, second)[place]()
            seconds[pair, place] = clock() - start
    return seconds


def ratio(seconds: np.ndarray) -> tuple[float, float, float]:
    """The median of the paired ratios and its 95 % bootstrap interval."""
    ratios = seconds[:, 0] / seconds[:, 1]
    draws = np.random.default_rng(0).choice(ratios, (2000, len(ratios)))
    low, high = np.quantile(np.median(draws, axis=1), [0.025, 0.975])
    return float(np.median(ratios)), float(low), float(high)


def report(name: str, seconds: np.ndarray, labels: tuple[str, str]) -> None:
    """The median of the paired ratios with a 95 % bootstrap interval, and both medians."""
    median, low, high = ratio(seconds)
    first, second = np.median(seconds, axis=0) * 1000
    print(
        f"{name}: {labels[0]} / {labels[1]} = {median:.3f} "
        f"(95 % interval {low:.3f} to {high:.3f}, {len(seconds)} pairs)"
    )
    print(f"  medians: {labels[0]} {first:.1f} ms, {labels[1]} {second:.1f} ms")
    print(f"  machine: {platform.machine()}, {torch.get_num_threads()} threads of torch {torch.__version__}")


def scenes(count: int, objects: tuple[int, int], pixels: int) -> tuple[np.ndarray, Tokens]:
    """Drawn pictures, uint8 [count, pixels, pixels, 3], and their dense captions' tokens."""
    random = Random(0)
    drawn = [random_scene(random, random.randint(*objects)) for _ in range(count)]
    captions = [" ".join(dense_sentences(scene, str(number))) for number, scene in enumerate(drawn)]
    return np.stack([draw(scene, pixels) for scene in drawn]), tokenize(captions, "clip", 248)
