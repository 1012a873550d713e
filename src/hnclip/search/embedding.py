"""Image files become embeddings: read and decoded on several threads, embedded in batches, each picture once."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hnclip.data.bounded import PIXELS, Room, bounded
from hnclip.data.images import count_pixels, decode, transform_image
from hnclip.search.unfinished import Unfinished
from hnclip.search.walk import Found

WAITING = 64  # decoded pictures that wait for the model


@dataclass(frozen=True)
class Read:
    """A file that was read: its hash, and its pixels where they are needed; or what is wrong with it."""

    file: Found
    sha256: str = ""
    pixels: np.ndarray | None = None
    fault: str = ""


def embed(
    files: Sequence[Found],
    encoder: Any,
    known: set[str],
    unfinished: Unfinished,
    tell: Callable[[int], None],
) -> tuple[list[tuple[Found, str]], list[str]]:
    """(each file that could be read with its sha256, what is wrong with the others).

    Vectors go to `unfinished`, except of pictures whose sha256 is `known`. What is finished is kept there however
    this ends. `tell` is called with the number of files done since.
    """
    done: list[tuple[Found, str]] = []
    faults: list[str] = []
    batch: list[Read] = []

    def flush() -> None:
        if batch:
            vectors = encoder.pixels([read.pixels for read in batch])
            for read, vector_D in zip(batch, vectors, strict=True):
                unfinished.add(read.file, read.sha256, vector_D)
            batch.clear()

    seen = set(known)
    try:
        for read in bounded(_reader(encoder.transform, known), files, WAITING):
            if read.fault:
                faults.append(read.fault)
            else:
                done.append((read.file, read.sha256))
                if read.sha256 not in seen:
                    seen.add(read.sha256)
                    batch.append(read)
            if len(batch) == encoder.batch:
                flush()
            tell(1)
        flush()
    finally:
        unfinished.write()
    return done, faults


def _reader(transform: Any, known: set[str]) -> Callable[[Found], Read]:
    room = Room(PIXELS)

    def read(file: Found) -> Read:
        try:
            data = Path(file.path).read_bytes()
            sha256 = hashlib.sha256(data).hexdigest()
            if sha256 in known:
                return Read(file, sha256)
            with room.taken(count_pixels(data)):
                return Read(file, sha256, transform_image(decode(data, file.path, transform.exif), transform))
        except OSError as error:
            return Read(file, fault=f"{file.path}: cannot be opened ({error.strerror})")
        except ValueError as error:
            return Read(file, fault=str(error))

    return read
