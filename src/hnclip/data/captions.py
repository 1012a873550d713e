"""Reads a table of captions from JSONL, CSV, TSV or Parquet; every text stays as it is written there."""

import csv
import html
import json
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hnclip.data.arrow_files import read_arrow
from hnclip.data.json_text import TWICE, parse
from hnclip.data.pictures import SUFFIXES as OF_IMAGES
from hnclip.data.pictures import Pictures
from hnclip.data.problems import Problems
from hnclip.options import nearest

LINES = (".jsonl", ".jsonlines", ".ndjson")  # files of one JSON object a line
SUFFIXES = (".jsonl", ".csv", ".tsv", ".parquet", *LINES[1:])
UNREADABLE = "lines that cannot be read (repair them)"


@dataclass(frozen=True)
class Table:
    """The columns of a table, and its rows with the words that say where each stands, such as `line 7`.

    published: a benchmark's own file: what is odd in it stays, and is a warning. start: the folder where relative
    image paths start (default: the file's). pictures: the images that lie within the file itself, whose cells are
    `Picture`s; an image that is not there has an `Absent` cell. notes: what is worth a look, but no fault.
    read_as: what a folder was taken for.
    """

    path: Path
    columns: list[str]
    rows: list[tuple[str, dict[str, Any]]]
    published: bool = False
    start: Path | None = None
    pictures: Pictures | None = None
    notes: Problems = field(default_factory=Problems, compare=False)
    read_as: str = ""


def read_table(path: Path, problems: Problems) -> Table:
    """The whole table; lines that cannot be read go to `problems`. Raises where there is no table at all."""
    return some(_read(path, problems), problems)


def some(table: Table, problems: Problems) -> Table:
    """The table. Raises ValueError, with the first unreadable lines, where it has nothing."""
    if not table.columns and not table.rows:
        unread = "\n  ".join(problems.lines(5))
        raise ValueError(f"{table.path}: " + (f"no line can be read\n  {unread}" if unread else "the table is empty"))
    return table


def visible(text: str) -> bool:
    """True where a text shows anything: not only spaces, control characters, or their HTML names such as &nbsp;."""
    shown = html.unescape(html.unescape(text))  # twice, as open_clip's tokenizer does
    return any(unicodedata.category(letter)[0] not in "ZC" for letter in shown)


def _read(path: Path, problems: Problems) -> Table:
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(
            f"{path}: captions are read from {', '.join(SUFFIXES)} and .json files, not {path.suffix or 'this one'!r}"
        )
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such captions file (looked in {Path.cwd()})")
    if path.suffix.lower() == ".parquet":
        return _parquet(path)
    if path.suffix.lower() in LINES:
        return read_jsonl(path, problems)
    try:
        return _csv(path, "\t" if path.suffix.lower() == ".tsv" else ",", problems)
    except UnicodeDecodeError as error:
        raise _not_utf8(path, error) from error


def read_jsonl(path: Path, problems: Problems) -> Table:
    """The table in a file of one JSON object a line, whatever its name; unreadable lines go to `problems`."""
    try:
        return _jsonl(Path(path), problems)
    except UnicodeDecodeError as error:
        raise _not_utf8(path, error) from error


def _not_utf8(path: Path, error: UnicodeDecodeError) -> ValueError:
    return ValueError(not_utf8(path, error))


def not_utf8(path: Path, error: UnicodeDecodeError) -> str:
    """What to say of a file whose bytes are no UTF-8."""
    utf16 = error.start == 0 and error.object[:2] in (b"\xff\xfe", b"\xfe\xff")
    reason = "it is UTF-16" if utf16 else f"{error.reason} at byte {error.start}"
    return f"{path} is not UTF-8 ({reason}); save it as UTF-8"


