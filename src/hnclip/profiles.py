"""Which Snakemake profile a command line names, and whether its jobs run on a cluster. No torch.

Snakemake itself passes over a `--workflow-profile` that does not exist, and a study meant for a cluster would run here.
"""

import os
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from hnclip.options import unknown

NAMES = ("profile.yaml", "config.yaml")
HERE = ("local", "dryrun", "touch")  # executors whose jobs run on this machine


def chosen(arguments: Sequence[str], root: Path) -> str | None:
    """The executor that Snakemake's command line names, by itself or by its workflow profile.

    Raises ValueError for a workflow profile that is neither here nor under `profiles/` of the workflow in `root`.
    """
    parser = ArgumentParser(add_help=False)
    parser.add_argument("--workflow-profile")
    parser.add_argument("--executor", "-e")
    given, _ = parser.parse_known_args([part for part in arguments if part != "--"])
    if given.workflow_profile in (None, "none"):
        return given.executor
    found = _file(given.workflow_profile, root)
    return given.executor or (yaml.safe_load(found.read_text(encoding="utf-8")) or {}).get("executor")


def on_cluster(executor: str | None, environment: Mapping[str, str]) -> bool:
    """Whether jobs run elsewhere: their executor says so, or this is such a job."""
    return "SLURM_JOB_ID" in environment or executor not in (None, *HERE)


def _file(name: str, root: Path) -> Path:
    """The file of a workflow profile, looked for where Snakemake does.

    It looks before `--directory` takes it elsewhere: in the folder that the shell still tells.
    """
    before = Path(os.environ.get("PWD", "."))
    for folder in [
        *(base / part / name for base in (Path(), before) for part in ("", "profiles")),
        root / "profiles" / name,
    ]:
        for path in [folder, *(folder / file for file in NAMES)]:
            if path.is_file():
                return path
        if folder.exists():
            raise ValueError(f"--workflow-profile {name}: {folder} has no profile.yaml")
    known = [f"profiles/{path.parent.name}" for path in sorted((root / "profiles").glob("*/profile.yaml"))]
    raise ValueError(f"--workflow-profile: {unknown('profile', name, known)}")
