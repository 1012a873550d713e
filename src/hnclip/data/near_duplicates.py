"""Which images of one split are also in another: the same file, or nearly the same picture.

`python -m hnclip.data.near_duplicates A.parquet B.parquet OUT.parquet RECORD.json [--ids IDS.txt] [--distance BITS]`
compares two manifests. OUT has one row a pair: `a_id`, `b_id`, `same_file` (equal SHA-256), `distance` (bits of
`hnclip.data.perceptual`), `a_image`, `b_image`. RECORD counts them. IDS lists the images of A that have a partner, one
id a line: what the option `exclude` of the benchmark `vg_paragraphs` reads.
"""

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from hnclip.command import run
from hnclip.data.decoded import decoded
from hnclip.data.manifest import image_path, images, read_manifest
from hnclip.data.perceptual import BITS, NEAR, distances, perceptual_hash
from hnclip.store import write_json, write_rows, write_text

COLUMNS = ["a_id", "b_id", "same_file", "distance", "a_image", "b_image"]
_CHUNK = 512


def main(a: Path, b: Path, out: Path, record: Path, ids: Path | None = None, distance: int = NEAR) -> None:
    """Compare every image of manifest `a` with every one of `b`, and write what is near.

    Raises ValueError naming the images that cannot be read, or a distance that is no number of bits.
    """
    if not 0 <= distance <= BITS:
        raise ValueError(f"--distance is a number of bits from 0 to {BITS}, got {distance}")
    rows_a, rows_b = images(read_manifest(a)), images(read_manifest(b))
    hashes_a, hashes_b = _hashes(a, rows_a, out), _hashes(b, rows_b, out)
    pairs = near_pairs(rows_a, hashes_a, rows_b, hashes_b, distance)
    for column, manifest, target in (("a_image", a, rows_a), ("b_image", b, rows_b)):
        where = dict(zip(target["id"], target["image"], strict=True))
        pairs[column] = [
            os.path.abspath(image_path(manifest, where[name])) for name in pairs[column.replace("image", "id")]
        ]
    counted = _record(pairs, rows_a, rows_b)
    write_rows(out, pairs[COLUMNS])
    write_json(record, {"a": str(a), "b": str(b), "distance": distance, **counted})
    if ids is not None:
        write_text(ids, "".join(f"{name}\n" for name in dict.fromkeys(pairs["a_id"])))
    print(
        f"{counted['a_found']} of the {len(rows_a)} images of {a} are among the {len(rows_b)} of {b} "
        f"({counted['same_files']} pairs of equal files, {counted['near_pairs']} more within {distance} of {BITS} bits)"
    )


def near_pairs(
    rows_a: pandas.DataFrame,
    hashes_a: np.ndarray,
    rows_b: pandas.DataFrame,
    hashes_b: np.ndarray,
    distance: int,
) -> pandas.DataFrame:
    """Pairs of equal files, and those whose hashes differ in at most `distance` bits; nearest first for each of A."""
    found = []
    sha256_b = rows_b["sha256"].to_numpy(str)
    for start in range(0, len(rows_a), _CHUNK):
        bits_NM = distances(hashes_a[start : start + _CHUNK], hashes_b)
        same_NM = rows_a["sha256"].to_numpy(str)[start : start + _CHUNK, None] == sha256_b
        for one, other in np.argwhere(same_NM | (bits_NM <= distance)):
            pair = rows_a["id"].iloc[start + one], rows_b["id"].iloc[other]
            found.append((*pair, bool(same_NM[one, other]), int(bits_NM[one, other]), start + one))
    found.sort(key=lambda pair: (pair[4], not pair[2], pair[3]))
    columns = {"a_id": "str", "b_id": "str", "same_file": bool, "distance": "int64"}
    return pandas.DataFrame([pair[:4] for pair in found], columns=list(columns)).astype(columns)


def _hashes(manifest: Path, rows: pandas.DataFrame, out: Path) -> np.ndarray:
    """The perceptual hash of each image, uint64 [N]."""
    found = decoded(manifest, rows, "ignore", lambda image, number: perceptual_hash(image), out)
    return np.fromiter(found, dtype=np.uint64, count=len(rows))


def _record(pairs: pandas.DataFrame, rows_a: pandas.DataFrame, rows_b: pandas.DataFrame) -> dict[str, Any]:
    found = {"a_found": pairs["a_id"].nunique(), "b_found": pairs["b_id"].nunique()}
    same = int(pairs["same_file"].sum())
    return {
        "a_images": len(rows_a),
        "b_images": len(rows_b),
        **found,
        "share_of_a": found["a_found"] / len(rows_a),
        "share_of_b": found["b_found"] / len(rows_b),
        "same_files": same,
        "near_pairs": len(pairs) - same,
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m hnclip.data.near_duplicates", description=__doc__.splitlines()[0])
    parser.add_argument("a", type=Path, help="the manifest of the one split, such as a training split")
    parser.add_argument("b", type=Path, help="the manifest of the other, such as a test split")
    parser.add_argument("out", type=Path, help="the pairs to write, .parquet")
    parser.add_argument("record", type=Path, help="the counts to write, .json")
    parser.add_argument("--ids", type=Path, help="the list to write of the first split's images that have a partner")
    parser.add_argument("--distance", type=int, default=NEAR, help="how many of the 64 bits may differ (%(default)s)")
    return parser.parse_args()


if __name__ == "__main__":
    run(lambda: main(**vars(_arguments())))
