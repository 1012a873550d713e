"""How a command ends when its input, or where it prints to, is at fault: one message, no traceback, exit status 1."""

import os
import select
import sys
from collections.abc import Callable
from contextlib import suppress


def run(main: Callable[[], None]) -> None:
    """Call `main`; a ValueError or OSError becomes one line `error: ...` on stderr and exit status 1.

    Any other exception is a fault of ours and keeps its traceback; so does every one where HNCLIP_TRACEBACK is set.
    Where what is printed is not read to its end (`| head`), the command stops there with status 1 and says nothing.
    """
    _fill_streams()
    ended = None
    try:
        main()
    except SystemExit as end:
        ended = end
    except (ValueError, OSError) as error:
        if os.environ.get("HNCLIP_TRACEBACK"):
            raise
        _tell(error)
        ended = SystemExit(1)
    faulty = bool(ended and ended.code)
    if not _flushed(tell=not faulty) and not faulty:
        ended = SystemExit(1)
    if ended:
        raise ended from None


def _tell(error: Exception) -> None:
    if isinstance(error, BrokenPipeError) and any(map(_is_unread, (1, 2))):
        return
    with suppress(OSError):
        print(f"error: {_words(error)}", file=sys.stderr)


def _words(error: Exception) -> str:
    """What the error says; a system's own error (`[Errno 13] Permission denied: 'a'`) without its number."""
    if isinstance(error, OSError) and error.filename and error.strerror and str(error).startswith("[Errno"):
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    return str(error)


def _flushed(tell: bool) -> bool:
    """Write what waits to be printed, and say where it cannot be; Python then does not try again when it ends."""
    done = True
    for stream, number in ((sys.stdout, 1), (sys.stderr, 2)):
        try:
            stream.flush()
        except OSError as error:
            if tell and done:
                _tell(error)
            done = False
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    return done


def _is_unread(number: int) -> bool:
    """True of a pipe whose reader has gone."""
    poll = select.poll()
    poll.register(number, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _fill_streams() -> None:
    """Streams that were closed (`>&-`) lead nowhere, before a file of ours gets their number."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")
