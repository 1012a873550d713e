"""The shape of a config: keys that stand twice, and what the schema does not allow. No torch."""

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from hnclip.cell import Config
from hnclip.options import unknown

TOKENIZERS = "clip, open_clip:MODEL, hf:NAME or hf:FOLDER, package:NAME"


def check_keys(paths: Iterable[str | Path]) -> None:
    """Refuse files in which a key stands twice: YAML keeps the last value and says nothing. ValueError names all.

    So are files that are no YAML, or hold something else than keys with their values.
    """
    import yaml

    problems, unread = [], []
    for path in paths:
        with open(path, "rb") as file:
            try:
                node = yaml.compose(file, yaml_loader())
            except (yaml.YAMLError, UnicodeDecodeError) as error:
                unread.append(f"{path}: {' '.join(str(error).split())}")
                continue
        if node is not None and not isinstance(node, yaml.MappingNode):
            unread.append(f"{path}: it does not hold keys with their values, such as `study: mine`")
        problems += [f"{path}, {text}" for text in _repeated(node, ())]
    if unread:
        raise ValueError("\n  ".join(["a config cannot be read as YAML:", *unread]))
    if problems:
        raise ValueError("\n  ".join(["a key stands twice where only the last one would count:", *problems]))


def yaml_loader() -> type:
    """PyYAML's safe loader, in C where PyYAML was built with it: ten times as fast."""
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _repeated(node: Any, path: tuple) -> Iterator[str]:
    """Line and place of each key that its mapping has already."""
    if node.__class__.__name__ == "SequenceNode":
        for index, item in enumerate(node.value):
            yield from _repeated(item, (*path, index))
    elif node.__class__.__name__ == "MappingNode":
        first: dict[str, int] = {}
        for key, value in node.value:
            place, line = (*path, str(key.value)), key.start_mark.line + 1
            if place[-1] in first:
                yield f"line {line}: {spell(place)} (first in line {first[place[-1]]})"
            first.setdefault(place[-1], line)
            yield from _repeated(value, place)


def spell(path: tuple) -> str:
    """A place in the config, such as `run[0]` or `recipe.lr`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text or "the file"


def schema_errors(config: Config, schema: dict[str, Any]) -> Iterator[tuple[tuple, str, bool]]:
    """Each breach of the schema: where, what, and whether it keeps the rest from being read."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    endless = list(_not_finite(config, ()))
    for path in endless:
        yield path, "a finite number is expected", True
    checker = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    validator = extend(Draft202012Validator, type_checker=checker)(schema)
    errors = sorted(validator.iter_errors(config), key=lambda error: str(error.absolute_path))
    errors = [error for error in errors if tuple(error.absolute_path) not in endless]
    mistyped = {tuple(error.absolute_path) for error in errors if error.validator == "type"}
    for error in errors:
        path = tuple(error.absolute_path)
        if path in mistyped and error.validator != "type":
            continue
        if error.validator == "additionalProperties":
            known = list(error.schema["properties"])
            for key in sorted(set(error.instance) - set(known)):
                yield path, unknown("key", key, known), False
        elif error.validator == "enum":
            yield path, unknown("value", error.instance, error.validator_value), False
        elif error.validator == "pattern" and path[-1] == "tokenizer":
            yield path, f"unknown tokenizer {error.instance!r}; known: {TOKENIZERS}", False
        elif error.validator == "pattern":
            text = f"{error.instance!r} becomes part of a path: use letters, digits, - and _ (first a letter or digit)"
            yield path, text, False
        else:
            yield path, error.message + _number_hint(error), error.validator in ("type", "required")


def _not_finite(value: Any, path: tuple) -> Iterator[tuple]:
    """The place of each infinity and each NaN."""
    if isinstance(value, float) and not math.isfinite(value):
        yield path
    elif isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _not_finite(item, (*path, key))


def _number_hint(error: Any) -> str:
    """A whole number may not be written as 2.0, and YAML reads 2e-6 as a text: say so."""
    if error.validator == "type" and isinstance(error.instance, float) and error.instance.is_integer():
        return f" (write {error.instance:.0f}, without a point)"
    if error.validator == "type" and isinstance(error.instance, str) and "number" in error.validator_value:
        try:
            return f" (YAML reads it as text; write {float(error.instance):.1e}, with a point)"
        except ValueError:
            pass
    return ""
