"""The fine-tuning frameworks, one a file; the file's name is the config's `kind`."""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from hnclip import inputs, read_source
from hnclip.architecture import lacking
from hnclip.options import from_dict, unknown
from hnclip.read_source import ancestors, evaluate, member


def names() -> list[str]:
    """The known frameworks."""
    return sorted(module.name for module in iter_modules(__path__) if module.name != "base")


def on_towers() -> list[str]:
    """The known frameworks that run a backbone's towers; the others train on its cached embeddings."""
    return [kind for kind in names() if not set(fields(kind)) & set(inputs.FIELDS["embeddings"])]


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
    return _told(kind, "needs") or ()


def fields(kind: str) -> tuple[str, ...]:
    """What a framework reads of a batch, told by its file without loading torch; empty where that does not tell it."""
    return _told(kind, "fields") or ()


def check_options(kind: str, options: dict[str, Any], where: str) -> None:
    """Refuse options with a ValueError that says what a training would, without loading torch.

    Nothing is said where the file does not tell what options it takes (`read_source`): the training then does.
    """
    wanted = _told(kind, "Options")
    if wanted is None:
        return
    try:
        from_dict(wanted, options, where)
    except ValueError:
        raise
    except Exception:  # of the framework's own check, which the training does as well
        return


def _told(kind: str, attribute: str) -> Any:
    """An attribute of a kind's framework, from the sources of its file and of what that rests on; None if untold."""
    base = ("hnclip.frameworks.base", "Framework")
    try:
        found = [
            each
            for each in read_source.classes(read_source.source(f"hnclip.frameworks.{kind}"))
            if any(not isinstance(of, str) and (of.source.module, of.node.name) == base for of in ancestors(each))
        ]
        given = member(found[0], attribute) if len(found) == 1 else None
        return None if given is None else evaluate(given)
    except SyntaxError:
        raise
    except Exception:  # whatever a file does that cannot be done without importing it
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
