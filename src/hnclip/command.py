"""How a pipeline command ends when its input is at fault: one message, no traceback, exit status 1."""

import os
import sys
from collections.abc import Callable


def run(main: Callable[[], None]) -> None:
    """Call `main`; a ValueError or OSError becomes one line `error: ...` on stderr and exit status 1.

    Any other exception is a fault of ours and keeps its traceback; so does every one where HNCLIP_TRACEBACK is set.
    """
    try:
        main()
    except (ValueError, OSError) as error:
        if os.environ.get("HNCLIP_TRACEBACK"):
            raise
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(1) from None
