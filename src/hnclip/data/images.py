"""Image files become pixels: decoded, resized and cropped once, kept in a memory-mapped cache."""

import hashlib
import io
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from PIL import Image, ImageOps

from hnclip.data.manifest import image_path, images, read_manifest
from hnclip.options import from_dict
from hnclip.store import write_whole

FILTERS = {"bicubic": Image.Resampling.BICUBIC, "bilinear": Image.Resampling.BILINEAR}
_CHUNK = 256


@dataclass(frozen=True)
class Transform:
    """How an image becomes `size` x `size` pixels.

    resize: `shortest` brings the short side to `size` and crops the centre, `squash` brings both sides to it.
    exif: `ignore` keeps the pixels as stored (as the compared methods do), `apply` turns them as a camera asked.
    """

    size: int
    interpolation: Literal["bicubic", "bilinear"] = "bicubic"
    resize: Literal["shortest", "squash"] = "shortest"
    exif: Literal["ignore", "apply"] = "ignore"

    def __post_init__(self):
        if self.size < 1:
            raise ValueError(f"size must be at least 1 pixel, got {self.size}")


def read_image(path: Path, exif: str) -> Image.Image:
    """The image as RGB. Raises ValueError, or FileNotFoundError, naming the file."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: no such image file")
    return decode(Path(path).read_bytes(), str(path), exif)


def decode(data: bytes, name: str, exif: str) -> Image.Image:
    """The bytes of an image file as RGB; `name` says in a message which file it is.

    RGB and grey images are what open_clip's preprocessing makes of them. Others are converted before the resize,
    since Pillow would resize a palette by the nearest index: transparency goes onto white (open_clip would uncover
    hidden colours), 16-bit grey is scaled to 8, the rest is Pillow's own conversion.
    """
    if exif not in ("ignore", "apply"):
        raise ValueError(f"exif must be 'ignore' or 'apply', got {exif!r}")
    if not data:
        raise ValueError(f"{name}: the file is empty")
    try:
        with Image.open(io.BytesIO(data)) as image:
            image.load()
            if exif == "apply":
                image = ImageOps.exif_transpose(image)
            return _rgb(image)
    except Exception as error:  # Pillow's decoders raise many kinds; each means an unreadable file
        reason = "not a known image format" if isinstance(error, Image.UnidentifiedImageError) else error
        raise ValueError(f"{name}: cannot be read as an image ({reason})") from error


def _rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format == "PNG"):
        grey = np.asarray(image).astype(np.float64) / 257
        return Image.fromarray(grey.round().clip(0, 255).astype(np.uint8)).convert("RGB")
    if image.mode in ("I", "F"):
        raise ValueError("32-bit grey has no known range; convert the file to 8 or 16 bits")
    if image.has_transparency_data:
        image = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image).convert("RGB")
    return image.convert("RGB")


def transform_image(image: Image.Image, transform: dict[str, Any]) -> np.ndarray:
    """Resize and crop an RGB image as torchvision's Resize and CenterCrop do, uint8 [size, size, 3]."""
    return _transform(image, from_dict(Transform, transform, "transform"))


def _transform(image: Image.Image, transform: Transform) -> np.ndarray:
    size, resample = transform.size, FILTERS[transform.interpolation]
    if transform.resize == "squash":
        return np.asarray(image.resize((size, size), resample))
    width, height = image.size
    short = min(width, height)
    width, height = (size if side == short else int(size * side / short) for side in (width, height))
    left, top = (int(round((side - size) / 2)) for side in (width, height))
    return np.asarray(image.resize((width, height), resample).crop((left, top, left + size, top + size)))


def write_pixels(manifest_path: Path, transform: dict[str, Any], out: Path) -> None:
    """Decode every image of a manifest once, into uint8 [images, size, size, 3] in the manifest's order.

    Raises ValueError naming every image that is missing, unreadable or not the one the manifest was written for.
    """
    wanted = from_dict(Transform, transform, "transform")
    rows = images(read_manifest(manifest_path))
    work = [(image_path(manifest_path, row.image), row.sha256) for row in rows.itertuples()]
    faults: list[str] = []

    def write(part: Path) -> None:
        with part.open("wb") as file:
            header = {"descr": "|u1", "fortran_order": False, "shape": (len(work), wanted.size, wanted.size, 3)}
            np.lib.format.write_array_header_1_0(file, header)
            for pixels in _pixels(work, wanted, faults):
                file.write(pixels.tobytes())
        if faults:
            raise ValueError(
                f"{len(faults)} of the {len(work)} images of {manifest_path} cannot be used, and {out} was not "
                "written; repair or remove these files or their rows, then prepare the benchmark again:\n  "
                + "\n  ".join(faults)
            )

    write_whole(out, write)


def _pixels(work: list[tuple[Path, str]], transform: Transform, faults: list[str]) -> Iterator[np.ndarray]:
    """The pixels of one image after another; only a chunk of them is in memory at once."""

    def one(item: tuple[Path, str]) -> np.ndarray | str:
        path, sha256 = item
        try:
            data = path.read_bytes()
            if hashlib.sha256(data).hexdigest() != sha256:
                return f"{path}: changed since the manifest was written"
            return _transform(decode(data, str(path), transform.exif), transform)
        except FileNotFoundError:
            return f"{path}: no such image file"
        except OSError as error:
            return f"{path}: cannot be opened ({error.strerror})"
        except ValueError as error:
            return str(error)

    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        for start in range(0, len(work), _CHUNK):
            for result in pool.map(one, work[start : start + _CHUNK]):
                if isinstance(result, str):
                    faults.append(result)
                elif not faults:
                    yield result


def open_pixels(path: Path) -> np.ndarray:
    """The pixel cache, read from disk only where it is looked at; uint8 [images, size, size, 3]."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"no pixel cache at {path}: run `python -m hnclip.data.cache` for this split")
    pixels = np.load(path, mmap_mode="r", allow_pickle=False)
    if pixels.dtype != np.uint8 or pixels.ndim != 4 or pixels.shape[3] != 3:
        raise ValueError(
            f"{path} is no pixel cache: {pixels.dtype} {pixels.shape} instead of uint8 [images, size, size, 3]"
        )
    return pixels
