"""Regions with their sentences as the nested JSON that GOAL and StructXLIP exchange, and their crops as PNG files.

`python -m hnclip.data.derive.exchange MANIFEST SEGMENTS OUT_FOLDER [--edges EDGES.json]` writes
`OUT_FOLDER/segments.json` and `OUT_FOLDER/crops/*.png`. It holds one entry a caption that has regions:

    {original_filename, original_caption, segment: [{filename, caption, similarity_score, sentence_range,
      bbox_coordinates: {x1, y1, x2, y2, width, height}}]}

Files are named without folders. `similarity_score` is 100 times the cosine, best first; x1 to y2 are pixels of the
image, ends exclusive; `width` and `height` are the crop's and scale nothing. `sentence_range`, the characters of the
sentence in the caption, is ours. With --edges there are `original_filename_structure` and
`filename_structure_cropped`, as StructXLIP has them: edge maps in `OUT_FOLDER/edges` and crops of them in
`OUT_FOLDER/edge_crops`.
"""

import argparse
import io
from collections import Counter
from pathlib import Path
from typing import Any

import pandas
from PIL import Image

from hnclip.command import run
from hnclip.data.decoded import decoded
from hnclip.data.derive.edge_maps import detector
from hnclip.data.derive.entries import EdgesEntry
from hnclip.data.derive.exchange_reading import SIDES, base_name
from hnclip.data.derive.segment_table import BOX, read_segments_of
from hnclip.data.manifest import images, read_manifest
from hnclip.options import from_dict
from hnclip.store import read_json, write_json, write_whole


def write_exchange(manifest_path: Path, segments: Path, folder: Path, edges: dict[str, Any] | None = None) -> int:
    """Write the files and return how many captions have no region, which the format cannot hold.

    Raises ValueError where two images share a file name, by which the format tells images apart.
    """
    manifest = read_manifest(manifest_path)
    regions = read_segments_of(segments, manifest)
    rows = images(manifest)
    rows = rows[rows["id"].isin(regions["id"])]
    _check_names(rows)
    edge_map = detector(from_dict(EdgesEntry, edges, "edges")) if edges else None
    named = regions.assign(filename=_names(regions, manifest))
    (folder / "segments.json").unlink(missing_ok=True)
    boxes = {name: group.drop_duplicates("filename") for name, group in named.groupby("id", sort=False)}

    def save(image: Image.Image, number: int) -> None:
        row = rows.iloc[number]
        pictures = {"crops": image}
        if edge_map:
            pictures["edge_crops"] = edge_map(image)
            _save(pictures["edge_crops"], folder / "edges" / _edge_name(row["image"]))
        for kind, picture in pictures.items():
            for name, *box in boxes[row["id"]][["filename", *BOX]].itertuples(index=False):
                _save(picture.crop(box), folder / kind / name)

    for _ in decoded(manifest_path, rows, "ignore", save, folder / "segments.json"):
        pass
    entries = [_entry(manifest.loc[caption], group, edge_map) for caption, group in named.groupby("caption")]
    write_json(folder / "segments.json", entries)
    return len(manifest) - len(entries)


def _entry(row: pandas.Series, regions: pandas.DataFrame, edge_map: Any) -> dict[str, Any]:
    entry = {"original_filename": base_name(row["image"]), "original_caption": row["caption"]}
    if edge_map:
        entry["original_filename_structure"] = _edge_name(row["image"])
    return {**entry, "segment": [_segment(region, row["caption"], edge_map) for region in regions.to_dict("records")]}


def _segment(region: dict[str, Any], caption: str, edge_map: Any) -> dict[str, Any]:
    box = {key: region[side] for side, key in SIDES.items()}
    segment = {
        "filename": region["filename"],
        "caption": caption[region["start"] : region["end"]],
        "similarity_score": 100 * region["score"],
        "sentence_range": [region["start"], region["end"]],
        "bbox_coordinates": {**box, "width": box["x2"] - box["x1"], "height": box["y2"] - box["y1"]},
    }
    return {**segment, "filename_structure_cropped": region["filename"]} if edge_map else segment


def _names(regions: pandas.DataFrame, manifest: pandas.DataFrame) -> list[str]:
    """A file name for each region, `STEM_max_NUMBER.png` as GOAL has it; regions with the same box share one."""
    names: dict[tuple, str] = {}
    counts: Counter[str] = Counter()
    found = []
    for row, *box in regions[["caption", *BOX]].itertuples(index=False):
        stem = Path(base_name(manifest["image"].iloc[row])).stem
        key = (manifest["id"].iloc[row], *box)
        if key not in names:
            counts[stem.casefold()] += 1
            names[key] = f"{stem}_max_{counts[stem.casefold()]}.png"
        found.append(names[key])
    return found


def _edge_name(image: str) -> str:
    return f"{base_name(image)}.png"  # the whole name: two images may differ only in their suffix


def _check_names(rows: pandas.DataFrame) -> None:
    names = rows["image"].map(base_name)
    shared = rows["image"][names.str.casefold().duplicated(keep=False)]
    if len(shared):
        raise ValueError(
            f"the format tells images apart by their file names, which these share: {', '.join(sorted(shared))}; "
            "rename them and prepare the benchmark again"
        )


def _save(image: Image.Image, path: Path) -> None:
    buffer = io.BytesIO()
    image.save(buffer, format="PNG")
    write_whole(path, lambda part: part.write_bytes(buffer.getvalue()))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m hnclip.data.derive.exchange", description=__doc__.splitlines()[0])
    parser.add_argument("manifest", type=Path, help="the split's SPLIT.parquet")
    parser.add_argument("segments", type=Path, help="written by hnclip.data.derive.segments")
    parser.add_argument("folder", type=Path, help="the folder to write")
    parser.add_argument("--edges", type=Path, help="JSON: also write edge maps found in this way, and crops of them")
    given = parser.parse_args()
    missing = write_exchange(given.manifest, given.segments, given.folder, given.edges and read_json(given.edges))
    if missing:
        print(f"captions without a region, left out: {missing}")


if __name__ == "__main__":
    run(main)
