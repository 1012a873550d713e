"""Archives of the layout in which data sets are published, with a few drawn pictures, made in a test's own folder."""

import io
import json
import tarfile
from pathlib import Path
from random import Random
from typing import Any

from PIL import Image

from hnclip.store import write_json


def picture(seed: int, size: tuple[int, int] = (12, 8), form: str = "JPEG") -> bytes:
    """The bytes of an image file; another seed makes another picture."""
    random = Random(seed)
    colours = bytes(random.randrange(256) for _ in range(4 * 4 * 3))
    buffer = io.BytesIO()
    Image.frombytes("RGB", (4, 4), colours).resize(size).save(buffer, format=form)
    return buffer.getvalue()


def write_tar(path: Path, members: dict[str, bytes]) -> Path:
    """A tar, packed as the name says, of these files; folders get entries of their own, as `tar` writes them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz" if path.name.endswith("gz") else "w") as tar:
        for folder in sorted({str(parent) for name in members for parent in Path(name).parents} - {".", "/"}):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return path


def docci_rows(**images: int) -> list[dict[str, Any]]:
    """Lines of docci_descriptions.jsonlines, so many images a split."""
    return [
        {
            "example_id": f"{split}_{number:05d}",
            "split": split,
            "image_file": f"{split}_{number:05d}.jpg",
            "description": f"A view of the {split} fountain {number}. Water is in front of it, at 4.5 metres. Day.",
        }
        for split, count in images.items()
        for number in range(count)
    ]


def write_docci(folder: Path, rows: list[dict[str, Any]], **replaced: bytes | None) -> dict[str, Path]:
    """Both files of DOCCI; `replaced`: other bytes of an image by example_id, None to leave it out."""
    images = {row["image_file"]: picture(number) for number, row in enumerate(rows)}
    images.update({f"{name}.jpg": data for name, data in replaced.items()})
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "docci_descriptions.jsonlines").write_text(lines, encoding="utf-8", newline="")
    members = {f"images/{name}": data for name, data in images.items() if data is not None}
    write_tar(folder / "docci_images.tar.gz", members)
    return {name: folder / name for name in ("docci_descriptions.jsonlines", "docci_images.tar.gz")}


def dci_entry(image: str, caption: str | None = None) -> dict[str, Any]:
    """The content of an annotation file of DCI."""
    bounds = {"topLeft": {"x": 1, "y": 1}, "bottomRight": {"x": 6, "y": 5}}
    mask = {"idx": 0, "outer_mask": "iVBORw0KGgo=", "area": 20, "bounds": bounds, "requirements": [], "parent": -1}
    return {
        "short_caption": f"A short caption of {image}.",
        "extra_caption": f"The long caption of {image}. A wall is behind it." if caption is None else caption,
        "image": image,
        "mask_data": {"0": {**mask, "label": "wall", "caption": "A wall of bricks.", "mask_quality": 0}},
        "mask_keys": ["0"],
    }


def write_dci(folder: Path, entries: list[dict[str, Any]], photos: list[str] | None = None) -> dict[str, Path]:
    """DCI's archive and a shard of SA-1B, with those photos (default: all)."""
    top = "densely_captioned_images"
    members = {f"{top}/splits.json": json.dumps({"train": [], "valid": [], "test": []}).encode()}
    for number, entry in enumerate(entries):
        data = json.dumps(entry).encode()
        extended = json.dumps({**entry, "summaries": {"base": ["a"]}, "negatives": {"base": {"basic": ["b"]}}}).encode()
        members[f"{top}/annotations/{number:05d}.json"] = data
        members[f"{top}/complete/{number:05d}.json"] = extended
    members[f"{top}/photos/.keep"] = b""
    shard = {}
    for name in photos if photos is not None else dict.fromkeys(str(entry["image"]) for entry in entries):
        shard[f"./{name}"] = picture(sum(name.encode()))
        shard[f"./{Path(name).stem}.json"] = b'{"image": {}, "annotations": []}'
    return {
        "dci.tar.gz": write_tar(folder / "dci.tar.gz", members),
        "sa_000138.tar": write_tar(folder / "sa_000138.tar", shard),
    }


def put_fetched(results: Path, source: str, files: dict[str, Path]) -> None:
    """What `hnclip.data.fetch` leaves in results/downloads/SOURCE, archives unpacked; a folder is named as it is."""
    downloads = results / "downloads" / source
    record = {}
    for name, path in files.items():
        unpacked = str(path) if path.is_dir() else None
        if path.is_file() and tarfile.is_tarfile(path):
            unpacked = f"unpacked-{name}"
            with tarfile.open(path) as tar:
                tar.extractall(downloads / unpacked, filter="data")
        record[name] = {"path": str(path), "unpacked": unpacked}
    write_json(downloads / "fetched.json", {"source": source, "files": record})
