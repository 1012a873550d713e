"""Recall at k as commands print it: a table a target, or records for scripts."""

import math
from typing import Any

from hnclip.cli.output import console, table


def show_recalls(rows: list, title: str) -> None:
    """A table with a row a target and direction, a column a k; says where a gallery is smaller than k."""
    from hnclip.report.format import DIRECTION_WORDS, percent

    ks = list(dict.fromkeys(row.k for row in rows))
    found = {(row.target, row.direction, row.k): row for row in rows}
    lines = []
    for target, direction in dict.fromkeys((row.target, row.direction) for row in rows):
        first = found[target, direction, ks[0]]
        scores = [_score(found[target, direction, k], percent) for k in ks]
        words = DIRECTION_WORDS.get(direction, direction)
        lines.append((target, words, *scores, f"{first.queries:,}", f"{first.gallery:,}"))
    columns = ("target", "direction", *(f"R@{k}" for k in ks), "queries N", "gallery")
    console().print(table(title, columns, lines, (*(f"R@{k}" for k in ks), "queries N", "gallery")))
    for target, k in dict.fromkeys((row.target, row.k) for row in rows if row.whole):
        console().print(f"R@{k} on {target} says nothing: its gallery has no more than {k} items.", markup=False)


def _score(row: Any, percent: Any) -> str:
    interval = "" if math.isnan(row.low) else f" [{percent(row.low)}, {percent(row.high)}]"
    return f"{percent(row.score)}{interval}"


def recall_records(rows: list) -> list[dict[str, Any]]:
    """The rows for `--json`; an interval that nothing tells is null."""
    return [record(row) for row in rows]


def record(row: Any) -> dict[str, Any]:
    """The fields of a row for `--json`, which knows no NaN: null in its place."""
    from dataclasses import asdict

    found = asdict(row).items()
    return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in found}


def parse_ks(text: str) -> tuple[int, ...]:
    """The K of R@K from `1,5,10`. Raises ValueError for anything else."""
    parts = text.replace(" ", "").split(",")
    if not all(part.isdigit() and int(part) > 0 for part in parts):
        raise ValueError(f"--ks: whole numbers from 1 with commas between them, such as 1,5,10; got {text!r}")
    return tuple(dict.fromkeys(map(int, parts)))
