"""GPUs of this machine, each given to one job at a time by lock files. Standard library only.

A lock is an open file that the job keeps to its end, through exec: a job that is killed frees its GPUs.
"""

import fcntl
import os
import re
import sys
import time
from pathlib import Path

from hnclip.claim import holder, try_lock

DRIVER = Path("/proc/driver/nvidia/gpus")
PAUSE = 0.5  # seconds between two looks at locks that are all taken


def installed() -> list[str]:
    """The UUIDs of this machine's NVIDIA GPUs, in the order of nvidia-smi; of a divided one (MIG), of its parts."""
    import shutil  # here, since most jobs need neither: a scheduler has chosen
    import subprocess

    if command := shutil.which("nvidia-smi"):
        done = subprocess.run([command, "-L"], capture_output=True, text=True)
        return _listed(done.stdout) if done.returncode == 0 else []
    files = sorted(DRIVER.glob("*/information"))
    return [found[1] for file in files if (found := re.search(r"(GPU-[-0-9a-f]+)", file.read_text()))]


def _listed(text: str) -> list[str]:
    """The UUIDs in what `nvidia-smi -L` prints: a line a GPU, and below it an indented line for each of its parts."""
    found: list[str] = []
    for line in text.splitlines():
        if match := re.search(r"UUID: ((?:GPU|MIG)-[^)\s]+)", line):
            if line[:1].isspace() and found and found[-1].startswith("GPU-"):
                found.pop()
            found.append(match[1])
    return found


def allowed(visible: str | None, count: int) -> list[str]:
    """The GPUs among which a job that needs `count` has to choose; none where nothing is to be chosen.

    visible: CUDA_VISIBLE_DEVICES; where somebody set it to no more than the job needs, that is what the job gets.
    Raises ValueError where the machine has GPUs, but fewer than `count`.
    """
    named = None if visible is None else [name.strip() for name in visible.split(",") if name.strip()]
    if named is not None and len(named) <= count:
        if len(named) < count and named not in ([], ["-1"], ["NoDevFiles"]):
            raise ValueError(f"the job needs {count} GPUs, and CUDA_VISIBLE_DEVICES={visible} has {len(named)}")
        return []
    gpus = installed()
    if named is not None:
        gpus = [gpus[int(name)] if name.isdigit() and int(name) < len(gpus) else name for name in named]
    if gpus and len(gpus) < count:
        raise ValueError(
            f"the job needs {count} GPUs, and this machine has {len(gpus)}: set `gpus: {len(gpus)}` in the recipe, "
            "which with the same `batch` trains the same"
        )
    return gpus if len(gpus) > 1 else []


def take(gpus: list[str], count: int, folder: Path) -> list[int]:
    """Lock `count` of these GPUs, as soon as so many are free; returns their positions.

    The locks are open files that a program started by exec inherits. Only one job at a time gathers, so that two
    cannot wait for each other, and one that needs many is not passed by for ever.
    """
    held: dict[int, int] = {}
    said = False
    turn = _turn(folder)
    try:
        while True:
            for number, gpu in enumerate(gpus):
                if len(held) < count and number not in held and (file := try_lock(folder / f"{gpu}.lock")) is not None:
                    held[number] = file
            if len(held) == count:
                break
            if not said:
                taken = [f"{gpu} ({holder(folder / f'{gpu}.lock')})" for n, gpu in enumerate(gpus) if n not in held]
                _say(f"waiting for {count - len(held)} of the GPUs that other jobs have: {'; '.join(taken)}")
                said = True
            time.sleep(PAUSE)
    finally:
        os.close(turn)
    for file in held.values():
        os.set_inheritable(file, True)
    return sorted(held)


def lock_folder() -> Path:
    """The folder of this user's lock files on this machine. Raises ValueError where it belongs to somebody else."""
    folder = Path(os.environ.get("TMPDIR") or "/tmp") / f"hnclip-gpus-{os.getuid()}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    state = folder.lstat()
    if folder.is_symlink() or state.st_uid != os.getuid():
        raise ValueError(f"{folder} is not a folder of yours: remove it, or set TMPDIR to another place")
    return folder


def _turn(folder: Path) -> int:
    """An open file that holds the right to gather GPUs."""
    path = folder / "turn.lock"
    if (file := try_lock(path)) is not None:
        return file
    _say(f"waiting for GPUs behind {holder(path)}")
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
