"""Contrastive fine-tuning on long captions, with and without a boost where captions are alike.

The public names are loaded when first asked for, so `import hnclip` does not load torch.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {"BoostedClipLoss": "hnclip.losses.boosted_clip", "Cell": "hnclip.cell"}

__all__ = ["BoostedClipLoss", "Cell", "__version__"]  # noqa: F822


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has: {', '.join(__all__)}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
