"""The fine-tuning frameworks, one a file; the file's name is the config's `kind`."""

import ast
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from hnclip import inputs
from hnclip.architecture import lacking
from hnclip.options import from_dict, unknown


def names() -> list[str]:
    """The known frameworks."""
    return sorted(module.name for module in iter_modules(__path__) if module.name != "base")


def on_towers() -> list[str]:
    """The known frameworks that run a backbone's towers; the others train on its cached embeddings."""
    return [kind for kind in names() if not set(declared(kind)[0]) & set(inputs.FIELDS["embeddings"])]


def create(kind: str, backbone: Any, options: dict[str, Any]) -> Any:
    """The framework of this kind around a backbone."""
    from hnclip.frameworks.base import Framework

    if kind not in names():
        raise ValueError(unknown("framework", kind, names()))
    module = import_module(f"hnclip.frameworks.{kind}")
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Framework) and value.__module__ == module.__name__
    ]
    if len(found) != 1:
        raise ValueError(f"{module.__file__} must define one framework, not {len(found)}")
    wanted = from_dict(found[0].Options, options, f"options of framework {kind}")
    if found[0].needs:
        offered = {*backbone.offers, *(["clip_tokenizer"] if backbone.tokenizer == "clip" else [])}
        if problem := lacking(kind, found[0].needs, offered):
            raise ValueError(problem)
    return found[0](backbone, wanted)


def needs(kind: str) -> tuple[str, ...]:
    """What a framework needs of its backbone (hnclip.architecture.NEEDS), read from its file without loading torch."""
    return _spelled(kind, "needs", ())


def declared(kind: str) -> tuple[tuple[str, ...], list[str] | None]:
    """What a framework's file says, read without loading torch: the fields it reads, and the names of its options.

    No fields and no options (None) where the file does not spell them out but has them, or some, from elsewhere.
    """
    options = None
    for found in _classes(kind):
        if found.name == "Options" and not found.bases:
            options = [node.target.id for node in found.body if isinstance(node, ast.AnnAssign)]
    return _spelled(kind, "fields", ()), options


def _spelled(kind: str, name: str, otherwise: tuple[str, ...]) -> tuple[str, ...]:
    """The tuple that a class of a framework's file is given under this name, where it is spelled out."""
    found = otherwise
    for node in (node for parsed in _classes(kind) for node in parsed.body if isinstance(node, ast.Assign)):
        if getattr(node.targets[0], "id", None) == name:
            with suppress(ValueError):  # no literal, such as (*Goal.fields, "edge")
                found = ast.literal_eval(node.value)
    return found


@cache
def _classes(kind: str) -> list[ast.ClassDef]:
    source = Path(find_spec(f"hnclip.frameworks.{kind}").origin).read_text(encoding="utf-8")
    return [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]


def check_fields(fields: tuple[str, ...], entry: dict[str, Any]) -> None:
    """Refuse a framework whose entry in the config does not name the inputs that bring what it reads."""
    needed = {bringing for field in fields if (bringing := inputs.bringing(field))}
    missing = sorted(needed - set(inputs.wanted(entry)))
    if missing:
        raise ValueError(
            f"framework {entry['kind']} trains on the inputs {', '.join(missing)}: name them under `inputs` of its "
            "entry in the config"
        )
