"""Which images of one split are also in another: the same file, or nearly the same picture.

`python -m hnclip.data.near_duplicates A.parquet B.parquet OUT.parquet RECORD.json [--ids IDS.txt] [--distance BITS]`
compares two manifests. OUT has one row a pair: `a_id`, `b_id`, `same_file` (equal SHA-256), `distance` (bits of
`hnclip.data.perceptual`), `a_image`, `b_image`. Pictures of one colour, or little more, all look alike: they are paired
with equal files alone. RECORD counts all. IDS lists the images of A that have a partner, one
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
from hnclip.data.perceptual import BITS, BLANK, NEAR, distances, perceptual_hash
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
        places = (os.path.abspath(image_path(manifest, image)) for image in target["image"])
        where = dict(zip(target["id"], places, strict=True))
        pairs[column] = [where[name] for name in pairs[column.replace("image", "id")]]
    blank = {"a_blank": int((hashes_a == BLANK).sum()), "b_blank": int((hashes_b == BLANK).sum())}
    counted = _record(pairs, rows_a, rows_b) | blank
    write_rows(out, pairs[COLUMNS])
    write_json(record, {"a": str(a), "b": str(b), "distance": distance, **counted})
    if ids is not None:
        write_text(ids, "".join(f"{name}\n" for name in dict.fromkeys(pairs["a_id"])))
    print(
        f"{counted['a_found']} of the {len(rows_a)} images of {a} are among the {len(rows_b)} of {b} "
        f"({counted['same_files']} pairs of equal files, {counted['near_pairs']} more within {distance} of {BITS} bits)"
    )
    if any(blank.values()):
        print(f"{blank['a_blank']} and {blank['b_blank']} of them are of one colour or little more: compared as files")


def near_pairs(
    rows_a: pandas.DataFrame,
    hashes_a: np.ndarray,
    rows_b: pandas.DataFrame,
    hashes_b: np.ndarray,
    distance: int,
) -> pandas.DataFrame:
    """Pairs of equal files, and those whose hashes differ in at most `distance` bits; nearest first for each of A.

    A picture of one colour, or little more, is near to none: its hash says nothing of it.
    """
    files = pandas.factorize(pandas.concat([rows_a["sha256"], rows_b["sha256"]]))[0]
    files_a, files_b = files[: len(rows_a)], files[len(rows_a) :]
    seen_b = hashes_b != BLANK
    found = []
    for start in range(0, len(rows_a), _CHUNK):
        part = slice(start, start + _CHUNK)
        bits_NM = distances(hashes_a[part], hashes_b)
        same_NM = files_a[part, None] == files_b
        near_NM = (bits_NM <= distance) & (hashes_a[part, None] != BLANK) & seen_b
        one, other = np.nonzero(same_NM | near_NM)
        found.append((start + one, other, same_NM[one, other], bits_NM[one, other]))
    if not found:
        found.append((np.array([], int), np.array([], int), np.array([], bool), np.array([], int)))
    one, other, same, bits = (np.concatenate(columns) for columns in zip(*found, strict=True))
    order = np.lexsort((other, bits, ~same, one))
    pairs = {
        "a_id": rows_a["id"].to_numpy()[one[order]],
        "b_id": rows_b["id"].to_numpy()[other[order]],
        "same_file": same[order],
        "distance": bits[order],
    }
    return pandas.DataFrame(pairs).astype({"a_id": "str", "b_id": "str", "same_file": bool, "distance": "int64"})


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
