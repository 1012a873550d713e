"""When a training has to stop before its end: the time limit of its SLURM job, a SIGTERM, or Ctrl-C."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

MARGIN = 30.0  # seconds left to write what is written once more and to leave
LOOK = 30  # seconds that SLURM gets to answer
LIMIT = "the job's time limit"
SIGNALS = {signal.SIGTERM: "SIGTERM", signal.SIGINT: "Ctrl-C"}
REASONS = ("", LIMIT, *SIGNALS.values())  # by number, so that processes can tell each other


class Stopped(BaseException):
    """A training that stops before its end, to go on from its checkpoint when it is started again.

    No `Exception`, as KeyboardInterrupt is none: whoever catches those must not keep it from stopping.
    """


class Deadline:
    """What may stop a training early, looked at after every step.

    As a context it takes SIGTERM and Ctrl-C: the step in hand is finished first. Inside `interruptible()` code they
    raise Stopped at once.
    """

    def __init__(self) -> None:
        self.signalled: str | None = None
        self.at_once = False
        self.ends: float | None = None
        self.ends = self._job_ends()
        self.longest = {"step": 0.0, "save": 0.0, "evaluation": 0.0}

    def __enter__(self) -> "Deadline":
        before = {number: signal.getsignal(number) for number in SIGNALS}
        self.before = {number: handler for number, handler in before.items() if handler != signal.SIG_IGN}
        for number in self.before:
            signal.signal(number, self._take)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    @contextmanager
    def interruptible(self, allowed: bool = True) -> Iterator[None]:
        """Within it the first signal raises Stopped at once, even one that came before; unless not `allowed`."""
        self.at_once = allowed
        try:
            self._stop_at_once()
            yield
        finally:
            self.at_once = False

    def _take(self, number: int, frame: FrameType | None) -> None:
        self.signalled = self.signalled or SIGNALS[signal.Signals(number)]
        self._stop_at_once()

    def _stop_at_once(self) -> None:
        if self.at_once and self.signalled:
            self.at_once = False  # SLURM and torchrun each send one: the second must not end what the first has begun
            raise Stopped(self.signalled)

    def took(self, what: str, seconds: float) -> None:
        """Note how long a step, a save or an evaluation took."""
        self.longest[what] = max(self.longest[what], seconds)

    def reason(self, evaluates: bool) -> str | None:
        """Why to stop now, of `REASONS`, or None; `evaluates`: what comes next is an evaluation and not a step."""
        if self.signalled:
            return self.signalled
        if not self._near(evaluates):
            return None
        self.ends = self._job_ends()  # the limit may have been raised since
        return LIMIT if self._near(evaluates) else None

    def _near(self, evaluates: bool) -> bool:
        needed = MARGIN + 2 * self.longest["save"] + 2 * self.longest["evaluation" if evaluates else "step"]
        return self.ends is not None and time.monotonic() + needed > self.ends

    def _job_ends(self) -> float | None:
        """When SLURM will end this job, by the clock that never jumps; None outside SLURM and without a limit.

        Where SLURM does not answer, what it said before.
        """
        job = os.environ.get("SLURM_JOB_ID")
        if job is None:
            return None
        command = ["squeue", "--noheader", "--jobs", job, "--format", "%L"]
        try:
            answer = subprocess.run(command, capture_output=True, text=True, timeout=LOOK, check=True).stdout
        except (OSError, subprocess.SubprocessError) as error:
            if self.ends is None:
                print(f"the job's time limit is not known and not waited for: {error}", flush=True)
            return self.ends
        left = seconds_left(answer.strip())
        return None if left is None else time.monotonic() + left


def seconds_left(said: str) -> float | None:
    """Seconds of what squeue says is left, such as 1-02:03:04, 2:03:04 or 3:04; None for UNLIMITED and the like."""
    found = re.fullmatch(r"(?:(?:(\d+)-)?(\d+):)?(\d+):(\d+)", said)
    if not found:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
