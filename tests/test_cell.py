"""The grid of cells: paths with one spelling, a set without doubles, records of what a cell depends on."""

import copy
import json
from pathlib import Path

import pytest
import yaml

from hnclip.cell import Cell, grid, needs_embeddings, resolve, targets

ROOT = Path(__file__).parents[1]
CELL = Cell("tiny", "scenes", "longclip", "hn", 100, 42)


@pytest.fixture
def config() -> dict:
    return yaml.safe_load((ROOT / "config.yaml").read_text())


def test_every_path_of_the_grid_parses_back(config):
    found = grid(config)
    assert {Cell.parse(str(cell)) for cell in found} == found
    assert str(Cell("b", "t", "f", "l", 5, 0)) == "b/t/f/l/f005/s0"


@pytest.mark.parametrize(
    "text",
    ["tiny/scenes/longclip/hn/f5/s42", "tiny/scenes/longclip/hn/f0100/s42", "tiny/scenes/longclip/hn/f100/s042",
     "tiny/scenes/longclip/hn/f100", "tiny/scenes/longclip/hn/f100/s42/", "tiny/scenes/longclip/hn/fxyz/s42", ""],
)  # fmt: skip
def test_another_spelling_is_refused(text):
    with pytest.raises(ValueError, match="BACKBONE/TRAIN/FRAMEWORK/LOSS/fPPP/sSEED"):
        Cell.parse(text)


def test_a_cell_of_two_grids_is_one_cell(config):
    separate = sum(len(grid({**config, "run": [name]})) for name in config["run"])
    assert CELL in grid({**config, "run": ["main"]}) & grid({**config, "run": ["fractions"]})
    assert len(grid(config)) < separate


def test_the_order_of_a_list_does_not_matter(config):
    other = copy.deepcopy(config)
    other["run"].reverse()
    other["grids"]["main"]["seeds"].reverse()
    assert grid(other) == grid(config)
    assert resolve(other, CELL) == resolve(config, CELL)


def test_a_record_depends_on_what_the_cell_uses(config):
    before = {cell: json.dumps(resolve(config, cell)) for cell in grid(config)}

    def changed(*path, value) -> set[str]:
        other = copy.deepcopy(config)
        entry = other
        for key in path[:-1]:
            entry = entry[key]
        entry[path[-1]] = value
        return {cell.loss for cell in before if json.dumps(resolve(other, cell)) != before[cell]}

    every = {cell.loss for cell in before}
    assert changed("losses", "hn", "gamma", value=0.7) == {"hn"}
    assert changed("losses", "infonce", "scale", value=50) == {"infonce"}
    assert changed("losses", "frozen", "gamma", value=0.7) == set()
    assert changed("report", "bootstrap", value=7) == set()
    assert changed("benchmarks", "scenes-long", "options", "seed", value=9) == set()
    assert changed("grids", "main", "seeds", value=[1]) == set()
    assert changed("recipe", "lr", value=1.0) == every
    assert changed("backbones", "tiny", "context", value=77) == every
    assert changed("frameworks", "goal", "recipe", value={"lr": 2.0}) == {"infonce", "hn"}


def test_a_frameworks_recipe_overrides_the_common_one(config):
    config["frameworks"]["longclip"]["recipe"] = {"chunk": 4}
    made = resolve(config, CELL)
    assert made["recipe"] == {**config["recipe"], "chunk": 4}
    assert made["framework"] == {"kind": "longclip"}
    assert config["frameworks"]["longclip"]["recipe"] == {"chunk": 4}


def test_the_frozen_boost_reads_the_embeddings_of_the_training_split(config):
    frozen = Cell("tiny", "scenes", "longclip", "frozen", 100, 42)
    assert needs_embeddings(config, frozen) and not needs_embeddings(config, CELL)
    assert resolve(config, frozen)["data"]["train"]["embeddings"] == "results/embeddings/tiny/scenes/train.parquet"
    assert "embeddings" not in resolve(config, CELL)["data"]["train"]


def test_a_cell_is_not_evaluated_on_its_own_benchmark_again(config):
    config["grids"]["main"]["transfer"] = ["scenes-long", "scenes"]
    assert targets(config, CELL) == ["scenes-long"]
    assert targets(config, Cell("tiny", "scenes", "hnclip", "hn", 100, 42)) == []
