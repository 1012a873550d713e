"""Pictures of one shape become one .npy file, image after image; a job that was killed goes on where it was."""

import hashlib
import io
import json
import math
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import PIL

from hnclip.claim import claimed
from hnclip.data.bounded import grouped
from hnclip.store import read_json, sha256_of, write_json

IMAGES = 64  # after so many, their pictures are on disk for certain and need not be made again
Shape = tuple[int, int, int, int]


def stack_key(files: Iterable[Path], *records: Any) -> str:
    """What pictures follow from: the bytes of these files, these records, and the version of Pillow."""
    text = json.dumps([[sha256_of(path) for path in files], records, PIL.__version__], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def write_stack(out: Path, shape: Shape, key: str, make: Callable[[int], Iterable[list[np.ndarray]]]) -> None:
    """Write a pixel cache of this shape, uint8 [pictures, height, width, channels].

    make(start): the pictures of one image after another, from image number `start` on. After every IMAGES of them
    they are kept in a folder beside `out`; where that has some of the same key, they are not made again, and what has
    another key is removed. The folder is gone when `out` is there. The pictures of IMAGES images are in memory. Waits
    while another process writes the same cache.
    """
    with claimed(out):
        _write(Path(out), shape, key, make)


def _write(out: Path, shape: Shape, key: str, make: Callable[[int], Iterable[list[np.ndarray]]]) -> None:
    folder = unfinished(out)
    part, journal = folder / f"{key}.npy", folder / f"{key}.json"
    start = _begin(part, journal, shape)
    try:
        _fill(part, journal, shape, start, make)
        part.replace(out)
        journal.unlink(missing_ok=True)
    finally:
        if not journal.exists():
            shutil.rmtree(folder)


def unfinished(out: Path) -> Path:
    """The folder of what is made of this file already."""
    return out.with_name(f".{out.name}.unfinished")


def _begin(part: Path, journal: Path, shape: Shape) -> dict[str, int]:
    """How many images and pictures are there already; a file that can be gone on with is there afterwards."""
    part.parent.mkdir(parents=True, exist_ok=True)
    for path in part.parent.iterdir():
        if path not in (part, journal):
            path.unlink()
    try:
        start = read_json(journal)
        if part.stat().st_size >= _position(shape, start["pictures"]):
            return start
    except (OSError, ValueError):
        pass
    journal.unlink(missing_ok=True)
    part.write_bytes(_header(shape))
    return {"images": 0, "pictures": 0}


def _fill(part: Path, journal: Path, shape: Shape, start: dict[str, int], make: Callable) -> None:
    done, pictures = start["images"], start["pictures"]
    with part.open("r+b") as file:
        file.truncate(_position(shape, pictures))
        file.seek(0, os.SEEK_END)
        for group in grouped(make(done), IMAGES):
            for picture in (picture for of_image in group for picture in of_image):
                assert picture.dtype == np.uint8 and picture.shape == shape[1:], (picture.dtype, picture.shape, shape)
                file.write(picture.tobytes())
                pictures += 1
            file.flush()
            os.fsync(file.fileno())
            done += len(group)
            write_json(journal, {"images": done, "pictures": pictures})
    assert pictures == shape[0], (pictures, shape)


def _header(shape: Shape) -> bytes:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": shape})
    return header.getvalue()


def _position(shape: Shape, pictures: int) -> int:
    """Where in the file the picture of this number begins."""
    return len(_header(shape)) + pictures * math.prod(shape[1:])
