"""Each of Debian's tuxpaint stamps by itself, on white, with the phrase that a person gave it; one picture a phrase."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from hnclip.data.composed import Composed, write_split
from hnclip.data.debian import find_package
from hnclip.data.stamps import PACKAGE, Stamp, check_shares, fitted, read_stamps, share_out, write_source
from hnclip.options import from_dict

PHRASES = 498  # distinct ones of PNG stamps in the package of 2022
FILLED = 0.9  # of the picture's side, by the longer side of a stamp


@dataclass(frozen=True)
class Options:
    """What is written.

    shares: percent of the phrases for each split; with the seed and shares of a benchmark of kind `stamps`, its splits
    have the same stamps. pixels: side of the pictures. deb, cache: as in `stamps`.
    """

    seed: int
    shares: dict[str, int]
    pixels: int = 224
    deb: str | None = None
    cache: str = "results/downloads"

    def __post_init__(self):
        check_shares(self.shares)
        if self.pixels < 32:
            raise ValueError(f"pixels must be at least 32, got {self.pixels}")


def splits(options: dict[str, Any]) -> list[str]:
    """The splits that `prepare` would write."""
    return list(from_dict(Options, options, "stamp").shares)


def expected(options: dict[str, Any]) -> dict[str, int]:
    """About how many pairs each split will have, before the package is read."""
    return {split: round(PHRASES * share / 100) for split, share in options["shares"].items()}


def prepare(options: dict[str, Any], folder: Path) -> None:
    """Write the pictures and manifests of all splits, and `source.json`: which package they were made from."""
    wanted = from_dict(Options, options, "stamp")
    deb = find_package(PACKAGE, wanted.deb, Path(wanted.cache))
    shared = share_out(read_stamps(deb, wanted.pixels), wanted.shares, wanted.seed)
    kept = {split: list({one.phrase.casefold(): one for one in own[::-1]}.values()) for split, own in shared.items()}
    for split, own in sorted(kept.items()):
        write_split(Path(folder), split, [_picture(stamp, split, at, wanted.pixels) for at, stamp in enumerate(own)])
    write_source(Path(folder), deb, kept)


def _picture(stamp: Stamp, split: str, number: int, side: int) -> Composed:
    """The stamp in the middle of a white square."""
    picture = fitted(stamp.picture, round(FILLED * side))
    square = Image.new("RGB", (side, side), "white")
    square.paste(picture, ((side - picture.width) // 2, (side - picture.height) // 2), picture)
    name = f"{split}-{number:04d}"
    return Composed(name, name, np.asarray(square), [stamp.phrase], [None])
