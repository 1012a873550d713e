"""An image file becomes pixels: decoded, resized and cropped."""

import io
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import ExifTags, Image, ImageOps

# What is opened, whatever a file is called: pictures that Pillow decodes itself. It would hand an EPS to Ghostscript.
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "PPM", "JPEG2000", "AVIF")
FILTERS = {"bicubic": Image.Resampling.BICUBIC, "bilinear": Image.Resampling.BILINEAR}


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
        with _opened(data) as image:
            image.load()
            if exif == "apply":
                image = ImageOps.exif_transpose(image)
            return _rgb(image)
    except Image.DecompressionBombError as error:
        raise ValueError(
            f"{name}: more than {2 * Image.MAX_IMAGE_PIXELS:,} pixels, Pillow's limit against files made to fill the "
            f"memory ({error}); if you trust the file, scale it down"
        ) from error
    except Exception as error:  # Pillow's decoders raise many kinds; each means an unreadable file
        reason = f"not a known image format; known: {', '.join(_formats())}"
        reason = reason if isinstance(error, Image.UnidentifiedImageError) else error
        raise ValueError(f"{name}: cannot be read as an image ({reason})") from error


def count_pixels(data: bytes) -> int:
    """How many pixels the bytes of an image file say that it has; 0 where they say nothing that can be read."""
    try:
        with _opened(data) as image:
            return image.width * image.height
    except Exception:  # `decode` tells what is wrong with the file
        return 0


def _opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data), formats=_formats())


@lru_cache
def _formats() -> tuple[str, ...]:
    """Those of FORMATS that this Pillow was built with; it knows no other names."""
    Image.init()
    return tuple(name for name in FORMATS if name in Image.OPEN)


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


def camera_rotation(data: bytes) -> int:
    """The EXIF orientation in the bytes of an image file; 1, upright, where there is none that means anything."""
    with _opened(data) as image:
        found = image.getexif().get(ExifTags.Base.Orientation, 1)
    return found if found in range(1, 9) else 1


def resized(width: int, height: int, transform: Transform) -> tuple[int, int, int, int]:
    """Width and height that an image is brought to, and left and top of the square cropped from it then."""
    size = transform.size
    if transform.resize == "squash":
        return size, size, 0, 0
    short = min(width, height)
    width, height = (size if side == short else int(size * side / short) for side in (width, height))
    left, top = (int(round((side - size) / 2)) for side in (width, height))
    return width, height, left, top


def transform_image(image: Image.Image, transform: Transform) -> np.ndarray:
    """Resize and crop an RGB or grey image as torchvision's Resize and CenterCrop do, uint8 [size, size, 3 or 1]."""
    width, height, left, top = resized(*image.size, transform)
    picture = image.resize((width, height), FILTERS[transform.interpolation])
    pixels = np.asarray(picture.crop((left, top, left + transform.size, top + transform.size)))
    return pixels if pixels.ndim == 3 else pixels[..., None]
