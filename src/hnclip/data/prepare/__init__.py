"""One module a kind of benchmark; the module's name is the kind.

Each has `splits(options) -> list[str]`, the splits it would write, and `prepare(options, folder)`, which writes
`folder/SPLIT.parquet` for each of them. `BOXES = True` says that its manifests have boxes of sentences; `SOURCES`
names the published data sets that it is made from, `PICTURES_OF` one that its pictures were once taken from.
`PUBLISHED` has the images of each split by protocol; where there are several, the option `protocol` chooses.
`expected(options)` tells them in its place; `count(options)` counts the pairs of each split in a person's own files.
"""

import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from hnclip.data.manifest import images, read_manifest
from hnclip.data.problems import FEW_IMAGES, few_images
from hnclip.options import nearest, unknown


def kinds() -> list[str]:
    """The known kinds of benchmark."""
    return sorted(module.name for module in iter_modules(__path__) if not module.name.startswith("_"))


def sources(kind: str) -> tuple[str, ...]:
    """The published data sets (hnclip.data.sources) that a kind is made from."""
    return getattr(import_module(f"{__name__}.{kind}"), "SOURCES", ())


def prepare(config: dict[str, Any], folder: Path) -> None:
    """Write every split of a benchmark `{"name", "kind", "options", "splits"}` into the folder.

    Raises ValueError for an unknown kind, wrong options, splits that the benchmark would not have, and splits with
    fewer than 2 images.
    """
    kind, options = config.get("kind"), config.get("options") or {}
    name = config.get("name", kind)
    if kind not in kinds():
        raise ValueError(f"benchmark {name!r}: {unknown('kind', str(kind), kinds())}")
    module = import_module(f"{__name__}.{kind}")
    found = module.splits(options)
    check_split_names(found, name)
    absent = [split for split in config.get("splits", []) if split not in found]
    if absent:
        listed = ", ".join(f"{split!r}{nearest(split, found)}" for split in absent)
        raise ValueError(f"benchmark {name!r} has no split {listed}; its splits: {', '.join(found)}")
    spare = [split for split in found if split not in config.get("splits", found)]
    if spare:
        print(f"warning: splits that the study does not use: {', '.join(spare)}")
    module.prepare(options, Path(folder))
    counts = {split: len(images(read_manifest(Path(folder) / f"{split}.parquet"))) for split in found}
    few = few_images(counts)
    if few:
        raise ValueError(f"benchmark {name!r}: {FEW_IMAGES}: {'; '.join(few)}")


def check_split_names(names: list[str], benchmark: str) -> None:
    """Refuse names that cannot be part of a file name, or that differ only in case."""
    bad = [name for name in names if not re.fullmatch(r"[A-Za-z0-9_-]+", name)]
    if bad:
        raise ValueError(
            f"benchmark {benchmark!r}: split names are letters, digits, '-' and '_' only; "
            f"got {', '.join(map(repr, bad))}"
        )
    folded: dict[str, list[str]] = {}
    for name in names:
        folded.setdefault(name.casefold(), []).append(name)
    alike = [" and ".join(map(repr, group)) for group in folded.values() if len(set(group)) > 1]
    if alike:
        raise ValueError(f"benchmark {benchmark!r}: splits differ only in case: {'; '.join(alike)}; spell them alike")
