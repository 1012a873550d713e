"""The report's first page, a piece of HTML, and the page of what the study was made with.

python -m hnclip.report.pages results/STUDY/study.json results/STUDY/tables results/STUDY/report
"""

import argparse
from pathlib import Path

from hnclip import store
from hnclip.command import run
from hnclip.report.first_page import first_page
from hnclip.report.load import Study, read_study
from hnclip.report.run_record import record_page


def write_pages(study: Study, folder: Path) -> None:
    store.write_text(Path(folder) / "first_page.html", first_page(study))
    store.write_text(Path(folder) / "record.html", record_page(study))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m hnclip.report.pages", description=__doc__.splitlines()[0])
    parser.add_argument("study", type=Path, help="study.json")
    parser.add_argument("tables", type=Path, help="folder of the collected tables")
    parser.add_argument("pages", type=Path, help="folder for the pages")
    given = parser.parse_args()
    write_pages(read_study(given.study, given.tables), given.pages)


if __name__ == "__main__":
    run(main)
