"""The images of a manifest, decoded one after another with bounded memory; those that cannot be used are all named."""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pandas
from PIL import Image

from hnclip.data.bounded import PIXELS, Room, bounded
from hnclip.data.images import camera_rotation, decode
from hnclip.data.manifest import image_path

CHUNK = 256
Result = TypeVar("Result")


def decoded(
    manifest_path: Path,
    rows: pandas.DataFrame,
    exif: str,
    function: Callable[[Image.Image, int], Result],
    out: Path,
    boxes: bool = False,
    chunk: int = CHUNK,
    threads: int | None = None,
    start: int = 0,
) -> Iterator[Result]:
    """`function(image, number)` for the image of each row of a manifest, in order; `number` counts them from 0.

    The images before number `start` are left out. `function` runs on several threads. With `boxes`, regions of the
    stored image are used, and an image that `exif` would turn is refused. Raises ValueError at the end, naming every
    image that is missing, unreadable, turned or not the one that the manifest was written for, and `out`, the file
    that is not written then.
    """

    room = Room(PIXELS)
    sizes = (rows["width"] * rows["height"]).tolist()

    def one(item: tuple[int, Path, str]) -> tuple[Result | None, str]:
        with room.taken(sizes[item[0]]):
            return opened(*item)

    def opened(number: int, path: Path, sha256: str) -> tuple[Result | None, str]:
        try:
            image = _checked(path, sha256, exif, boxes)
        except FileNotFoundError:
            return None, f"{path}: no such image file"
        except OSError as error:
            return None, f"{path}: cannot be opened ({error.strerror})"
        except ValueError as error:
            return None, str(error)
        return None if faults else function(image, number), ""

    work = [
        (number, image_path(manifest_path, image), sha256)
        for number, (image, sha256) in enumerate(zip(rows["image"], rows["sha256"], strict=True))
    ]
    faults: list[str] = []
    for result, fault in bounded(one, work[start:], chunk, threads):
        if fault:
            faults.append(fault)
        elif not faults:
            yield result
    if faults:
        raise ValueError(
            f"{len(faults)} of the {len(work)} images of {manifest_path} cannot be used, and {out} was not "
            "written; repair or remove these files or their rows, then prepare the benchmark again:\n  "
            + "\n  ".join(faults)
        )


def _checked(path: Path, sha256: str, exif: str, boxes: bool) -> Image.Image:
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != sha256:
        raise ValueError(f"{path}: changed since the manifest was written")
    image = decode(data, str(path), exif)
    rotation = camera_rotation(data) if boxes and exif == "apply" else 1
    if rotation != 1:
        raise ValueError(
            f"{path}: EXIF rotation {rotation} would turn it, but regions are in pixels of the image as stored; "
            "turn the pixels of the file, or set `exif: ignore` in the backbone's transform"
        )
    return image
