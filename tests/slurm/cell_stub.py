"""Stands in for hnclip's commands in jobs: a training does what `behaviour.json` has for its loss, and notes each try.

hungry: takes more memory than a first try is given. late: a first try outlasts any time limit. fails: always. hangs:
for ten minutes. Other commands make their outputs, empty, as in tests of the graph.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from commands_stub import outputs  # noqa: E402

HUNGER = 3_400  # MB, beyond the 3,070 that a cell with the embedded backbone asks for at first


def note(loss: str) -> int:
    """Which try this is; memory and time that SLURM gives it go to `tries/LOSS`."""
    line = ["squeue", "--noheader", "--jobs", os.environ["SLURM_JOB_ID"], "--format", "%m %l"]
    given = subprocess.run(line, capture_output=True, text=True, check=True).stdout.strip()
    path = Path("tries") / loss
    path.parent.mkdir(exist_ok=True)
    with path.open("a") as file:
        print(given, file=file)
    return len(path.read_text().splitlines())


def train(loss: str, behaviour: str | None) -> None:
    count = note(loss)
    if behaviour == "fails":
        raise SystemExit(f"ValueError: {loss} fails")
    if behaviour == "hungry":
        held = b"x" * (HUNGER * 10**6)  # written, not only reserved
        time.sleep(4 if held else 0)  # SLURM looks at memory once a second
    if behaviour == "hangs" or (behaviour == "late" and count == 1):
        time.sleep(600)


if __name__ == "__main__":
    module, *arguments = sys.argv[1:]
    if module == "hnclip.train":
        of = json.loads(Path("behaviour.json").read_text())
        cell = json.loads(Path(arguments[0]).read_text())["cell"].split("/")
        train(cell[3], of.get(cell[3]))
    for path in outputs(module, arguments):
        path.write_bytes(b"")
