"""Commands that lack arguments tell their usage."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "usage"),
    [
        ("hnclip.embed", "backbone manifest pixels tokens out out_ranks"),
        ("hnclip.embed_run", "folder target out"),
        ("hnclip.evaluate", "folder target out"),
        ("hnclip.export", "--format {open_clip,transformers,adapter,peft,onnx} run out"),
    ],
)
def test_too_few_arguments_give_the_usage(command, usage):
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "COLUMNS": "200"}
    done = subprocess.run([sys.executable, "-m", command, "one.json"], capture_output=True, text=True, env=environment)
    assert done.returncode == 2
    assert done.stderr.startswith(f"usage: python -m {command} [-h] {usage}\n") and "required: " in done.stderr
