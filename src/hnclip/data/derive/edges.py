"""The edge maps of a split's images, as the backbone sees them.

`python -m hnclip.data.derive.edges MANIFEST EDGES.json TRANSFORM.json OUT.npy RECORD.json` writes them.
"""

import argparse
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hnclip.command import run
from hnclip.data.decoded import decoded
from hnclip.data.derive.edge_maps import detector
from hnclip.data.derive.entries import EdgesEntry
from hnclip.data.derive.record import write_record
from hnclip.data.images import Transform, transform_image
from hnclip.data.manifest import images, read_manifest
from hnclip.data.pixels import write_stack
from hnclip.options import from_dict
from hnclip.store import read_json


class Blank:
    """Counts the pictures of a stream that have no edge at all."""

    def __init__(self):
        self.count = 0

    def watch(self, pictures: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        for picture in pictures:
            self.count += not picture.any()
            yield picture


def write(manifest_path: Path, edges: dict[str, Any], transform: dict[str, Any], out: Path, record: Path) -> None:
    """Write uint8 [images, size, size, 1] in the manifest's order; blank maps are kept and counted.

    Raises ValueError naming every image that cannot be used.
    """
    start = time.monotonic()
    edge_map = detector(from_dict(EdgesEntry, edges, "edges"))
    wanted = from_dict(Transform, transform, "transform")
    rows = images(read_manifest(manifest_path))
    blank = Blank()
    maps = decoded(manifest_path, rows, wanted.exif, lambda image, _: transform_image(edge_map(image), wanted), out)
    write_stack(out, (len(rows), wanted.size, wanted.size, 1), blank.watch(maps))
    write_record(record, time.monotonic() - start, images=len(rows), blank=blank.count)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m hnclip.data.derive.edges", description=__doc__.splitlines()[0])
    parser.add_argument("manifest", type=Path, help="the split's SPLIT.parquet")
    parser.add_argument("edges", type=Path, help='JSON: {"kind": "canny", "low", "high"} or {"kind": "log", ...}')
    parser.add_argument("transform", type=Path, help='JSON: {"size", "interpolation", "resize", "exif"}')
    parser.add_argument("out", type=Path, help="the edge maps to write, .npy")
    parser.add_argument("record", type=Path, help="the seconds and counts to write, .json")
    given = parser.parse_args()
    write(given.manifest, read_json(given.edges), read_json(given.transform), given.out, given.record)


if __name__ == "__main__":
    run(main)
