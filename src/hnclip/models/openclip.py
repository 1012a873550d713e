"""open_clip imported without timm and transformers, which cost seconds a job and which its own towers do not need."""

import importlib
import sys
from types import ModuleType

_HEAVY = ("timm", "transformers")
# Modules of open_clip that use them, the package each looks for, and the tower it makes of it.
_USING = {"timm_model": ("timm", "TimmModel"), "hf_model": ("transformers", "HFTextEncoder")}


def open_clip(light: bool = True) -> ModuleType:
    """The package open_clip; `light` skips timm and transformers, which towers other than its own need.

    Where they were skipped and are needed later, the modules that use them are read once more.
    """
    if "open_clip" in sys.modules or not light:
        package = importlib.import_module("open_clip")
        if not light:
            for name, (wanted, tower) in _USING.items():
                module = sys.modules[f"open_clip.{name}"]
                if getattr(module, wanted) is None:
                    importlib.reload(module)
                    setattr(package.model, tower, getattr(module, tower))
        return package
    hidden = [name for name in _HEAVY if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # an import of it raises ImportError, which open_clip handles
    try:
        return importlib.import_module("open_clip")
    finally:
        for name in hidden:
            del sys.modules[name]
