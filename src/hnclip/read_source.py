"""The names of a module of hnclip without importing torch: its source is run with stand-ins for all other packages.

Modules of hnclip that a framework's file imports are read in the same way, but get stand-ins for what they import of
hnclip in their turn. What rests on a stand-in cannot be used: it raises TypeError.
"""

import builtins
import sys
from abc import ABCMeta
from functools import cache
from importlib.util import find_spec, resolve_name
from pathlib import Path
from types import ModuleType
from typing import Any

FRAMEWORKS = "hnclip.frameworks."


class _Unknown(ABCMeta):
    """The type of stand-ins: classes, so that they serve as bases, annotations, decorators and modules alike."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Unknown

    def __call__(cls, *_, **__) -> Any:
        return Unknown

    def __getitem__(cls, _) -> Any:
        return Unknown

    def __bool__(cls) -> bool:
        raise TypeError("only an import tells this")

    def __iter__(cls) -> Any:
        raise TypeError("only an import tells this")

    def __eq__(cls, other: object) -> bool:
        return (cls is other and cls is not Unknown) or bool(cls)

    __hash__ = ABCMeta.__hash__


class Unknown(metaclass=_Unknown):
    """Stands for whatever another package would have given."""


def read(module: str) -> ModuleType:
    """A module of hnclip, not to be found in `sys.modules`. Raises what its source raises when it is run so."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(module)
    return _run(module, spec.origin)


@cache
def _run(module: str, path: str) -> ModuleType:
    found = ModuleType(module)
    found.__dict__["__builtins__"] = {**vars(builtins), "__import__": _import}
    exec(compile(Path(path).read_text(encoding="utf-8"), path, "exec", dont_inherit=True), found.__dict__)
    return found


def _import(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
    """What an import statement gets: the standard library as it is, hnclip as it is read, else a stand-in."""
    name = resolve_name("." * level + name, globals["__name__"].rpartition(".")[0])
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names:
        return builtins.__import__(name, globals, locals, fromlist)
    wanted = top == __package__ and fromlist and globals["__name__"].startswith(FRAMEWORKS)
    found = _read_or_unknown(name) if wanted else Unknown
    if found is not Unknown:
        for each in fromlist:
            if each not in vars(found):
                setattr(found, each, _read_or_unknown(f"{name}.{each}"))
    return found


def _read_or_unknown(module: str) -> Any:
    try:
        return read(module)
    except Exception:  # whatever it does with a stand-in
        return Unknown
