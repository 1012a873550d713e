"""The edge maps of a split's images, as the backbone sees them.

`python -m hnclip.data.derive.edges MANIFEST EDGES.json TRANSFORM.json OUT.npy RECORD.json` writes them.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from hnclip.command import run
from hnclip.data.decoded import decoded
from hnclip.data.derive.edge_maps import detector
from hnclip.data.derive.entries import EdgesEntry
from hnclip.data.derive.record import write_record
from hnclip.data.images import Transform, transform_image
from hnclip.data.manifest import images, read_manifest
from hnclip.data.pixels import open_pixels
from hnclip.data.stack import stack_key, write_stack
from hnclip.options import from_dict
from hnclip.store import read_json


def blank(path: Path) -> int:
    """How many pictures of a pixel cache have no edge at all; read from disk one after another."""
    return sum(not picture.any() for picture in open_pixels(path))


def write(
    manifest_path: Path,
    edges: dict[str, Any],
    transform: dict[str, Any],
    out: Path,
    record: Path,
    threads: int | None = None,
) -> None:
    """Write uint8 [images, size, size, 1] in the manifest's order; blank maps are kept and counted.

    Raises ValueError naming every image that cannot be used.
    """
    start = time.monotonic()
    entry = from_dict(EdgesEntry, edges, "edges")
    edge_map = detector(entry)
    wanted = from_dict(Transform, transform, "transform")
    rows = images(read_manifest(manifest_path))

    def make(first: int) -> Iterator[list[np.ndarray]]:
        def one(image: Image.Image, number: int) -> list[np.ndarray]:
            return [transform_image(edge_map(image), wanted)]

        return decoded(manifest_path, rows, wanted.exif, one, out, threads=threads, start=first)

    key = stack_key([manifest_path], asdict(entry), asdict(wanted))
    write_stack(out, (len(rows), wanted.size, wanted.size, 1), key, make)
    write_record(record, time.monotonic() - start, images=len(rows), blank=blank(out))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m hnclip.data.derive.edges", description=__doc__.splitlines()[0])
    parser.add_argument("manifest", type=Path, help="the split's SPLIT.parquet")
    parser.add_argument("edges", type=Path, help='JSON: {"kind": "canny", "low", "high"} or {"kind": "log", ...}')
    parser.add_argument("transform", type=Path, help='JSON: {"size", "interpolation", "resize", "exif"}')
    parser.add_argument("out", type=Path, help="the edge maps to write, .npy")
    parser.add_argument("record", type=Path, help="the seconds and counts to write, .json")
    parser.add_argument("--threads", type=int, help="images decoded at once (default: up to 8, as the CPU has cores)")
    given = parser.parse_args()
    options = read_json(given.edges), read_json(given.transform)
    write(given.manifest, *options, given.out, given.record, given.threads)


if __name__ == "__main__":
    run(main)
