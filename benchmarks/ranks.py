"""What exact ranks of both directions take over the bare matrix product, and how they grow with the gallery.

`python benchmarks/ranks.py`: ranks and product in turn at `--rows` images and as many captions, width 512; the same by
all scores at once, sorted in both directions as open_clip's evaluation does; then galleries from 1,000, each in a
process of its own, whose peak memory above the embeddings is stated. `--largest 100000` takes minutes. `--cpu` compares
CPU seconds, on a machine that others use.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable

import torch
from common import arguments, interleaved, report
from torch.nn.functional import normalize

from hnclip.rank_counts import both_ranks

WIDTH = 512
NOISE = 5.0  # times the image's embedding, in the caption's: at 10,000 a few in a hundred are not found first
CPU = torch.device("cpu")


def embeddings(rows: int, noise: float) -> tuple[torch.Tensor, torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
    """Unit rows of images and of captions that point their way, and the pairs that belong together."""
    generator = torch.Generator().manual_seed(0)
    image = normalize(torch.randn(rows, WIDTH, generator=generator), dim=-1)
    text = torch.randn(rows, WIDTH, generator=generator).mul_(noise * WIDTH**-0.5).add_(image)
    return image, normalize(text, dim=-1), (torch.arange(rows), torch.arange(rows))


def sorted_ranks(image_ND: torch.Tensor, text_ND: torch.Tensor) -> list[torch.Tensor]:
    """The place of each query's own item among all, sorted by their scores."""
    score_NN = image_ND @ text_ND.T
    own_N1 = torch.arange(len(score_NN))[:, None]
    return [torch.where(torch.argsort(score, descending=True) == own_N1)[1] for score in (score_NN, score_NN.T)]


def compare(rows: int, noise: float, pairs: int, label: str, clock: Callable[[], float]) -> None:
    image, text, relevant = embeddings(rows, noise)
    found = both_ranks(image, text, relevant, CPU)
    seconds = interleaved(lambda: both_ranks(image, text, relevant, CPU), lambda: image @ text.T, pairs, 1, clock)
    share = float((found[0] < 1).double().mean())
    report(f"{rows:,} x {rows:,}, {label} (R@1 {100 * share:.1f})", seconds, ("ranks", "product"))


def compare_sorted(rows: int, clock: Callable[[], float]) -> None:
    image, text, relevant = embeddings(rows, NOISE)
    found = {}
    first, second = interleaved(
        lambda: found.update(sorted=sorted_ranks(image, text)),
        lambda: found.update(counted=both_ranks(image, text, relevant, CPU)),
        1,
        0,
        clock,
    )[0]
    same = all(torch.equal(one, other) for one, other in zip(*found.values(), strict=True))
    print(f"sorting all scores / ranks = {first / second:.1f} ({first:.1f} s, {second:.1f} s), same ranks: {same}")


def measure(rows: int, threads: int) -> None:
    """Print seconds, and the peak of memory above the embeddings, of one gallery."""
    torch.set_num_threads(threads)
    both_ranks(*embeddings(64, NOISE), CPU)
    given = embeddings(rows, NOISE)
    before = _memory("VmRSS")
    _reset_peak()
    start, cpu = time.perf_counter(), time.process_time()
    both_ranks(*given, CPU)
    taken = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}
    print(json.dumps({**taken, "gigabytes": (_memory("VmHWM") - before) / 1e6}))


def _memory(name: str) -> int:
    """Kilobytes of this process, by Linux."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name))


def _reset_peak() -> None:
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def grow(largest: int, threads: int) -> None:
    print("| gallery | seconds | CPU seconds | ns a pair | GB above the embeddings |\n|---:|---:|---:|---:|---:|")
    for rows in (size for size in (1000, 3000, 10_000, 30_000, 100_000) if size <= largest):
        command = [sys.executable, __file__, "--measure", str(rows), "--threads", str(threads)]
        done = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        each = done["cpu"] / rows**2 * 1e9
        print(f"| {rows:,} | {done['seconds']:.2f} | {done['cpu']:.2f} | {each:.1f} | {done['gigabytes']:.2f} |")


def main() -> None:
    parser = arguments(__doc__.split("\n")[0])
    parser.set_defaults(pairs=10)
    parser.add_argument("--rows", type=int, default=10_000, help="images and captions (default 10000)")
    parser.add_argument("--largest", type=int, default=10_000, help="largest gallery of the growth (default 10000)")
    parser.add_argument("--measure", type=int, help="measure one gallery of this size, and nothing else")
    parser.add_argument("--cpu", action="store_true", help="compare CPU seconds, not those of a clock")
    options = parser.parse_args()
    if options.measure:
        return measure(options.measure, options.threads)
    torch.set_num_threads(options.threads)
    clock = time.process_time if options.cpu else time.perf_counter
    compare(options.rows, NOISE, options.pairs, "as trained", clock)
    compare(options.rows, 1e3, options.pairs, "at random", clock)
    compare_sorted(options.rows, clock)
    grow(options.largest, options.threads)


if __name__ == "__main__":
    main()
