"""The regions of a split's images, each with the sentence that it shows.

`python -m hnclip.data.derive.segments MANIFEST ENTRY.json OUT.parquet RECORD.json` writes them; with `--shard K N`
those of one shard of the images, which `hnclip.data.derive.join_segments` joins with the others.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from PIL import Image

from hnclip.command import run
from hnclip.data.bounded import grouped
from hnclip.data.decoded import decoded
from hnclip.data.derive.entries import SegmentsEntry
from hnclip.data.derive.exchange_reading import read_exchange
from hnclip.data.derive.matching import Embedder, match
from hnclip.data.derive.record import write_record
from hnclip.data.derive.region import Region, within
from hnclip.data.derive.segment_table import refuse_none, write_segments
from hnclip.data.derive.segmenters import segmenter
from hnclip.data.derive.sentence_places import places
from hnclip.data.images import Transform, transform_image
from hnclip.data.manifest import images, read_manifest
from hnclip.options import from_dict
from hnclip.store import read_json

IMAGES = 16  # whose crops are embedded together
Shard = tuple[int, int]  # its number, from 1, and how many there are


@dataclass(frozen=True)
class Proposed:
    """The regions of one image that are kept, their pixels, how many there were, and the image's captions."""

    regions: list[Region]
    crops: list[np.ndarray]
    proposed: int
    captions: list[int]


def write(manifest_path: Path, entry: dict[str, Any], out: Path, record: Path, shard: Shard | None = None) -> None:
    """Find, match and write the regions of a split, or of one shard of it.

    Raises ValueError naming every image and caption at fault.
    """
    start = time.monotonic()
    wanted = from_dict(SegmentsEntry, entry, "segments")
    frame = read_manifest(manifest_path)
    if wanted.kind == "json":
        if shard:
            raise ValueError("regions of kind 'json' are read, not found: they have no shards")
        rows, counts = read_exchange(Path(wanted.read_options().path), frame)
        counts = {"images": frame["id"].nunique(), "captions": len(frame), **counts}
    else:
        rows, counts = _match(manifest_path, frame, wanted, out, shard or (1, 1))
    if shard is None:
        refuse_none(out, len(rows), counts["images"])
    write_segments(out, rows)
    without = counts["captions"] - len({row["caption"] for row in rows})
    more = {"shard": list(shard)} if shard else {}
    write_record(record, time.monotonic() - start, **counts, rows=len(rows), captions_without_region=without, **more)


def dealt(count: int, shard: Shard) -> list[int]:
    """The images of a shard, of so many: every N-th group of those that are embedded together, whatever N is."""
    number, shards = shard
    if not 1 <= number <= shards:
        raise ValueError(f"a shard is K of N with K from 1 to N, got {number} of {shards}")
    return [image for image in range(count) if image // IMAGES % shards == number - 1]


def _match(
    manifest_path: Path, frame: pandas.DataFrame, entry: SegmentsEntry, out: Path, shard: Shard
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    place = _places(manifest_path, frame)
    first = images(frame)
    edges = [*first.index, len(frame)]
    mine = dealt(len(first), shard)
    captions = [list(range(*edges[number : number + 2])) for number in mine]
    found = _proposed(manifest_path, frame, first.iloc[mine], captions, entry, out)
    embed = Embedder(entry.backbone)
    rows, proposed, kept = [], 0, 0
    for group in grouped(found, IMAGES):
        proposed += sum(image.proposed for image in group)
        kept += sum(len(image.regions) for image in group)
        for caption, region, number, score in _match_group(group, embed, frame):
            start, end = place[caption][number]
            sides = dict(zip(("left", "top", "right", "bottom"), region.box, strict=True))
            row = {"id": frame["id"][caption], "caption": caption, **sides, "start": start, "end": end}
            rows.append({**row, "score": score})
    counts = {"images": len(mine), "captions": sum(map(len, captions))}
    return rows, {**counts, "regions_proposed": proposed, "regions_kept": kept}


def _proposed(
    manifest_path: Path,
    frame: pandas.DataFrame,
    rows: pandas.DataFrame,
    captions: list[list[int]],
    entry: SegmentsEntry,
    out: Path,
) -> Iterator[Proposed]:
    """The regions of one image of `rows` after another, found once an image, however many captions it has."""
    module, options = segmenter(entry.kind), entry.read_options()
    transform = from_dict(Transform, entry.backbone["transform"], "transform of the backbone")
    propose = module.proposer(options, frame)

    def one(image: Image.Image, number: int) -> Proposed:
        regions = propose(image, captions[number])
        kept = within(regions, options.area)
        crops = [transform_image(image.crop(region.box), transform) for region in kept]
        return Proposed(kept, crops, len(regions), captions[number])

    for _ in decoded(manifest_path, rows, transform.exif, lambda image, number: None, out, boxes=True):
        pass  # images that cannot be used are told before hours are spent on the others
    return decoded(manifest_path, rows, transform.exif, one, out, boxes=True, chunk=IMAGES, threads=module.THREADS)


def _match_group(
    group: list[Proposed], embed: Embedder, frame: pandas.DataFrame
) -> Iterator[tuple[int, Region, int, float]]:
    """Matches of a few images, whose crops and sentences are embedded together."""
    group = [image for image in group if image.regions]
    captions = [caption for image in group for caption in image.captions if len(frame["sentences"][caption])]
    if not captions:
        return
    crop_RD = embed.crops([crop for image in group for crop in image.crops])
    text_SD = embed.sentences([text for caption in captions for text in frame["sentences"][caption]])
    ends = np.cumsum([len(frame["sentences"][caption]) for caption in captions])
    by_caption = dict(zip(captions, np.split(text_SD, ends[:-1]), strict=True))
    start = 0
    for image in group:
        end = start + len(image.regions)
        mine = {caption: by_caption[caption] for caption in image.captions if caption in by_caption}
        yield from match(image.regions, crop_RD[start:end], mine)
        start = end


def _places(manifest_path: Path, frame: pandas.DataFrame) -> list[list[tuple[int, int]]]:
    found, faults = [], []
    for row, (name, caption, sentences) in enumerate(
        zip(frame["id"], frame["caption"], frame["sentences"], strict=True)
    ):
        try:
            found.append(places(caption, sentences))
        except ValueError as error:
            faults.append(f"row {row} ({name}): {error}")
    if faults:
        raise ValueError(
            f"{manifest_path} has sentences that are not those of their captions; prepare the benchmark again:\n  "
            + "\n  ".join(faults)
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m hnclip.data.derive.segments", description=__doc__.splitlines()[0])
    parser.add_argument("manifest", type=Path, help="the split's SPLIT.parquet")
    parser.add_argument("entry", type=Path, help='JSON: {"kind", "backbone": {...}, "options": {...}}')
    parser.add_argument("out", type=Path, help="the table of regions to write, .parquet")
    parser.add_argument("record", type=Path, help="the seconds and counts to write, .json")
    parser.add_argument("--shard", type=int, nargs=2, metavar=("K", "N"), help="only shard K of N, counted from 1")
    given = parser.parse_args()
    shard = tuple(given.shard) if given.shard else None
    write(given.manifest, read_json(given.entry), given.out, given.record, shard)


if __name__ == "__main__":
    run(main)
