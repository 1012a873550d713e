"""The best region of every caption, cut from its image and brought to the backbone's input.

`python -m hnclip.data.derive.crops MANIFEST SEGMENTS TRANSFORM.json OUT.npy RECORD.json` writes them.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from hnclip.command import run
from hnclip.data.derive.record import write_record
from hnclip.data.derive.regions import boxes_outside, region_pixels
from hnclip.data.derive.segment_table import best, read_segments_of
from hnclip.data.images import Transform
from hnclip.data.manifest import read_manifest
from hnclip.data.stack import stack_key, write_stack
from hnclip.options import from_dict
from hnclip.store import read_json


def write(
    manifest_path: Path,
    segments: Path,
    transform: dict[str, Any],
    out: Path,
    record: Path,
    threads: int | None = None,
) -> None:
    """Write uint8 [rows, size, size, 3], one a row of `best(segments, 1)`.

    The record counts captions without a region, and regions of which the whole image's input shows nothing.
    """
    start = time.monotonic()
    wanted = from_dict(Transform, transform, "transform")
    manifest = read_manifest(manifest_path)
    regions = best(read_segments_of(segments, manifest), 1)

    def make(first: int) -> Iterator[list[np.ndarray]]:
        return region_pixels(manifest_path, manifest, regions, wanted, lambda image: image, out, threads, first)

    key = stack_key([manifest_path, segments], asdict(wanted))
    write_stack(out, (len(regions), wanted.size, wanted.size, 3), key, make)
    write_record(
        record,
        time.monotonic() - start,
        captions=len(manifest),
        crops=len(regions),
        captions_without_region=len(manifest) - len(regions),
        outside_input=boxes_outside(manifest, regions, wanted),
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m hnclip.data.derive.crops", description=__doc__.splitlines()[0])
    parser.add_argument("manifest", type=Path, help="the split's SPLIT.parquet")
    parser.add_argument("segments", type=Path, help="written by hnclip.data.derive.segments")
    parser.add_argument("transform", type=Path, help='JSON: {"size", "interpolation", "resize", "exif"}')
    parser.add_argument("out", type=Path, help="the crops to write, .npy")
    parser.add_argument("record", type=Path, help="the seconds and counts to write, .json")
    parser.add_argument("--threads", type=int, help="images decoded at once (default: up to 8, as the CPU has cores)")
    given = parser.parse_args()
    write(given.manifest, given.segments, read_json(given.transform), given.out, given.record, given.threads)


if __name__ == "__main__":
    run(main)
