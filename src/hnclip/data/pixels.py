"""The images of a split, decoded once into a memory-mapped file. No torch.

`python -m hnclip.data.pixels MANIFEST TRANSFORM.json OUT.npy` writes it; killed, it goes on where it was.
"""

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from hnclip.command import run
from hnclip.data.decoded import decoded
from hnclip.data.images import Transform, transform_image
from hnclip.data.manifest import images, read_manifest
from hnclip.data.stack import stack_key, write_stack
from hnclip.options import from_dict
from hnclip.store import read_json


def write_pixels(manifest_path: Path, transform: dict[str, Any], out: Path, threads: int | None = None) -> None:
    """Decode every image of a manifest once, into uint8 [images, size, size, 3] in the manifest's order.

    Raises ValueError naming every image that is missing, unreadable or not the one the manifest was written for.
    """
    wanted = from_dict(Transform, transform, "transform")
    rows = images(read_manifest(manifest_path))

    def make(start: int) -> Iterator[list[np.ndarray]]:
        def one(image: Image.Image, number: int) -> list[np.ndarray]:
            return [transform_image(image, wanted)]

        return decoded(manifest_path, rows, wanted.exif, one, out, threads=threads, start=start)

    write_stack(out, (len(rows), wanted.size, wanted.size, 3), stack_key([manifest_path], asdict(wanted)), make)


def open_pixels(path: Path) -> np.ndarray:
    """The pixel cache, read from disk only where it is looked at; uint8 [images, size, size, 3 or 1].

    Raises FileNotFoundError, or ValueError for a file that is cut off or something else, naming it.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"no pixel cache at {path}: run `python -m hnclip.data.pixels` for this split")
    try:
        pixels = np.lib.format.open_memmap(path, mode="r")
    except (ValueError, EOFError, SyntaxError) as error:
        raise ValueError(f"{path} is damaged ({error}); delete it and run again") from error
    if pixels.dtype != np.uint8 or pixels.ndim != 4 or pixels.shape[3] not in (1, 3):
        raise ValueError(
            f"{path} is no pixel cache: {pixels.dtype} {pixels.shape} instead of uint8 [images, size, size, 3 or 1]"
        )
    return pixels


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m hnclip.data.pixels", description=__doc__.splitlines()[0])
    parser.add_argument("manifest", type=Path, help="the split's SPLIT.parquet")
    parser.add_argument("transform", type=Path, help='JSON: {"size", "interpolation", "resize", "exif"}')
    parser.add_argument("out", type=Path, help="the .npy file to write")
    parser.add_argument("--threads", type=int, help="images decoded at once (default: up to 8, as the CPU has cores)")
    given = parser.parse_args()
    write_pixels(given.manifest, read_json(given.transform), given.out, given.threads)


if __name__ == "__main__":
    run(main)
