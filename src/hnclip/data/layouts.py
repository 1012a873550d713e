"""The JSON files that people have captions in, read as a table: ShareGPT4V's, Karpathy's, and a plain list of rows."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from hnclip.data.captions import Table, half_character, read_jsonl, read_table
from hnclip.data.problems import Problems

Layout = Literal["table", "sharegpt4v", "karpathy"]
UNREADABLE = "entries that cannot be read (repair or remove them)"
_EXPECTED = (
    'ShareGPT4V\'s [{"image": ..., "conversations": [prompt, caption]}, ...], Karpathy\'s {"images": [{"filename": '
    '..., "split": ..., "sentences": [{"raw": ...}, ...]}, ...]}, or a list of rows such as [{"image": ..., '
    '"caption": ...}, ...]'
)


def read_captions(path: Path, layout: Layout | None, problems: Problems) -> Table:
    """The table in a file of any layout; without a name, that of a .json file is told from what is in it.

    Both layouts give the columns `image` and `caption` beside their other ones; Karpathy's caption is a list, and its
    image has its `filepath` before it. What cannot be read goes to `problems`. Raises where there is no table at all.
    """
    path = Path(path)
    if path.suffix.lower() != ".json":
        if layout == "karpathy":
            raise ValueError(f"{path}: layout 'karpathy' is one .json file")
        table = read_jsonl(path, problems) if layout and path.suffix.lower() == ".jsonl" else read_table(path, problems)
        return _converted(table, _from_sharegpt4v, problems) if layout == "sharegpt4v" else table
    entries, found = _entries(path)
    if layout not in (None, found):
        raise ValueError(
            f"{path} has the layout {found!r}, not {layout!r} as the option `layout` says; known: {_EXPECTED}"
        )
    table = _table(path, entries, problems)
    if found == "karpathy":
        return replace(_converted(table, _from_karpathy, problems), published=True)
    return _converted(table, _from_sharegpt4v, problems) if found == "sharegpt4v" else table


def _entries(path: Path) -> tuple[list[Any], Layout]:
    """The entries of a .json file, and the layout that they have."""
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such captions file (looked in {Path.cwd()})")
    try:
        record = json.loads(path.read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is no valid JSON ({error}); is the file whole?") from error
    if isinstance(record, dict) and isinstance(record.get("images"), list):
        if "annotations" in record:
            raise ValueError(
                f"{path} is COCO's own annotation file, which has no splits; use Karpathy's JSON of the same captions, "
                "or write a table with one row a caption"
            )
        return record["images"], "karpathy"
    if not isinstance(record, list):
        raise ValueError(f"{path} has none of the known layouts: {_EXPECTED}")
    told = any(isinstance(entry, dict) and "conversations" in entry for entry in record)
    return record, "sharegpt4v" if told else "table"


def _table(path: Path, entries: list[Any], problems: Problems) -> Table:
    columns: dict[str, None] = {}
    rows = []
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict):
            problems.add(UNREADABLE, f"entry {number}: expected an object, got {type(entry).__name__}")
        elif half := half_character(entry):
            problems.add(UNREADABLE, f"entry {number}: {half} is half a character; write the whole one")
        else:
            columns.update(dict.fromkeys(entry))
            rows.append((f"entry {number}", entry))
    if not rows:
        unread = "\n  ".join(problems.lines(5))
        raise ValueError(f"{path}: no entry can be read\n  {unread}" if unread else f"{path}: the list is empty")
    return Table(path, list(columns), rows)


def _converted(table: Table, convert: Callable[[dict[str, Any]], dict[str, Any]], problems: Problems) -> Table:
    """The table with every row converted; `convert` raises ValueError that says what is wrong with one."""
    columns: dict[str, None] = {}
    rows = []
    for where, entry in table.rows:
        try:
            row = convert(entry)
        except ValueError as error:
            problems.add(UNREADABLE, f"{where}: {error}")
            continue
        columns.update(dict.fromkeys(row))
        rows.append((where, row))
    if not rows:
        raise ValueError(f"{table.path}: no entry can be read\n  " + "\n  ".join(problems.lines(5)))
    return Table(table.path, list(columns), rows)


def _from_sharegpt4v(entry: dict[str, Any]) -> dict[str, Any]:
    """The row of a prompt and its answer, the caption; the prompt is kept as a column."""
    turns = entry.get("conversations")
    if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
        raise ValueError("no list of conversations")
    if len(turns) != 2:
        raise ValueError(f"a conversation of {len(turns)} turns; a prompt and a caption are 2")
    speakers = [turn.get("from") for turn in turns]
    if speakers[1] in ("human", "user"):
        raise ValueError(f"the second turn is not the caption, it is from {speakers[1]!r}")
    if "image" not in entry:
        raise ValueError("no image")
    rest = {name: value for name, value in entry.items() if name not in ("conversations", "prompt", "caption")}
    return {**rest, "prompt": turns[0].get("value"), "caption": turns[1].get("value")}


def _from_karpathy(entry: dict[str, Any]) -> dict[str, Any]:
    """The row of an image with its captions, as written."""
    sentences, name, folder = entry.get("sentences"), entry.get("filename"), entry.get("filepath")
    if not isinstance(sentences, list) or not sentences or not all(isinstance(one, dict) for one in sentences):
        raise ValueError("no list of sentences")
    if not isinstance(name, str) or not isinstance(folder, str | None):
        raise ValueError(f"filename and filepath must be texts, got {name!r} and {folder!r}")
    rest = {name: value for name, value in entry.items() if name not in ("sentences", "sentids")}
    return {**rest, "image": f"{folder}/{name}" if folder else name, "caption": [one.get("raw") for one in sentences]}
