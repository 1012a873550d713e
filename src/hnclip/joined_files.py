"""The files that a backbone of kind `joined` is made of: an image model's and a sentence encoder's. No torch."""

from pathlib import Path
from typing import Any

from hnclip.text_encoder import PACKAGE, encoder_files, package_folders

KINDS = ("*.safetensors", "*.pth", "*.pt")


def image_file(name: str) -> Path:
    """The weights that `image` names: a file, or the only one in an installed package, package:NAME.

    Raises ValueError where there is none.
    """
    if not name.startswith(PACKAGE):
        if not Path(name).is_file():
            raise ValueError(f"there is no file {name}")
        return Path(name)
    package = name.removeprefix(PACKAGE)
    found = [path for root in package_folders(package, "the file") for kind in KINDS for path in root.rglob(kind)]
    if len(found) != 1:
        raise ValueError(f"package {package!r} holds {len(found)} files of weights, not one; give the file")
    return found[0]


def joined_files(entry: dict[str, Any]) -> list[str]:
    """Every file that decides what the backbone of this entry returns. Raises ValueError where one lacks."""
    return [str(image_file(entry["image"])), *encoder_files(entry["text"])]
