"""Installed Python packages that hold models, as the workflow sees them: by their bytes, wherever they lie. No torch.

An environment that is made again gives the same package other times and perhaps another folder.
"""

import json
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from hnclip.store import sha256_of
from hnclip.text_encoder import PACKAGE, package_folders

CODE = (".py", ".pyc")


def record_path(package: str) -> str:
    return f"results/packages/{package}.json"


def packages(entry: dict[str, Any]) -> list[str]:
    """The packages that an entry of the config names, as package:NAME."""
    named = [value for value in entry.values() if isinstance(value, str) and value.startswith(PACKAGE)]
    return list(dict.fromkeys(value.removeprefix(PACKAGE) for value in named))


def lasting(entry: dict[str, Any], files: list[str]) -> list[str]:
    """`files` with, in the place of those within packages that the entry names, the record of each package.

    Raises ValueError where a package is not installed.
    """
    folders = {folder: name for name in packages(entry) for folder in package_folders(name, "a folder")}
    found = []
    for path in files:
        within = [name for folder, name in folders.items() if Path(path).is_relative_to(folder)]
        found.append(record_path(within[0]) if within else path)
    return list(dict.fromkeys(found))


@cache  # in one reading of the workflow it is asked for by everything that reads a package's model
def package_hash(package: str) -> str:
    """The SHA-256 of what a package holds beside its code: the places of its files in it, and their bytes."""
    found = {
        str(path.relative_to(folder)): sha256_of(path)
        for folder in package_folders(package, "a folder")
        for path in folder.rglob("*")
        if path.is_file() and path.suffix not in CODE
    }
    return sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()
