"""The figures of a study, each as PDF and PNG, and as a page that holds both.

python -m hnclip.report.figures results/STUDY/study.json results/STUDY/tables results/STUDY/figures
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import matplotlib
from matplotlib import pyplot
from matplotlib.figure import Figure

from hnclip import store
from hnclip.command import run
from hnclip.report import contents, style
from hnclip.report.controls import draw_controls
from hnclip.report.cosines import draw_caption_cosines
from hnclip.report.curves import draw_epochs, draw_fractions
from hnclip.report.figure_page import figure_page
from hnclip.report.gamma_figure import draw_gamma
from hnclip.report.geometry_figure import draw_geometry
from hnclip.report.gradients import draw_gradients, draw_gradients_by
from hnclip.report.heat_map import draw_heat_map
from hnclip.report.load import Study, read_study
from hnclip.report.retrieved_figure import draw_retrieved
from hnclip.report.saturation_figure import draw_saturation
from hnclip.report.twins_figure import draw_near_twins

FIGURES: dict[str, Callable[[Study], Figure]] = {
    "controls": draw_controls,
    "gamma": draw_gamma,
    "fractions": draw_fractions,
    "epochs": draw_epochs,
    "caption_cosines": draw_caption_cosines,
    "geometry": draw_geometry,
    "heat_map": draw_heat_map,
    "near_twins": draw_near_twins,
    "gradients": draw_gradients,
    "gradients_by": draw_gradients_by,
    "saturation": draw_saturation,
    "retrieved": draw_retrieved,
}


def write_figures(study: Study, folder: Path) -> None:
    """Every figure as NAME.pdf, NAME.png and NAME.html; where the study has no data for one, the figure says so."""
    folder = Path(folder)
    with matplotlib.rc_context(style.RC):
        for name, draw in FIGURES.items():
            figure = draw(study)
            for ending in ("pdf", "png"):
                save(figure, folder / f"{name}.{ending}", ending)
            pyplot.close(figure)
            png, pdf = ((folder / f"{name}.{ending}").read_bytes() for ending in ("png", "pdf"))
            store.write_text(folder / f"{name}.html", figure_page(name, contents.FIGURES[name], png, pdf))


def save(figure: Figure, path: Path, ending: str) -> None:
    store.write_whole(
        path,
        lambda part: figure.savefig(
            part, format=ending, bbox_inches="tight", pad_inches=0.05, metadata=style.METADATA[ending]
        ),
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m hnclip.report.figures", description=__doc__.splitlines()[0])
    parser.add_argument("study", type=Path, help="study.json")
    parser.add_argument("tables", type=Path, help="folder of the collected tables")
    parser.add_argument("figures", type=Path, help="folder for the figures")
    given = parser.parse_args()
    write_figures(read_study(given.study, given.tables), given.figures)


if __name__ == "__main__":
    run(main)
