"""The images of a split, decoded once into a memory-mapped file. No torch.

`python -m hnclip.data.pixels MANIFEST TRANSFORM.json OUT.npy` writes it.
"""

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from hnclip.command import run
from hnclip.data.decoded import decoded
from hnclip.data.images import Transform, transform_image
from hnclip.data.manifest import images, read_manifest
from hnclip.options import from_dict
from hnclip.store import read_json, write_whole


def write_pixels(manifest_path: Path, transform: dict[str, Any], out: Path) -> None:
    """Decode every image of a manifest once, into uint8 [images, size, size, 3] in the manifest's order.

    Raises ValueError naming every image that is missing, unreadable or not the one the manifest was written for.
    """
    wanted = from_dict(Transform, transform, "transform")
    rows = images(read_manifest(manifest_path))
    pixels = decoded(manifest_path, rows, wanted.exif, lambda image, _: transform_image(image, wanted), out)
    write_stack(out, (len(rows), wanted.size, wanted.size, 3), pixels)


def write_stack(out: Path, shape: tuple[int, int, int, int], pictures: Iterable[np.ndarray]) -> None:
    """Write a pixel cache of this shape, picture after picture; only one of them is in memory at once."""

    def write(part: Path) -> None:
        count = 0
        with part.open("wb") as file:
            np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": shape})
            for picture in pictures:
                assert picture.dtype == np.uint8 and picture.shape == shape[1:], (picture.dtype, picture.shape, shape)
                file.write(picture.tobytes())
                count += 1
        assert count == shape[0], (count, shape)

    write_whole(out, write)


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
    given = parser.parse_args()
    write_pixels(given.manifest, read_json(given.transform), given.out)


if __name__ == "__main__":
    run(main)
