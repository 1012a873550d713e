"""One module a way to find regions; the module's name is the `kind` of an entry of section `segments`.

Each has a frozen dataclass `Options`. Those that look at pictures have `proposer(options, captions)`, which returns
`propose(image, rows)`: the regions of one image, whose captions are those rows of the manifest. `THREADS` is how many
threads may call it at once (None: as many as there are). No torch until a proposer is made.
"""

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from hnclip.options import unknown


def kinds() -> list[str]:
    """The known ways to find regions."""
    return sorted(module.name for module in iter_modules(__path__))


def segmenter(kind: str) -> ModuleType:
    """The module of a kind. Raises ValueError with the known ones."""
    if kind not in kinds():
        raise ValueError(unknown("kind of segments", kind, kinds()))
    return import_module(f"{__name__}.{kind}")
