"""What commands print: tables for people, or one JSON document for scripts (`--json`)."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead, for scripts.")]


def console() -> Console:
    """Where results for people go; as wide as the terminal, and never cut where it is none."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else 160)


def say(words: str) -> None:
    """A note to people beside the result: on stderr, so that stdout holds the result alone."""
    Console(stderr=True, highlight=False).print(words, markup=False, soft_wrap=True)


def print_json(record: Any) -> None:
    """The record as one JSON document on stdout."""
    sys.stdout.write(json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[str] = ()) -> Table:
    """A table of texts as they are (no markup in them counts); the columns named in `numbers` stand to the right."""
    from rich.text import Text

    made = Table(title=Text(title, "table.title") if title else None, title_justify="left")
    for column in columns:
        made.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    for row in rows:
        made.add_row(*(Text(str(value)) for value in row))
    return made
