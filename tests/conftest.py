"""The commands that tests start find hnclip in the source tree, whether it is installed or not."""

import os
from pathlib import Path

SOURCE = str(Path(__file__).parents[1] / "src")

os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [SOURCE, os.environ.get("PYTHONPATH")]))