def require(table: Table, wanted: dict[str, str]) -> None:
    """Refuse a table that lacks a column; `wanted` maps the option that names it to the column."""
    lacking = [
        f"{option}: {column!r}{nearest(column, table.columns)}"
        for option, column in wanted.items()
        if column not in table.columns
    ]
    if lacking:
        columns = ", ".join(map(repr, table.columns))
        raise ValueError(
            without_head(table)
            or f"{table.path} has no column for {'; '.join(lacking)}; its columns: {columns}. "
            "Name them in the benchmark's options"
        )


def without_head(table: Table) -> str:
    """What to say of a .csv or .tsv whose first line names an image, not the columns; empty of any other table."""
    images = [name for name in table.columns if Path(name).suffix.lower() in OF_IMAGES]
    if table.path.suffix.lower() not in (".csv", ".tsv") or not images:
        return ""
    return (
        f"{table.path}: the first line must name the columns, and this one's has an image, {images[0]!r}: write a line "
        "such as image,caption above it, with the separator of the file"
    )


def _parquet(path: Path) -> Table:
    columns, rows, pictures = read_arrow(path)
    return Table(path, columns, [(f"row {number}", row) for number, row in enumerate(rows, 1)], pictures=pictures)


def _jsonl(path: Path, problems: Problems) -> Table:
    columns: dict[str, None] = {}
    rows = []
    with path.open(encoding="utf-8-sig", newline="\n") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row, again = parse(line, number)
            except (ValueError, RecursionError) as error:
                problems.add(UNREADABLE, f"line {number}: {error}")
                continue
            half = half_character(row) if "\\u" in line else None
            if again:
                problems.add_all(TWICE, again)
            elif half:
                problems.add(UNREADABLE, f"line {number}: {half} is half a character; write the whole one")
            elif isinstance(row, dict):
                columns.update(dict.fromkeys(row))
                rows.append((f"line {number}", row))
            else:
                problems.add(UNREADABLE, f'line {number}: expected an object such as {{"image": ...}}')
    return Table(path, list(columns), rows)


def half_character(row: Any) -> str | None:
    """The name of a surrogate without its other half, which no UTF-8 text can hold."""
    try:
        json.dumps(row, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        return f"\\u{ord(error.object[error.start]):04x}"
    return None


def _csv(path: Path, delimiter: str, problems: Problems) -> Table:
    rows = []
    csv.field_size_limit(2**31 - 1)
    with path.open(encoding="utf-8-sig", newline="") as file:
        _check_separator(path, file.readline(), delimiter)
        file.seek(0)
        lines = _csv_lines(csv.reader(file, delimiter=delimiter, strict=True), problems)
        columns = next(lines, (1, []))[1]
        twice = sorted({name for name in columns if columns.count(name) > 1})
        if twice:
            raise ValueError(f"{path}: two columns have the same name: {', '.join(map(repr, twice))}")
        for number, fields in lines:
            if len(fields) == len(columns):
                rows.append((f"line {number}", dict(zip(columns, fields, strict=True))))
            else:
                problems.add(
                    UNREADABLE,
                    f"line {number}: {len(fields)} fields instead of {len(columns)} (is a field not in quotes?)",
                )
    return Table(path, columns, rows)


def _check_separator(path: Path, head: str, delimiter: str) -> None:
    """Refuse a first line whose columns another character separates; every table has two columns or more."""
    names = {",": "a comma", "\t": "a tab", ";": "a semicolon", "|": "a bar"}
    others = [name for other, name in names.items() if other in head]
    if delimiter not in head and others:
        raise ValueError(
            f"{path}: the separator of a {path.suffix} file must be {names[delimiter]}, and its first line has "
            f"{' and '.join(others)}: {head.strip()[:80]!r}; save it with {names[delimiter]} between the columns"
        )


def _csv_lines(reader: Any, problems: Problems) -> Iterator[tuple[int, list[str]]]:
    """The line on which each row starts, and its fields; blank lines are left out."""
    while True:
        start = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            problems.add(UNREADABLE, f"line {start}: {error} (a quote inside a field is written twice)")
            continue
        if fields:
            yield start, fields
