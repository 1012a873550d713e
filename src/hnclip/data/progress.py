"""How far a download is: a bar on a terminal, a line for each tenth in a log."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn


@contextmanager
def progress(name: str, have: int, size: int | None) -> Iterator[Callable[[int], None]]:
    """A function to be told of further bytes; `have` of the `size` bytes, where that is known, are there already."""
    if not sys.stderr.isatty():
        yield _lines(name, have, size)
        return
    columns = (TextColumn(name), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(name, total=size, completed=have)
        yield lambda more: bar.advance(task, more)


def _lines(name: str, have: int, size: int | None) -> Callable[[int], None]:
    step = max((size or 0) // 10, 10**7)
    done, told = have, have

    def advance(more: int) -> None:
        nonlocal done, told
        done += more
        if done - told >= step:
            told = done
            print(f"{name}: {decimal(done)}" + (f" of {decimal(size)}" if size else ""), flush=True)

    return advance
