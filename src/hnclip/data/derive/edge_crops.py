"""The best regions of every caption, cut from the edge map of their whole image.

`python -m hnclip.data.derive.edge_crops MANIFEST SEGMENTS EDGES.json TRANSFORM.json K OUT.npy RECORD.json` writes
the first K of each caption.
"""

import argparse
import time
from pathlib import Path
from typing import Any

from hnclip.command import run
from hnclip.data.derive.edge_maps import detector
from hnclip.data.derive.edges import Blank
from hnclip.data.derive.entries import EdgesEntry
from hnclip.data.derive.record import write_record
from hnclip.data.derive.regions import boxes_outside, region_pixels
from hnclip.data.derive.segment_table import best, read_segments_of
from hnclip.data.images import Transform
from hnclip.data.manifest import read_manifest
from hnclip.data.pixels import write_stack
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
) -> None:
    """Write uint8 [rows, size, size, 1], one a row of `best(segments, count)`; blank crops are kept and counted."""
    if count < 1:
        raise ValueError(f"the number of regions a caption must be at least 1, got {count}")
    start = time.monotonic()
    edge_map = detector(from_dict(EdgesEntry, edges, "edges"))
    wanted = from_dict(Transform, transform, "transform")
    manifest = read_manifest(manifest_path)
    regions = best(read_segments_of(segments, manifest), count)
    blank = Blank()
    crops = region_pixels(manifest_path, manifest, regions, wanted, edge_map, out)
    write_stack(out, (len(regions), wanted.size, wanted.size, 1), blank.watch(crops))
    write_record(
        record,
        time.monotonic() - start,
        captions=len(manifest),
        crops=len(regions),
        captions_without_region=len(manifest) - regions["caption"].nunique(),
        outside_input=boxes_outside(manifest, regions, wanted),
        blank=blank.count,
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
    given = parser.parse_args()
    options = read_json(given.edges), read_json(given.transform)
    write(given.manifest, given.segments, *options, given.count, given.out, given.record)


if __name__ == "__main__":
    run(main)
