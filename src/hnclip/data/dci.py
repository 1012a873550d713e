"""Densely Captioned Images (Urbanek et al., CVPR 2024) as fetched: annotations, and photographs of a shard of SA-1B."""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Any

from hnclip.data.bounded import bounded
from hnclip.data.captions import half_character, visible
from hnclip.data.json_text import parse_once
from hnclip.data.problems import Problems
from hnclip.data.sources import fetched

ANNOTATIONS, PHOTOS = "dci.tar.gz", "sa_000138.tar"
WAY_OUT = (
    f"the photographs come from {PHOTOS} of SA-1B, behind its own licence: accept it at "
    "https://ai.meta.com/datasets/segment-anything-downloads/, download that one archive, and name it, or the folder "
    f"that it was unpacked to, in the config under sources.dci.files as {PHOTOS}"
)
_CHUNK = 256
_FIELDS = ("image", "short_caption", "extra_caption")


@dataclass(frozen=True)
class Annotated:
    """An image with its long caption; `id` is the stem of the image's file name, `path` where its photograph lies."""

    id: str
    path: Path
    caption: str


def read_dci(folder: Path, problems: Problems, warnings: Problems) -> tuple[list[Annotated], int]:
    """The images with a long caption by id, and how many have none; `folder` is the benchmark's.

    The long caption is `extra_caption`, without the short one. The captions of masks are not read: a mask has a box,
    but its caption is no sentence of the long one.
    """
    found = fetched(Path(folder), "dci")
    annotations = found[f"{ANNOTATIONS}/"] / "densely_captioned_images" / "annotations"
    paths = sorted(path for path in annotations.glob("*.json") if not _beside(path)) if annotations.is_dir() else []
    if not paths:
        raise FileNotFoundError(f"{annotations} has no annotations (*.json): fetch {ANNOTATIONS} again")
    photos = _Photos(found.get(f"{PHOTOS}/") or found[PHOTOS], problems)
    kept, empty = [], 0
    first: dict[str, str] = {}
    for path, entry in zip(paths, bounded(_read, paths, _CHUNK), strict=True):
        if isinstance(entry, str):
            problems.add(f"annotations that cannot be read (fetch {ANNOTATIONS} again)", f"{path}: {entry}")
            continue
        image, caption = entry
        name = PurePosixPath(image).stem
        if name in first:
            problems.add("ids that are there twice", f"{name!r}: {first[name]} and {path.name}")
            continue
        first[name] = path.name
        if visible(caption):
            kept.append(Annotated(name, photos.find(image), caption))
            continue
        empty += 1
        if caption:
            warnings.add("long captions of spaces alone, taken as empty", name)
    return sorted(kept, key=lambda entry: entry.id), empty


def goal_test_ids() -> list[str]:
    """The ids of the 1,999 images that GOAL and the studies after it test on."""
    lines = files("hnclip.data").joinpath("dci_test_images.txt").read_text(encoding="utf-8").split()
    return [PurePosixPath(line).stem for line in lines]


class _Photos:
    """Where the photographs lie: anywhere below the folder, since a shard is unpacked in more than one way."""

    def __init__(self, folder: Path, problems: Problems):
        self.folder = Path(folder)
        self._paths: dict[str, Path] = {}
        for path in sorted(self.folder.rglob("*")) if self.folder.is_dir() else []:
            if path.suffix.lower() not in (".jpg", ".jpeg", ".png") or _beside(path):
                continue
            before = self._paths.setdefault(path.name, path)
            if before != path:
                problems.add("photographs of one name (keep one)", f"{before} and {path}")

    def find(self, name: str) -> Path:
        """The photograph's path; where there is none, the path where it was looked for first."""
        return self._paths.get(name, self.folder / name)


def _beside(path: Path) -> bool:
    """Whether macOS put the file beside one of the same name, for what its disks know of it."""
    return path.name.startswith("._")


def _read(path: Path) -> tuple[str, str] | str:
    """Image and long caption of an annotation file, or what is wrong with it."""
    try:
        entry: Any = parse_once(path.read_bytes().decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        return f"no valid JSON ({error})"
    if not isinstance(entry, dict):
        return "no JSON object"
    lacking = [name for name in _FIELDS if name not in entry]
    if lacking:
        return f"lacks {', '.join(lacking)}"
    image, caption = entry["image"], entry["extra_caption"]
    caption = "" if caption is None else caption
    if not isinstance(image, str) or not isinstance(caption, str):
        return "image or extra_caption is no text"
    if half := half_character([image, caption]):
        return f"{half} is half a character"
    if PurePosixPath(image).name != image or "\\" in image or "\0" in image or not PurePosixPath(image).stem:
        return f"image {image!r} is no plain file name"
    return image, caption
