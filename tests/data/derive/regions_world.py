"""A split of drawn scenes whose manifest has a box for each sentence, and the table of its regions."""

import hashlib
from pathlib import Path
from random import Random

import pandas
from PIL import Image
from world import BACKBONE, manifest_row

from hnclip.data.derive.segments import write
from hnclip.data.manifest import read_manifest, write_manifest
from hnclip.data.scene import box, draw, random_scene
from hnclip.data.scene_words import dense_sentences
from hnclip.store import write_json

PIXELS = 48


def make_scenes(folder: Path, pairs: int, captions: int = 1, objects: int = 3) -> Path:
    """The manifest of so many pictures, each with so many captions that name its objects in different words."""
    rows = []
    (folder / "images").mkdir(parents=True, exist_ok=True)
    for index in range(pairs):
        scene = random_scene(Random(index), objects)
        picture = folder / "images" / f"s {index}.png"
        Image.fromarray(draw(scene, PIXELS)).save(picture)
        sha256 = hashlib.sha256(picture.read_bytes()).hexdigest()
        for number in range(captions):
            sentences = dense_sentences(scene, f"{index}-{number}")
            boxes = [None] + [list(box(thing, PIXELS)) for thing in scene.things]
            more = {"sentences": sentences, "boxes": boxes, "sha256": sha256, "width": PIXELS, "height": PIXELS}
            image = f"images/{picture.name}"
            rows.append(manifest_row(f"s{index}", image, " ".join(sentences), "train", **more))
    write_manifest(folder / "train.parquet", rows)
    return folder / "train.parquet"


def change(manifest: Path, edit) -> None:
    """Write the manifest anew after `edit(rows)`, a list of dicts."""
    rows = read_manifest(manifest).to_dict("records")
    edit(rows)
    write_manifest(manifest, rows)


def entry(kind: str, **options) -> dict:
    return {"kind": kind, "backbone": BACKBONE, "options": options}


def segmented(manifest: Path, kind: str = "given", **options) -> Path:
    """Regions of the split, in `segments.parquet` beside the manifest."""
    out = manifest.parent / "segments.parquet"
    write(manifest, entry(kind, **options), out, out.with_suffix(".json"))
    return out


def replace_image(manifest: Path, name: str, image: Image.Image, **save) -> Path:
    """Another picture for an image of the manifest, whose checksum and size are brought up to date."""
    paths = []

    def edit(rows):
        for row in (row for row in rows if row["id"] == name):
            path = manifest.parent / row["image"]
            if not paths:
                image.save(path, **save)
            paths.append(path)
            row.update(sha256=hashlib.sha256(path.read_bytes()).hexdigest(), width=image.width, height=image.height)

    change(manifest, edit)
    return paths[0]


def turned() -> Image.Exif:
    """The EXIF of a camera held sideways."""
    exif = Image.Exif()
    exif[0x0112] = 6
    return exif


def scored(rows) -> pandas.DataFrame:
    """Rows of a table of regions without their scores, to compare."""
    return rows.drop(columns="score")


def transform_json(folder: Path, transform: dict) -> Path:
    write_json(folder / "transform.json", transform)
    return folder / "transform.json"
