"""JSON of a person's own, in which no key of an object may stand twice: a parser would silently keep the last value."""

import json
import re
from pathlib import Path
from typing import Any

TWICE = "keys that stand twice in one object (remove the one that is not meant)"
_TOKEN = re.compile(r'"(?:[^"\\]+|\\.)*"|[{}\[\]:]', re.DOTALL)


def parse(text: str, line: int = 1) -> tuple[Any, list[str]]:
    """The value of a JSON text, and where a key stands again in its object, such as `line 3 column 5: 'caption'`.

    `line` is the text's first one in its file. Raises ValueError or RecursionError where it is no JSON.
    """
    again = False

    def made(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal again
        record = dict(pairs)
        again = again or len(record) < len(pairs)
        return record

    value = json.loads(text, object_pairs_hook=made)
    return value, _repeated(text, line) if again else []


def parse_once(text: str) -> Any:
    """The value of a JSON text. Raises ValueError naming every key that stands twice in its object."""
    value, again = parse(text)
    if again:
        raise ValueError(f"{TWICE}: {'; '.join(again)}")
    return value


def read_once(path: Path) -> Any:
    """The value in a JSON file. Raises ValueError naming the file, and every key that stands twice in its object."""
    try:
        value, again = parse(Path(path).read_bytes().decode("utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no valid JSON ({error}); correct it") from error
    if again:
        raise ValueError("\n  ".join([f"{path}: {TWICE}:", *again]))
    return value


def _repeated(text: str, line: int) -> list[str]:
    """Where keys of a valid JSON text stand again."""
    found: list[str] = []
    open_objects: list[set[str]] = []  # the keys so far of each; lists hold none
    last = None
    counted = 0
    for token in _TOKEN.finditer(text):
        if token[0] in "{[":
            open_objects.append(set())
        elif token[0] in "}]":
            open_objects.pop()
        elif token[0] == ":":  # outside of strings only after a key
            key = json.loads(last[0])
            if key in open_objects[-1]:
                line, counted = line + text.count("\n", counted, last.start()), last.start()
                found.append(f"line {line} column {counted - text.rfind(chr(10), 0, counted)}: {key!r}")
            open_objects[-1].add(key)
        last = token
    return found
