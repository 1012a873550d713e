"""A folder in which the workflow runs with stubs for its commands, and the overlay of a small study."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
STUB = Path(__file__).with_name("commands_stub.py")

TRANSFORM = {"size": 32, "interpolation": "bicubic", "resize": "shortest", "exif": "ignore"}
OVERLAY = {
    "study": "dag",
    "run": ["some"],
    "grids": {
        "some": {
            "backbones": ["tiny"],
            "train": ["scenes"],
            "frameworks": ["longclip"],
            "losses": ["infonce", "hn", "frozen"],
            "fractions": [100],
            "seeds": [1],
            "transfer": ["scenes-long"],
        }
    },
}


def changed(**sections) -> dict:
    return {**OVERLAY, **sections}


class Study:
    """A folder with the default config, in which the workflow runs with stubs for its commands."""

    def __init__(self, folder: Path):
        self.folder = folder
        shutil.copy(ROOT / "config.yaml", folder)
        stub = folder / "stub.sh"
        stub.write_text(
            'exec() { "$@"; }\n'
            'python() { if [ "$2" = hnclip.study ]; then command python "$@"; '
            'else shift; if [ "$1" = hnclip.launch ]; then shift; fi; '
            f"command python '{STUB}' \"$@\"; fi; }}\n"
        )
        self.environment = {**os.environ, "BASH_ENV": str(stub), "XDG_CACHE_HOME": str(folder / "cache")}

    def snakemake(self, overlay: dict | str, *options: str, fails: bool = False) -> str:
        path = self.folder / "overlay.yaml"
        path.write_text(overlay if isinstance(overlay, str) else yaml.safe_dump(overlay))
        done = subprocess.run(
            [sys.executable, "-m", "snakemake", "-s", ROOT / "Snakefile", "--directory", self.folder]
            + ["--configfile", path, "--cores", "4", *options],
            capture_output=True,
            text=True,
            env=self.environment,
        )
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stdout + done.stderr

    def jobs(self, overlay: dict, *targets: str) -> set[str]:
        """What a dry run would do, in the rules' own messages; cells without what they share."""
        text = (
            self.snakemake(overlay, "--dry-run", *targets).replace("tiny/scenes/longclip/", "").replace("/f100/", "/")
        )
        found = set(re.findall(r"^Job \d+: (.*)$", text, re.MULTILINE))
        assert bool(found) != ("Nothing to be done" in text), text
        return found
