"""The fine-tuning frameworks, one a file; the file's name is the config's `kind`."""

from contextlib import suppress
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from hnclip import inputs
from hnclip.architecture import lacking
from hnclip.options import from_dict, unknown
from hnclip.read_source import read


def names() -> list[str]:
    """The known frameworks."""
    return sorted(module.name for module in iter_modules(__path__) if module.name != "base")


def on_towers() -> list[str]:
    """The known frameworks that run a backbone's towers; the others train on its cached embeddings."""
    return [kind for kind in names() if not set(fields(kind)) & set(inputs.FIELDS["embeddings"])]


def create(kind: str, backbone: Any, options: dict[str, Any]) -> Any:
    """The framework of this kind around a backbone."""
    if kind not in names():
        raise ValueError(unknown("framework", kind, names()))
    framework = _framework(import_module(f"hnclip.frameworks.{kind}"), import_module("hnclip.frameworks.base"))
    wanted = from_dict(framework.Options, options, f"options of framework {kind}")
    if framework.needs:
        offered = {*backbone.offers, *(["clip_tokenizer"] if backbone.tokenizer == "clip" else [])}
        if problem := lacking(kind, framework.needs, offered):
            raise ValueError(problem)
    return framework(backbone, wanted)


def _framework(module: ModuleType, base: ModuleType) -> Any:
    """The one framework that a file defines."""
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__ and issubclass(value, base.Framework)
    ]
    if len(found) != 1:
        raise ValueError(f"{module.__file__} must define one framework, not {len(found)}")
    return found[0]


def needs(kind: str) -> tuple[str, ...]:
    """What a framework needs of its backbone (hnclip.architecture.NEEDS), told without loading torch."""
    return getattr(_told(kind), "needs", ())


def fields(kind: str) -> tuple[str, ...]:
    """What a framework reads of a batch, told without loading torch; empty where its file does not tell it."""
    return getattr(_told(kind), "fields", ())


def check_options(kind: str, options: dict[str, Any], where: str) -> None:
    """Refuse options with a ValueError that says what a training would, without loading torch.

    Nothing is said where only an import tells what is allowed (`read_source`): the training then refuses.
    """
    with suppress(TypeError, AttributeError):
        from_dict(_told(kind).Options, options, where)


def _told(kind: str) -> Any:
    """The framework of a kind as its source tells it; None where that does not. ValueError where it is no Python."""
    try:
        return _framework(read(f"hnclip.frameworks.{kind}"), read("hnclip.frameworks.base"))
    except SyntaxError as error:
        raise ValueError(f"the file of framework {kind!r} is no Python: {error}") from error
    except Exception:  # whatever it does with a stand-in
        return None


def check_fields(fields: tuple[str, ...], entry: dict[str, Any]) -> None:
    """Refuse a framework whose entry in the config does not name the inputs that bring what it reads."""
    needed = {bringing for field in fields if (bringing := inputs.bringing(field))}
    missing = sorted(needed - set(inputs.wanted(entry)))
    if missing:
        raise ValueError(
            f"framework {entry['kind']} trains on the inputs {', '.join(missing)}: name them under `inputs` of its "
            "entry in the config"
        )
