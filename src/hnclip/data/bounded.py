"""A function over many items on several threads, with bounded memory."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Condition
from typing import TypeVar

PIXELS = 64_000_000  # of images that are open at once, whatever their size; one that has more is open alone
Item = TypeVar("Item")
Result = TypeVar("Result")


def bounded(
    function: Callable[[Item], Result], items: Sequence[Item], chunk: int, threads: int | None = None
) -> Iterator[Result]:
    """`function` of every item, in order; at most `chunk` results wait. `threads`: up to 8, one a CPU."""
    pool = ThreadPoolExecutor(threads or min(8, cpus()))
    waiting: deque[Future[Result]] = deque()
    try:
        for item in items:
            if len(waiting) == chunk:
                yield waiting.popleft().result()
            waiting.append(pool.submit(function, item))
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def cpus() -> int:
    """How many CPUs this process may use: on a cluster fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Room:
    """What threads share: so much of it is taken at once, and not more; who needs more than all of it waits for all."""

    def __init__(self, size: int):
        self._size = self._free = size
        self._changed = Condition()

    @contextmanager
    def taken(self, share: int) -> Iterator[None]:
        """Wait until `share` is free, and hold it."""
        share = min(share, self._size)
        with self._changed:
            self._changed.wait_for(lambda: self._free >= share)
            self._free -= share
        try:
            yield
        finally:
            with self._changed:
                self._free += share
                self._changed.notify_all()


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
