"""The tables of a study as CSV, HTML, Markdown and LaTeX.

python -m hnclip.report.tables results/STUDY/study.json results/STUDY/tables results/STUDY/tables
"""

import argparse
from pathlib import Path

import pandas

from hnclip import store
from hnclip.command import run
from hnclip.report.contents import TABLES
from hnclip.report.difference_table import difference_table
from hnclip.report.efficiency_table import efficiency_table
from hnclip.report.fraction_table import fraction_table
from hnclip.report.gamma_table import gamma_table
from hnclip.report.geometry_table import geometry_table
from hnclip.report.gradient_table import gradient_table
from hnclip.report.load import Study, read_study
from hnclip.report.main_table import main_table
from hnclip.report.overlap_table import overlap_table
from hnclip.report.paper_table import paper_table
from hnclip.report.plugin_table import plugin_table
from hnclip.report.recomputed_table import recomputed_table
from hnclip.report.saturation import saturation_table
from hnclip.report.seeds_table import seeds_table
from hnclip.report.table_page import table_page
from hnclip.report.token_table import token_table
from hnclip.report.transfer_table import transfer_table
from hnclip.report.tuning_table import tuning_table
from hnclip.report.verdict_table import verdict_table
from hnclip.report.writer import Table, latex, markdown


def write(name: str, tables: list[Table], rows: pandas.DataFrame, folder: Path) -> None:
    """NAME.csv with two decimals; NAME.html, NAME.md and NAME.tex as printed."""
    folder = Path(folder)
    csv = rows.to_csv(index=False, float_format="%.2f", lineterminator="\n")
    store.write_text(folder / f"{name}.csv", csv)
    store.write_text(folder / f"{name}.html", table_page(name, TABLES[name], tables, csv))
    store.write_text(folder / f"{name}.md", markdown(tables))
    store.write_text(folder / f"{name}.tex", latex(tables))


def write_tables(study: Study, folder: Path) -> None:
    write("verdicts", *verdict_table(study), folder)
    write("main", *main_table(study), folder)
    write("differences", *difference_table(study), folder)
    write("fractions", *fraction_table(study), folder)
    write("plugin", *plugin_table(study), folder)
    write("efficiency", *efficiency_table(study), folder)
    write("overlap", *overlap_table(study), folder)
    write("gamma", *gamma_table(study), folder)
    write("token_term", *token_table(study), folder)
    write("recomputed", *recomputed_table(study), folder)
    write("tuning", *tuning_table(study), folder)
    write("transfer", *transfer_table(study), folder)
    write("seeds", *seeds_table(study), folder)
    write("geometry", *geometry_table(study), folder)
    write("gradients", *gradient_table(study), folder)
    write("saturation", *saturation_table(study), folder)
    write("paper", *paper_table(study), folder)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m hnclip.report.tables", description=__doc__.splitlines()[0])
    parser.add_argument("study", type=Path, help="study.json")
    parser.add_argument("tables", type=Path, help="folder of the collected tables")
    parser.add_argument("out", type=Path, help="folder for the finished ones")
    given = parser.parse_args()
    write_tables(read_study(given.study, given.tables), given.out)


if __name__ == "__main__":
    run(main)
