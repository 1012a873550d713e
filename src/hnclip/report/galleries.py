"""The galleries of a study, each one self-contained HTML page.

python -m hnclip.report.galleries results/STUDY/study.json results/STUDY/tables results/STUDY/galleries
"""

import argparse
from collections.abc import Callable
from pathlib import Path

from hnclip import store
from hnclip.command import run
from hnclip.report.load import Study, read_study
from hnclip.report.near_twins import near_twins
from hnclip.report.retrieved_gallery import retrieved_gallery

GALLERIES: dict[str, Callable[[Study], str]] = {
    "near_twins": near_twins,
    "retrieved": retrieved_gallery,
}


def write_galleries(study: Study, folder: Path) -> None:
    """Every gallery as NAME.html; where the study has no data for one, the page says so."""
    for name, make in GALLERIES.items():
        store.write_text(Path(folder) / f"{name}.html", make(study))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m hnclip.report.galleries", description=__doc__.splitlines()[0])
    parser.add_argument("study", type=Path, help="study.json")
    parser.add_argument("tables", type=Path, help="folder of the collected tables")
    parser.add_argument("galleries", type=Path, help="folder for the pages")
    given = parser.parse_args()
    write_galleries(read_study(given.study, given.tables), given.galleries)


if __name__ == "__main__":
    run(main)
