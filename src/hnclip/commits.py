"""Of which commit the code is that trains cells, and what is said where a study would mix several. No torch."""

import subprocess
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from hnclip import __version__
from hnclip import cell as cells
from hnclip.cell import Config
from hnclip.store import read_json

WOULD_STOP = "As it stands, this run would stop before its first job:"
WAYS_OUT = (
    "Train the older ones anew (delete their run folders), or set `allow_mixed_commits: true` in the config "
    "if the code between these commits does not change results."
)


def commit() -> tuple[str, bool]:
    """The last commit that touched the code a cell is trained with, and whether it differs: changed or new files.

    Outside a repository, the release.
    """
    folder = Path(__file__).parent
    code = ("--", ".", ":(exclude)report")

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()

    try:
        name = git("log", "-1", "--format=%H", *code)
        differs = git("status", "--porcelain", "--untracked-files=no", *code) or git(
            "ls-files", "--others", "--exclude-standard", "--", "*.py", ":(exclude)report"
        )
        return name or f"release {__version__}", bool(differs)
    except (subprocess.CalledProcessError, FileNotFoundError):
        return f"release {__version__}", False


def mixed(runs: Iterable[dict[str, Any]]) -> str:
    """Which cells each commit trained, a line each; empty where one did. A run has `cell`, `commit` and `dirty`."""
    states: dict[str, list[str]] = {}
    for run in runs:
        state = f"{run['commit'] or 'no commit'}{' with uncommitted changes' if run['dirty'] else ''}"
        states.setdefault(state, []).append(run["cell"])
    if len(states) < 2:
        return ""
    return "\n".join(f"  {state}: {', '.join(found)}" for state, found in states.items())


def would_mix(config: Config, left: Iterable[str], root: Path = Path()) -> str:
    """What to say where the code as it is would train `left` beside runs of another commit; empty where it may.

    As the study's tables will judge it: of all its cells, those that choose the settings of tuned losses included,
    with what the config allows. A run whose record cannot be read says nothing here.
    """
    left = sorted(left)
    if not left or config.get("allow_mixed_commits", False):
        return ""
    runs = []
    for cell in sorted(set(map(str, cells.trained(config))) - set(left)):
        with suppress(OSError, ValueError, AttributeError):
            record = read_json(root / cells.run_folder(config, cell) / "run.json")
            runs.append({"cell": cell, "commit": record.get("commit"), "dirty": record.get("dirty")})
    if not runs:
        return ""
    name, dirty = commit()
    runs += [{"cell": f"{cell} (still to train)", "commit": name, "dirty": dirty} for cell in left]
    if not (listed := mixed(runs)):
        return ""
    return (
        f"the cells of study {config['study']} would be trained by different commits, which its tables refuse:\n"
        f"{listed}\n"
        f"{WAYS_OUT} Or train the rest with the code that trained these: check out its commit."
    )
