"""An epoch from the pixel cache against decoding and transforming the JPEGs.

`python benchmarks/pixel_cache.py`: generated photos of 1500 x 2000 pixels, clouds of every scale and noise, as JPEGs
of quality 90. Both sides read shuffled batches in turn, one thread each, from files that lie in the system's cache. The
pixel cache holds the photos' pictures again and again until it has an epoch's size, too much for the processor's own.
"""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from common import arguments, interleaved, ratio
from PIL import Image

from hnclip.data.images import Transform, read_image, transform_image
from hnclip.data.pixels import open_pixels
from hnclip.data.stack import write_stack

TRANSFORM = Transform(224)
SIZE = (1500, 2000)  # rows and columns


def photo(random: np.random.Generator) -> Image.Image:
    """Clouds of noise at every scale, the coarse ones strongest, and a little noise in every pixel."""
    rows, columns = SIZE
    picture_HW3 = np.full((rows, columns, 3), 128, np.float32)
    for octave in range(1, 9):
        noise = random.normal(0, 1, (2**octave + 1, 2**octave + 1, 3)).astype(np.float32)
        for channel in range(3):
            cloud = Image.fromarray(noise[..., channel]).resize((columns, rows), Image.Resampling.BICUBIC)
            picture_HW3[..., channel] += 60 / octave * np.asarray(cloud)
    picture_HW3 += random.normal(0, 3, picture_HW3.shape).astype(np.float32)
    return Image.fromarray(picture_HW3.clip(0, 255).astype(np.uint8))


def shuffled(count: int, batch: int) -> Iterator[np.ndarray]:
    """Batches of so many numbers in a new order each epoch, for ever."""
    random = np.random.default_rng(0)
    while True:
        order = random.permutation(count)
        yield from np.split(order[: count - count % batch], count // batch)


def readers(
    folder: Path, photos: int, epoch: int, batch: int, transform: Transform = TRANSFORM
) -> tuple[Callable[[], np.ndarray], Callable[[], np.ndarray]]:
    """What reads a batch by decoding, and what reads one from the cache."""
    paths = [folder / f"{number}.jpg" for number in range(photos)]
    for number, path in enumerate(paths):
        photo(np.random.default_rng(number)).save(path, quality=90)

    def picture(number: int) -> np.ndarray:
        return transform_image(read_image(paths[number], "ignore"), transform)

    pictures = [[picture(number)] for number in range(photos)]
    repeated = (pictures[number % photos] for number in range(epoch))
    write_stack(folder / "pixels.npy", (epoch, transform.size, transform.size, 3), "photos", lambda start: repeated)
    cache, from_photos, from_cache = open_pixels(folder / "pixels.npy"), shuffled(photos, batch), shuffled(epoch, batch)
    return (
        lambda: np.stack([picture(number) for number in next(from_photos)]),
        lambda: np.ascontiguousarray(cache[next(from_cache)]),
    )


def main() -> None:
    parser = arguments(__doc__.split("\n")[0])
    parser.set_defaults(pairs=50)
    parser.add_argument("--photos", type=int, default=100, help="generated photos (default 100)")
    parser.add_argument("--epoch", type=int, default=5000, help="pictures in the cache (default 5000)")
    options = parser.parse_args()
    if options.batch > min(options.photos, options.epoch):
        parser.error("a batch must not be larger than the photos or the epoch")
    with tempfile.TemporaryDirectory() as folder:
        decode, read = readers(Path(folder), options.photos, options.epoch, options.batch)
        for _ in range(2 * options.epoch // options.batch):
            read()  # every page of the cache has been looked at
        seconds = interleaved(decode, read, options.pairs, untimed=1)
        size = np.mean([path.stat().st_size for path in Path(folder).glob("*.jpg")]) / 1e6
    median, low, high = ratio(seconds)
    first, second = np.median(seconds, axis=0) * 1000 / options.batch
    print(f"decoding / reading the cache = {median:.0f} (95 % interval {low:.0f} to {high:.0f}, {len(seconds)} pairs)")
    print(f"  medians an image: decoding {first:.2f} ms, reading {second:.4f} ms ({size:.2f} MB a JPEG)")


if __name__ == "__main__":
    main()
