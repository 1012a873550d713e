"""The images of a split, decoded once into a memory-mapped file. No torch.

`python -m hnclip.data.pixels MANIFEST TRANSFORM.json OUT.npy` writes it.
"""

import argparse
import hashlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from hnclip.command import run
from hnclip.data.images import Transform, decode, transform_image
from hnclip.data.manifest import image_path, images, read_manifest
from hnclip.options import from_dict
from hnclip.store import read_json, write_whole

_CHUNK = 256


def write_pixels(manifest_path: Path, transform: dict[str, Any], out: Path) -> None:
    """Decode every image of a manifest once, into uint8 [images, size, size, 3] in the manifest's order.

    Raises ValueError naming every image that is missing, unreadable or not the one the manifest was written for.
    """
    wanted = from_dict(Transform, transform, "transform")
    rows = images(read_manifest(manifest_path))
    work = [(image_path(manifest_path, row.image), row.sha256) for row in rows.itertuples()]
    faults: list[str] = []

    def write(part: Path) -> None:
        with part.open("wb") as file:
            header = {"descr": "|u1", "fortran_order": False, "shape": (len(work), wanted.size, wanted.size, 3)}
            np.lib.format.write_array_header_1_0(file, header)
            for pixels in _pixels(work, wanted, faults):
                file.write(pixels.tobytes())
        if faults:
            raise ValueError(
                f"{len(faults)} of the {len(work)} images of {manifest_path} cannot be used, and {out} was not "
                "written; repair or remove these files or their rows, then prepare the benchmark again:\n  "
                + "\n  ".join(faults)
            )

    write_whole(out, write)


def _pixels(work: list[tuple[Path, str]], transform: Transform, faults: list[str]) -> Iterator[np.ndarray]:
    """The pixels of one image after another; only a chunk of them is in memory at once."""

    def one(item: tuple[Path, str]) -> np.ndarray | str:
        path, sha256 = item
        try:
            data = path.read_bytes()
            if hashlib.sha256(data).hexdigest() != sha256:
                return f"{path}: changed since the manifest was written"
            return transform_image(decode(data, str(path), transform.exif), transform)
        except FileNotFoundError:
            return f"{path}: no such image file"
        except OSError as error:
            return f"{path}: cannot be opened ({error.strerror})"
        except ValueError as error:
            return str(error)

    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        for start in range(0, len(work), _CHUNK):
            for result in pool.map(one, work[start : start + _CHUNK]):
                if isinstance(result, str):
                    faults.append(result)
                elif not faults:
                    yield result


def open_pixels(path: Path) -> np.ndarray:
    """The pixel cache, read from disk only where it is looked at; uint8 [images, size, size, 3].

    Raises FileNotFoundError, or ValueError for a file that is cut off or something else, naming it.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"no pixel cache at {path}: run `python -m hnclip.data.pixels` for this split")
    try:
        pixels = np.lib.format.open_memmap(path, mode="r")
    except (ValueError, EOFError, SyntaxError) as error:
        raise ValueError(f"{path} is damaged ({error}); delete it and run again") from error
    if pixels.dtype != np.uint8 or pixels.ndim != 4 or pixels.shape[3] != 3:
        raise ValueError(
            f"{path} is no pixel cache: {pixels.dtype} {pixels.shape} instead of uint8 [images, size, size, 3]"
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
