"""A folder in which the workflow runs on the cluster that `run.sh` started."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Soon after a job's end its state is asked for; the plugin waits longer after every look that found no end.
QUICK = {"slurm-init-seconds-before-status-checks": 1, "seconds-between-status-checks": 1, "latency-wait": 9, "jobs": 8}


class Folder:
    """A working directory of the workflow; with `stub` in place of what `python -m hnclip.launch` would start."""

    def __init__(self, path: Path, stub: Path | None = None):
        self.path = path
        shutil.copy(ROOT / "config.yaml", path)
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(path / "cache"), "OMP_NUM_THREADS": "1"}
        if stub is not None:
            functions = path / "functions.sh"
            functions.write_text(
                'exec() { "$@"; }\n'
                'python() { if [ "$2" = hnclip.study ]; then command python "$@"; else shift; '
                f'[ "$1" != hnclip.launch ] || shift; command python \'{stub}\' "$@"; fi; }}\n'
            )
            self.environment["BASH_ENV"] = str(functions)

    def start(self, overlays: list[Path], *options: str) -> subprocess.Popen:
        line = [sys.executable, "-m", "snakemake", "-s", ROOT / "Snakefile", "--directory", self.path]
        return subprocess.Popen(
            [*line, "--configfile", *overlays, *options],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # what runs in the background of a shell has Ctrl-C ignored, and hands that on
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def here(self, overlays: list[Path], *options: str) -> str:
        """What Snakemake says of a run on this machine, which succeeds."""
        done = self.start(overlays, "--workflow-profile", "none", "--cores", "2", *options)
        said, _ = done.communicate()
        assert done.returncode == 0, said
        return said

    def submit(self, overlays: list[Path], *options: str) -> subprocess.Popen:
        """A run with the profile for SLURM that has begun."""
        quick = [f"--{name}={value}" for name, value in QUICK.items()]
        return self.start(overlays, "--workflow-profile", str(ROOT / "profiles/slurm"), *quick, *options)

    def cluster(self, overlays: list[Path], *options: str, fails: bool = False) -> str:
        """What Snakemake says of a run with the profile for SLURM."""
        done = self.submit(overlays, *options)
        said, _ = done.communicate()
        assert (done.returncode != 0) == fails, said
        return said


def squeue(*options: str) -> list[str]:
    """What squeue knows of jobs that wait, run or end, one a line."""
    line = ["squeue", "--noheader", "--states", "PD,R,CG", *options]
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout.split("\n")[:-1]


def processes(word: str) -> list[int]:
    """The processes whose command line has this word."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().decode("utf-8", errors="replace")
        except OSError:  # it has just ended
            continue
        if word in line and int(path.parent.name) != os.getpid():
            found.append(int(path.parent.name))
    return found


def wait_for(what: Callable[[], bool], seconds: float) -> bool:
    """Whether it comes true in this time."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if what():
            return True
        time.sleep(0.3)
    return what()
