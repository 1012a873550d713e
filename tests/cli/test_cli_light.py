"""Help comes at once: nothing heavy is loaded for it."""

import subprocess
import sys

HEAVY = {"torch", "open_clip", "pandas", "pyarrow", "matplotlib", "snakemake", "numpy", "transformers", "faiss"}
CODE = f"""
import sys
from typer.main import get_command
from typer.testing import CliRunner
from hnclip.cli.app import app
names = list(get_command(app).commands)
for command in [[], *([name] for name in names)]:
    done = CliRunner().invoke(app, [*command, "--help"])
    assert done.exit_code == 0 and "Usage" in done.output, (command, done.output)
print(sorted({HEAVY!r} & set(sys.modules)), len(names))
"""


def test_no_help_loads_anything_heavy():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    loaded, count = done.stdout.rsplit(" ", 1) if done.stdout else (done.stderr, 0)
    assert loaded == "[]", loaded
    assert int(count) >= 8
