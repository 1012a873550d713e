"""A function over many items on several threads, with only a few results in memory at once."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def bounded(
    function: Callable[[Item], Result], items: Sequence[Item], chunk: int, threads: int | None = None
) -> Iterator[Result]:
    """`function` of every item, in order; at most `chunk` results wait. `threads`: up to 8, as the CPU has them."""
    with ThreadPoolExecutor(threads or min(8, os.cpu_count() or 1)) as pool:
        for start in range(0, len(items), chunk):
            yield from pool.map(function, items[start : start + chunk])


def grouped(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """The items in lists of `size`; the last may be shorter."""
    group: list[Item] = []
    for item in items:
        group.append(item)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group
