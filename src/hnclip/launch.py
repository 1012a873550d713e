"""`python -m hnclip.launch MODULE ARGUMENTS...` runs a command of hnclip on GPUs that no other job has.

Where a cell's recipe asks for several processes, `hnclip.train` is started as often: by torchrun on one machine, by
srun on several. Standard library only; the command takes this process's place, its signals and exit status with it.
"""

import json
import os
import sys
from collections.abc import MutableMapping
from pathlib import Path
from signal import SIGTERM
from typing import NamedTuple

from hnclip import gpu_slots
from hnclip.command import run

TRAIN = "hnclip.train"
# What stays of SLURM's variables for a step inside a step: the others are that step's own and would bind the new one.
JOB = ("SLURM_CONF", "SLURM_JOB_ID", "SLURM_JOBID", "SLURM_CLUSTER_NAME", "SLURM_SUBMIT_DIR", "SLURM_SUBMIT_HOST")
SECONDS = 60  # that torchrun leaves its processes to write a checkpoint, before it kills them
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")  # Snakemake sets them to the job's cores
PR_SET_PDEATHSIG = 1


class Processes(NamedTuple):
    """How many processes a command has on each of `nodes` machines, one a GPU, and how many threads each."""

    gpus: int = 1
    nodes: int = 1
    threads: int = 1


def wanted(module: str, arguments: list[str]) -> Processes:
    """What the recipe asks for. One process for other commands, and for a config that the trainer will refuse."""
    if module != TRAIN or not arguments:
        return Processes()
    try:
        recipe = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))["recipe"]
        counts = [recipe.get(key, 1) for key in ("gpus", "nodes", "threads")]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return Processes()
    return Processes(*counts) if all(type(count) is int and count > 0 for count in counts) else Processes()


def is_started(environ: MutableMapping[str, str]) -> bool:
    """True for one of several processes that torchrun or srun started already."""
    return {"RANK", "WORLD_SIZE"} <= environ.keys() or int(environ.get("SLURM_STEP_NUM_TASKS") or 1) > 1


def command(module: str, arguments: list[str], processes: Processes, environ: MutableMapping[str, str]) -> list[str]:
    """The command that takes this process's place; GPUs are locked and `environ` is set for it.

    Raises ValueError where a recipe asks for several machines outside a SLURM job, or for more GPUs than there are.
    """
    plain = [sys.executable, "-m", module, *arguments]
    if is_started(environ):
        return plain
    if processes.nodes > 1:
        return [*_srun(processes, environ), *plain]
    if gpus := gpu_slots.allowed(environ.get("CUDA_VISIBLE_DEVICES"), processes.gpus):
        taken = gpu_slots.take(gpus, processes.gpus, gpu_slots.lock_folder())
        environ["CUDA_VISIBLE_DEVICES"] = ",".join(gpus[number] for number in taken)
    if processes.gpus == 1:
        if int(environ.get("SLURM_NTASKS") or 1) > 1:  # the job's tasks, of which srun started none: this one is alone
            environ["SLURM_JOB_NAME"] = "interactive"  # by which Fabric is told so
        return plain
    environ.update(dict.fromkeys(THREADS, str(processes.threads)))
    environ.setdefault("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", str(SECONDS))
    torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes.gpus}"]
    return [sys.executable, *torchrun, "-m", "hnclip.launch", module, *arguments]


def _srun(processes: Processes, environ: MutableMapping[str, str]) -> list[str]:
    """A step of the SLURM job, with the tasks that Fabric counts. Takes the variables of an outer step away."""
    if "SLURM_JOB_ID" not in environ:
        raise ValueError(
            f"the recipe has `nodes: {processes.nodes}`, and this is no SLURM job: submit it with "
            "`snakemake --workflow-profile profiles/slurm`, run this command in a job of so many nodes, or start "
            f"`torchrun --nnodes={processes.nodes} --nproc-per-node={processes.gpus} ... -m {TRAIN}` on each machine"
        )
    for name in [name for name in environ if name.startswith(("SLURM_", "SRUN_")) and name not in JOB]:
        del environ[name]
    environ.update(dict.fromkeys(THREADS, str(processes.threads)))
    # A name of its own: Fabric takes steps called `bash` or `interactive` for one process. All the job's memory: the
    # outer step has it already.
    return [
        "srun",
        "--job-name=hnclip",
        "--overlap",
        f"--nodes={processes.nodes}",
        f"--ntasks={processes.nodes * processes.gpus}",
        f"--ntasks-per-node={processes.gpus}",
        f"--cpus-per-task={processes.threads}",
        "--mem=0",
        "--kill-on-bad-exit=1",
    ]


def end_with_parent() -> None:
    """Have this process sent SIGTERM when its parent is gone, as torchrun is when it is killed."""
    parent = os.getppid()
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        raise SystemExit(128 + SIGTERM)


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        raise ValueError("expected a module and its arguments: python -m hnclip.launch hnclip.train CONFIG FOLDER")
    module, *arguments = sys.argv[1:]
    if is_started(os.environ):
        end_with_parent()
    environ = dict(os.environ)
    line = command(module, arguments, wanted(module, arguments), environ)
    os.execvpe(line[0], line, environ)


if __name__ == "__main__":
    run(main)
