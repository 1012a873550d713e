"""The best regions of every caption, cut from the edge map of their whole image.

`python -m hnclip.data.derive.edge_crops MANIFEST SEGMENTS EDGES.json TRANSFORM.json K OUT.npy RECORD.json` writes
the first K of each caption.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from hnclip.command import run
from hnclip.data.derive.edge_maps import detector
from hnclip.data.derive.edges import blank
from hnclip.data.derive.entries import EdgesEntry
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
    edges: dict[str, Any],
    transform: dict[str, Any],
    count: int,
    out: Path,
    record: Path,
    threads: int | None = None,
) -> None:
    """Write uint8 [rows, size, size, 1], one a row of `best(segments, count)`; blank crops are kept and counted."""
    if count < 1:
        raise ValueError(f"the number of regions a caption must be at least 1, got {count}")
    start = time.monotonic()
    entry = from_dict(EdgesEntry, edges, "edges")
    edge_map = detector(entry)
    wanted = from_dict(Transform, transform, "transform")
    manifest = read_manifest(manifest_path)
    regions = best(read_segments_of(segments, manifest), count)

    def make(first: int) -> Iterator[list[np.ndarray]]:
        return region_pixels(manifest_path, manifest, regions, wanted, edge_map, out, threads, first)

    key = stack_key([manifest_path, segments], asdict(entry), asdict(wanted), count)
    write_stack(out, (len(regions), wanted.size, wanted.size, 1), key, make)
    write_record(
        record,
        time.monotonic() - start,
        captions=len(manifest),
        crops=len(regions),
        captions_without_region=len(manifest) - regions["caption"].nunique(),
        outside_input=boxes_outside(manifest, regions, wanted),
        blank=blank(out),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m hnclip.data.derive.edge_crops", description=__doc__.splitlines()[0]
    )
    parser.add_argument("manifest", type=Path, help="the split's SPLIT.parquet")
    parser.add_argument("segments", type=Path, help="written by hnclip.data.derive.segments")
    parser.add_argument("edges", type=Path, help='JSON: {"kind": "canny", "low", "high"} or {"kind": "log", ...}')
    parser.add_argument("transform", type=Path, help='JSON: {"size", "interpolation", "resize", "exif"}')
    parser.add_argument("count", type=int, metavar="K", help="regions a caption")
    parser.add_argument("out", type=Path, help="the crops to write, .npy")
    parser.add_argument("record", type=Path, help="the seconds and counts to write, .json")
    parser.add_argument("--threads", type=int, help="images decoded at once (default: up to 8, as the CPU has cores)")
    given = parser.parse_args()
    options = read_json(given.edges), read_json(given.transform)
    write(given.manifest, given.segments, *options, given.count, given.out, given.record, given.threads)


if __name__ == "__main__":
    run(main)
