"""Captions as people have them, read as a table: files, folders and shards, JSON in the layouts of several projects."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from hnclip.data.captions import LINES, Table, half_character, not_utf8, read_jsonl, read_table
from hnclip.data.json_text import TWICE, parse
from hnclip.data.problems import Problems
from hnclip.data.readers.places import is_place, read_place

Layout = Literal[
    "table", "sharegpt4v", "karpathy", "goal", "txt", "webdataset", "datasets", "imagefolder", "img2dataset"
]
PLACES = ("txt", "webdataset", "datasets", "imagefolder", "img2dataset")
UNREADABLE = "entries that cannot be read (repair or remove them)"
_EXPECTED = (
    'ShareGPT4V\'s [{"image": ..., "conversations": [prompt, caption]}, ...], Karpathy\'s {"images": [{"filename": '
    '..., "split": ..., "sentences": [{"raw": ...}, ...]}, ...]}, or a list of rows such as [{"image": ..., '
    '"caption": ...}, ...]'
)


def read_captions(
    path: Path, layout: Layout | None, problems: Problems, images: Path | None = None, txt: str = "whole"
) -> Table:
    """The table in a file, a folder or shards, of any layout; without a name, it is told from what is there.

    Every layout gives the columns `image` and `caption` beside its other ones; Karpathy's caption is a list, and its
    image has its `filepath` before it. images: where those of a folder of texts lie, if not beside them; txt: whether
    a .txt is one caption or one a line. What cannot be read goes to `problems`. Raises where there is no table at all.
    """
    if is_place(str(path)):
        found = read_place(str(path), layout, images, txt == "lines", problems)
        if isinstance(found, Table):
            return found
        path = found
    path = Path(path)
    if layout in PLACES and path.suffix.lower() not in (".parquet", ".arrow"):
        raise ValueError(f"{path}: layout {layout!r} is a folder or shards, and this is a file")
    if path.suffix.lower() != ".json":
        return _lines(path, layout, problems)
    entries, found = _entries(path, problems)
    if entries is None:
        return _told(read_jsonl(path, problems), layout, problems)
    if layout not in (None, found):
        raise ValueError(
            f"{path} has the layout {found!r}, not {layout!r} as the option `layout` says; known: {_EXPECTED}"
        )
    table = _table(path, entries, problems)
    if found == "karpathy":
        return replace(_converted(table, _from_karpathy, problems), published=True)
    return _told(table, found, problems)


def _lines(path: Path, layout: Layout | None, problems: Problems) -> Table:
    """The table of a file that is no .json."""
    if layout in ("karpathy", "goal"):
        raise ValueError(f"{path}: layout {layout!r} is one .json file")
    table = read_jsonl(path, problems) if layout and path.suffix.lower() in LINES else read_table(path, problems)
    return _told(table, layout, problems)


def _told(table: Table, layout: Layout | None, problems: Problems) -> Table:
    convert = {"sharegpt4v": _from_sharegpt4v, "goal": _from_goal}.get(layout or "table")
    return _converted(table, convert, problems) if convert else table


def _entries(path: Path, problems: Problems) -> tuple[list[Any] | None, Layout]:
    """The entries of a .json file, and the layout that they have; no entries where it has an object a line."""
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such captions file (looked in {Path.cwd()})")
    try:
        text = path.read_bytes().decode("utf-8-sig")
        record, again = parse(text)
    except UnicodeDecodeError as error:
        raise ValueError(not_utf8(path, error)) from error
    except (ValueError, RecursionError) as error:
        if _has_lines(text):
            return None, "table"
        raise ValueError(f"{path} is no valid JSON ({error}); is the file whole?") from error
    problems.add_all(TWICE, again)
    if isinstance(record, dict) and isinstance(record.get("images"), list):
        if "annotations" in record:
            raise ValueError(
                f"{path} is COCO's own annotation file, which has no splits; use Karpathy's JSON of the same captions, "
                "or write a table with one row a caption"
            )
        return record["images"], "karpathy"
    if isinstance(record, dict) and record and all(map(_is_caption, record.values())):
        return [{"image": image, "caption": caption} for image, caption in record.items()], "table"
    if not isinstance(record, list):
        raise ValueError(f"{path} has none of the known layouts: {_EXPECTED}")
    keys = [entry.keys() for entry in record if isinstance(entry, dict)]
    if any("conversations" in known for known in keys):
        return record, "sharegpt4v"
    return record, "goal" if any("original_filename" in known for known in keys) else "table"


def _has_lines(text: str) -> bool:
    """True where the first line is an object, and another follows."""
    lines = [line for line in text.split("\n", 100) if line.strip()][:2]
    try:
        return len(lines) == 2 and isinstance(json.loads(lines[0]), dict)
    except ValueError:
        return False


def _is_caption(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list) and bool(value) and all(isinstance(one, str) for one in value)
    )


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


def _from_goal(entry: dict[str, Any]) -> dict[str, Any]:
    """The row of GOAL's or StructXLIP's image with its regions, which are left to `segments` of a benchmark."""
    for key in ("original_filename", "original_caption"):
        if key not in entry:
            raise ValueError(f"no {key}")
    rest = {
        key: value for key, value in entry.items() if key not in ("segment", "original_filename", "original_caption")
    }
    return {**rest, "image": entry["original_filename"], "caption": entry["original_caption"]}
