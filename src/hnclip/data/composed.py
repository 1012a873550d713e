"""Writes the pictures and the manifest of a split whose pictures are made, not found."""

import hashlib
import io
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from hnclip.data.manifest import write_manifest
from hnclip.data.problems import few_images
from hnclip.store import write_whole

Box = tuple[int, int, int, int]


@dataclass(frozen=True)
class Composed:
    """One picture with its caption: uint8 [height, width, 3], its sentences, and the box of what each tells."""

    name: str
    family: str
    pixels: np.ndarray
    sentences: list[str]
    boxes: list[Box | None]


def write_split(folder: Path, split: str, pictures: Iterable[Composed]) -> None:
    """Write `folder/images/SPLIT/*.png`, then `folder/SPLIT.parquet`; what an earlier run left there goes first."""
    manifest = folder / f"{split}.parquet"
    manifest.unlink(missing_ok=True)
    shutil.rmtree(folder / "images" / split, ignore_errors=True)
    rows = []
    for picture in pictures:
        image = f"images/{split}/{picture.name}.png"
        buffer = io.BytesIO()
        Image.fromarray(picture.pixels).save(buffer, format="PNG")
        data = buffer.getvalue()
        write_whole(folder / image, lambda part, data=data: part.write_bytes(data))
        height, width = picture.pixels.shape[:2]
        rows.append(
            {
                "id": picture.name,
                "image": image,
                "caption": " ".join(picture.sentences),
                "sentences": picture.sentences,
                "boxes": [None if box is None else [int(side) for side in box] for box in picture.boxes],
                "family": picture.family,
                "split": split,
                "width": width,
                "height": height,
                "sha256": hashlib.sha256(data).hexdigest(),
            }
        )
    write_manifest(manifest, rows)


def family_sizes(pairs: int, family: int) -> list[int]:
    """The sizes of the families that make so many pairs; the last may be smaller."""
    full, rest = divmod(pairs, family)
    return [family] * full + [rest] * (rest > 0)


def check_counts(pairs: dict[str, int], family: int) -> None:
    """Refuse a benchmark without splits, a split of fewer than 2 pictures, or a family of none."""
    if not pairs:
        raise ValueError("pairs names no split; expected such as {train: 1024, validation: 256, test: 512}")
    few = few_images(pairs)
    if few:
        raise ValueError(f"pairs must be at least 2 in every split: {'; '.join(few)}")
    if family < 1:
        raise ValueError(f"family must be at least 1, got {family}")


def check_range(name: str, low_high: tuple[int, int], least: int, most: int | None) -> None:
    """Refuse a [lowest, highest] that is upside down or out of bounds."""
    low, high = low_high
    if not least <= low <= high or (most is not None and high > most):
        bounds = f"{least} to {most}" if most is not None else f"at least {least}"
        raise ValueError(f"{name} must be [lowest, highest] within {bounds}, got [{low}, {high}]")
