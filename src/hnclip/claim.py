"""Claims: of several processes that would build one thing, one does and the others wait. Standard library only.

A claim is a lock (flock) on a small file that says who holds it. It ends with the process, however that ends. On a
network file system it holds between machines where that passes flock on, as NFS from version 4 on does.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EACCES, EAGAIN
from pathlib import Path


@contextmanager
def claimed(path: Path) -> Iterator[None]:
    """Alone among all processes that claim `path`, a file or folder which need not be there yet; waits for its turn.

    The lock file is hidden, beside `path`, and gone afterwards. On a file system that knows no locks, it says so and
    goes on.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.with_name(f".{path.name}.claim")
    try:
        file = _locked(lock, path)
    except OSError as error:
        print(f"{path}: no lock can be had here ({error.strerror}); let no other command write it now", flush=True)
        yield
        return
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(file)


def try_lock(path: Path) -> int | None:
    """An open file that holds the lock of `path` until it is closed; None where another process holds it."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(file)
        if error.errno in (EAGAIN, EACCES):
            return None
        raise
    sign(file)
    return file


def sign(file: int) -> None:
    """Write into a locked file who holds it."""
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    os.ftruncate(file, 0)
    os.pwrite(file, f"process {os.getpid()} on {os.uname().nodename}, since {since}".encode(), 0)


def holder(path: Path) -> str:
    """Who signed a lock file last."""
    try:
        return Path(path).read_text(encoding="utf-8") or "another process"
    except OSError:
        return "another process"


def _locked(lock: Path, path: Path) -> int:
    """The open lock file, locked, once it is this process's turn."""
    said = False
    while True:
        file = try_lock(lock)
        if file is None:
            if not said:
                print(f"{path}: waiting for {holder(lock)}, which is writing it", flush=True)
                said = True
            file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            fcntl.flock(file, fcntl.LOCK_EX)
            sign(file)
        if _is_at(file, lock):
            return file
        os.close(file)


def _is_at(file: int, path: Path) -> bool:
    """False where the holder before removed the file, so that the lock is on a file that nobody else finds.

    The path is opened, not asked for its state: a network file system answers that from what it remembers.
    """
    try:
        other = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return os.path.samestat(os.fstat(file), os.fstat(other))
    finally:
        os.close(other)
