"""`python -m hnclip.data.prepare CONFIG.json FOLDER` writes a benchmark's manifests and pictures."""

import argparse
from pathlib import Path

from hnclip.command import run
from hnclip.data.prepare import prepare
from hnclip.store import read_json


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m hnclip.data.prepare", description=__doc__)
    parser.add_argument("config", type=Path, help='JSON: {"name", "kind", "options", "splits"}')
    parser.add_argument("folder", type=Path, help="where SPLIT.parquet and images/ go")
    given = parser.parse_args()
    prepare(read_json(given.config), given.folder)


if __name__ == "__main__":
    run(main)
