"""A cell chosen by hand from a study's config."""

import pytest

from hnclip import one_cell
from hnclip.cell import Cell, grid

CONFIG = {
    "study": "own",
    "run": ["g"],
    "grids": {
        "g": {
            "backbones": ["tiny"],
            "train": ["own"],
            "frameworks": ["longclip", "goal"],
            "losses": ["infonce", "hn"],
            "fractions": [100],
            "seeds": [1, 2],
        }
    },
}
GOAL = Cell("tiny", "own", "goal", "hn", 100, 2)


def test_parts_in_which_cells_differ_are_enough():
    assert one_cell.chosen(CONFIG, framework="goal", loss="hn", seed=2, fraction=None) == GOAL


@pytest.mark.parametrize("text", [str(GOAL), f"results/own/runs/{GOAL}", f"/home/me/results/own/runs/{GOAL}/"])
def test_a_cell_is_named_by_its_path_or_by_its_runs_folder(text):
    assert one_cell.parse(text, CONFIG) == GOAL


def test_of_several_all_are_listed_with_the_options_that_tell_them_apart():
    with pytest.raises(ValueError, match="--framework --seed") as told:
        one_cell.chosen(CONFIG, loss="hn")
    assert str(GOAL) in str(told.value) and "infonce" not in str(told.value)


def test_a_cell_of_no_grid_needs_what_is_open_in_the_study():
    with pytest.raises(ValueError, match=r"--framework goal \| longclip; --seed 1 \| 2"):
        one_cell.chosen(CONFIG, loss="margin")
    cell = one_cell.chosen(CONFIG, loss="margin", framework="goal", seed=7)
    assert cell == Cell("tiny", "own", "goal", "margin", 100, 7)


def test_a_cell_of_no_grid_becomes_one_of_the_study():
    cell = Cell("tiny", "own", "goal", "margin", 100, 7)
    more = one_cell.overlay(CONFIG, cell)
    assert grid({**CONFIG, "run": more["run"], "grids": CONFIG["grids"] | more["grids"]}) == grid(CONFIG) | {cell}
    assert one_cell.overlay(CONFIG, GOAL) is None
