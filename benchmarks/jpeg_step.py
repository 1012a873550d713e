"""A training step from the pixel cache against one that decodes its 1500-pixel JPEGs, as each epoch would without it.

`python benchmarks/jpeg_step.py`: the embedded backbone, batch 16, drawn captions; generated photos of 1500 x 2000
pixels. Both sides run in one process on the same core: decode, resize, crop, then the step; or read the cache, then the
step. The ratio hangs on how long the step takes beside its pictures, so the run also prints what it comes to for a
device that trains so many images a second while so many cores decode for it beside, cache and decoding both hidden
behind the step where they are fast enough: max(1, rate x seconds of decoding / cores). That part is arithmetic.
"""

import tempfile
from pathlib import Path

import numpy as np
import torch
from common import arguments, interleaved, ratio, scenes
from pixel_cache import TRANSFORM, readers
from training_step import TINY, our_step

from hnclip.data.images import Transform
from hnclip.models.load import backbone_from

RATES = (100, 500, 1000, 2000, 4000)  # images a second
CORES = (4, 8, 16)  # that decode for one device


def main() -> None:
    parser = arguments(__doc__.split("\n")[0])
    parser.set_defaults(pairs=20)
    parser.add_argument("--photos", type=int, default=64, help="generated photos (default 64)")
    options = parser.parse_args()
    if options.batch > options.photos:
        parser.error("a batch must not be larger than the photos")
    torch.set_num_threads(options.threads)
    pictures, tokens = scenes(options.batch, (3, 5), TINY["transform"]["size"])
    pixels = torch.from_numpy(pictures)  # each step reads it anew
    take = our_step(backbone_from(TINY), pixels, *tokens.batch(np.arange(options.batch)))

    with tempfile.TemporaryDirectory() as folder:
        small = Transform(TINY["transform"]["size"])
        decode, read = readers(Path(folder), options.photos, 8 * options.photos, options.batch, small)

        def with_pictures_of(reader):
            def step() -> None:
                pixels.copy_(torch.from_numpy(reader()))
                take()

            return step

        steps = interleaved(with_pictures_of(decode), with_pictures_of(read), options.pairs, untimed=2)
        large = Path(folder) / "large"
        large.mkdir()
        decode_224, _ = readers(large, options.photos, options.photos, options.batch, TRANSFORM)
        reading = interleaved(decode, decode_224, max(3, options.pairs // 4), untimed=1) / options.batch
    median, low, high = ratio(steps)
    first, second = np.median(steps, axis=0) * 1000
    print(f"from JPEGs / from the cache = {median:.1f} (95 % interval {low:.1f} to {high:.1f}, {options.pairs} pairs)")
    print(f"  medians: from JPEGs {first:.0f} ms a step, from the cache {second:.0f} ms ({options.batch} pairs)")
    small_s, large_s = np.median(reading, axis=0)
    print(
        f"  decoding an image: {small_s * 1e3:.1f} ms to {small.size} pixels, {large_s * 1e3:.1f} to {TRANSFORM.size}"
    )
    print("for a device of another speed, by arithmetic (pictures of 224 pixels):")
    print("| images a second | " + " | ".join(f"{cores} cores decode" for cores in CORES) + " |")
    print("| ---" * (1 + len(CORES)) + " |")
    for rate in RATES:
        print(f"| {rate} | " + " | ".join(f"{max(1.0, rate * large_s / cores):.1f}" for cores in CORES) + " |")


if __name__ == "__main__":
    main()
