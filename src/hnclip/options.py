"""Options from a config become a frozen dataclass; unknown, missing and wrongly typed ones are named at once."""

from collections.abc import Iterable
from dataclasses import MISSING, fields
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name most like `name`, as the question ` (did you mean 'x'?)`; empty where none is like it."""
    names = {str(other).casefold(): str(other) for other in known}
    found = get_close_matches(str(name).casefold(), list(names), n=1, cutoff=0.5)
    return f" (did you mean {names[found[0]]!r}?)" if found else ""


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """What to say of a name that is not among the known ones."""
    known = list(known)
    return f"unknown {what} {name!r}{nearest(name, known)}; known: {', '.join(map(str, known)) or 'none'}"


def from_dict(cls: type[T], options: dict[str, Any], where: str) -> T:
    """The dataclass `cls` filled from `options`; `where` says in a message whose options they are.

    Lists become tuples and whole numbers floats where the field wants them. Raises ValueError with every fault.
    """
    if not isinstance(options, dict):
        raise ValueError(f"{where}: expected options by name, got {options!r}")
    hints = get_type_hints(cls)
    known = [field.name for field in fields(cls) if field.init]
    faults = [unknown("option", name, known) for name in options if name not in known]
    values = {}
    for field in fields(cls):
        if field.name in options:
            try:
                values[field.name] = _fit(options[field.name], hints[field.name])
            except ValueError as error:
                faults.append(f"option {field.name!r}: {error}")
        elif field.init and field.default is MISSING and field.default_factory is MISSING:
            faults.append(f"option {field.name!r} is missing (expected {_say(hints[field.name])})")
    if not faults:
        try:
            return cls(**values)
        except ValueError as error:
            faults.append(str(error))
    raise ValueError("\n  ".join([f"{where}:", *faults]) if len(faults) > 1 else f"{where}: {faults[0]}")


def _fit(value: Any, hint: Any) -> Any:
    """The value as the type wants it; ValueError where it does not fit."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any or (hint is dict and isinstance(value, dict)):
        return value
    if origin in (Union, UnionType):
        for choice in sorted(inner, key=lambda choice: type(value) is not choice):
            try:
                return _fit(value, choice)
            except ValueError:
                continue
    elif origin is Literal:
        if any(value == choice and type(value) is type(choice) for choice in inner):
            return value
    elif origin is tuple and isinstance(value, list | tuple):
        kinds = inner[:1] * len(value) if inner[1:] == (...,) else inner
        if len(kinds) == len(value):
            return tuple(_fit(item, kind) for item, kind in zip(value, kinds, strict=True))
    elif origin is dict and isinstance(value, dict):
        return {_fit(key, inner[0]): _fit(item, inner[1]) for key, item in value.items()}
    elif hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    elif hint in (int, str, bool, NoneType) and type(value) is hint:
        return value
    raise ValueError(f"expected {_say(hint)}, got {value!r}{_number_hint(value, hint)}")


def _number_hint(value: Any, hint: Any) -> str:
    """YAML reads 1e-3 as a text: say so."""
    wants_float = hint is float or float in get_args(hint)
    if wants_float and isinstance(value, str):
        try:
            return f", a text (YAML reads a number with an exponent only with a point: {float(value):.1e})"
        except ValueError:
            return ""
    return ""


def _say(hint: Any) -> str:
    """A type in plain words."""
    origin, inner = get_origin(hint), get_args(hint)
    names = {int: "a whole number", float: "a number", str: "a text", bool: "true or false", NoneType: "null"}
    if origin in (Union, UnionType):
        return " or ".join(_say(choice) for choice in inner)
    if origin is Literal:
        return " or ".join(repr(choice) for choice in inner)
    if origin is tuple and inner[1:] == (...,):
        return f"a list (each {_say(inner[0])})"
    if origin is tuple:
        return f"a list of {len(inner)} (each {_say(inner[0])})"
    if origin is dict:
        return f"names with values (each {_say(inner[1])})"
    return names.get(hint, getattr(hint, "__name__", str(hint)))
