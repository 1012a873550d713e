"""Snakemake run on a study, followed by its messages: what is at work, what failed and with which log. No torch."""

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hnclip.commits import WOULD_STOP
from hnclip.project import root

TAIL = 40  # lines of Snakemake's own that are kept, for where no job is to blame
JOB = re.compile(r"^Job (\d+): (.*)$")
STEPS = re.compile(r"^(\d+) of (\d+) steps \(")
TOTAL = re.compile(r"^total +(\d+)$")
RULE = re.compile(r"^Error in rule ")
JOBID = re.compile(r"^    jobid: (\d+)$")
LOG = re.compile(r"^    log: (.*?)(?: \(check log file.*)?$")
RECORD = ("Config of ", "Record of ", "The study is finished")  # jobs of no length, of which nothing is told


@dataclass
class Followed:
    """What a run of Snakemake said: `status` as it ended, jobs done and in all, what each did, what failed.

    `failed` has the log of each failed job, from the study's folder, by what the job did. `tail` has the last lines,
    and all since WOULD_STOP.
    """

    status: int = 0
    done: int = 0
    total: int = 0
    jobs: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    tail: list[str] = field(default_factory=list)
    interrupted: bool = False
    _in_error: str = ""

    @property
    def locked(self) -> bool:
        """True where another run holds the folder, or one that was killed held it."""
        return any("LockException" in line or "cannot be locked" in line for line in self.tail)

    def line(self, text: str) -> str | None:
        """Take in a line of Snakemake's; what it says of a job that starts, where that is worth a line."""
        if WOULD_STOP not in self.tail:
            self.tail = self.tail[-TAIL + 1 :]
        self.tail.append(text)
        if found := JOB.match(text):
            self._in_error = ""
            self.jobs[found[1]] = found[2]
            return None if found[2].startswith(RECORD) else found[2]
        if found := STEPS.match(text):
            self.done, self.total = int(found[1]), int(found[2])
        elif found := TOTAL.match(text):
            self.total = int(found[1])
        elif RULE.match(text):
            self._in_error = "?"
        elif self._in_error:
            self._error(text)
        return None

    def _error(self, text: str) -> None:
        if found := JOBID.match(text):
            self._in_error = self.jobs.get(found[1], f"job {found[1]}")
            self.failed[self._in_error] = ""
        elif (found := LOG.match(text)) and self._in_error in self.failed:
            self.failed[self._in_error] = found[1]


def command(files: list[Path], folder: Path, *options: str, targets: tuple[str, ...] = (), cores: str = "all") -> list:
    """Snakemake's command line for a study's files, run in its folder; a config.yaml that lies there is not read.

    Jobs that were at work when Snakemake was killed are run again: their files are whole, or not there.
    """
    home = root()
    return [
        *(sys.executable, "-m", "snakemake", *targets),
        *("-s", str(home / "Snakefile"), "--directory", str(folder), "--replace-workflow-config"),
        *("--configfile", str(home / "config.yaml"), *map(str, files)),
        *("--rerun-incomplete", "--cores", cores, *options),
    ]


def follow(
    line: list[str], tell: Callable[[str, Followed], None], every: Callable[[str], None] | None = None
) -> Followed:
    """Run Snakemake to its end; `tell` hears of each job as it starts, `every` of each line.

    Ctrl-C reaches Snakemake by itself, which lets trainings write a checkpoint; SIGTERM is handed on.
    """
    found = Followed()
    process = subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8", errors="replace"
    )
    with _waiting(process, found):
        for text in process.stdout or ():
            said = found.line(text.rstrip("\n"))
            if every is not None:
                every(text.rstrip("\n"))
            if said is not None:
                tell(said, found)
        found.status = process.wait()
    return found


@contextmanager
def _waiting(process: subprocess.Popen, found: Followed) -> Iterator[None]:
    """Signals end Snakemake, and this process after it."""

    def stop(number: int, _) -> None:
        found.interrupted = True
        if number == signal.SIGTERM:
            process.send_signal(number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def last_lines(path: Path, most: int = 15) -> list[str]:
    """The last lines of a log that say something; none where it is not there."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    return [line for line in text.splitlines() if line.strip()][-most:]


def foretold(found: Followed) -> str:
    """What a dry run said that the run itself would stop at; empty where nothing."""
    return "\n".join(found.tail[found.tail.index(WOULD_STOP) :]).strip() if WOULD_STOP in found.tail else ""


def planned(found: Followed) -> list[tuple[str, int]]:
    """The kinds of jobs that a dry run would do, in their order: what the first of each says, and how many there are.

    Messages that begin with the same word are of one kind, but for those that each write something else.
    """
    first: dict[str, str] = {}
    counts: dict[str, int] = {}
    for said in found.jobs.values():
        if not said.startswith(RECORD):
            kind = said if said.startswith("Writing ") else said.partition(" ")[0]
            first.setdefault(kind, said)
            counts[kind] = counts.get(kind, 0) + 1
    return [(said, counts[kind]) for kind, said in first.items()]
