"""open_clip imported without timm and transformers, which cost seconds a job and which its own towers do not need."""

import importlib
import sys
from types import ModuleType

_HEAVY = ("timm", "transformers")


def open_clip(light: bool = True) -> ModuleType:
    """The package open_clip; `light` skips timm and transformers, which towers other than its own need.

    The first import in a process decides.
    """
    if "open_clip" in sys.modules or not light:
        return importlib.import_module("open_clip")
    hidden = [name for name in _HEAVY if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # an import of it raises ImportError, which open_clip handles
    try:
        return importlib.import_module("open_clip")
    finally:
        for name in hidden:
            del sys.modules[name]
