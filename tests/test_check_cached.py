"""Frameworks on cached embeddings: which backbones and benchmarks they can have, and what their cells depend on."""

import copy
from pathlib import Path

import pytest
import yaml

from hnclip import cell as cells
from hnclip import split_files
from hnclip.cell import Cell
from hnclip.check_cached import cached_problems
from hnclip.study_runs import embedded_splits

ROOT = Path(__file__).parents[1]
OWN = {"kind": "embeddings", "file": "own.parquet"}
SPLITS = {"train": "train", "validation": None, "test": ["test"]}


@pytest.fixture
def config() -> dict:
    found = yaml.safe_load((ROOT / "config.yaml").read_text())
    found["backbones"]["own"] = OWN
    options = {"file": "own.parquet", "split_hash": {"train": 80, "test": 20}}
    found["benchmarks"]["own"] = {"kind": "embeddings", "options": options, **SPLITS}
    return found


def of(config: dict, **axes: list[str]) -> list[str]:
    """The problems of the grid `main` with these axes."""
    changed = copy.deepcopy(config)
    changed["grids"]["main"] |= axes
    return list(cached_problems({**changed, "run": ["main"]}))


def test_what_fits_has_no_problem(config):
    assert of(config) == []
    assert of(config, frameworks=["adapter"]) == []
    assert of(config, frameworks=["adapter"], backbones=["own"], train=["own"]) == []
    assert of(config, frameworks=["adapter"], backbones=["own"]) == []  # embeddings of pictures that are here, too


def test_what_does_not_fit_is_named_with_the_way_out(config):
    found = of(config, backbones=["own"])
    assert found == [
        "backbones.own has embeddings and no towers, which framework 'longclip' trains: take framework adapter, or "
        "another whose entry says `inputs: {embeddings: true}`"
    ]
    assert (
        "benchmarks.own has embeddings and no pictures, on which framework 'longclip'" in of(config, train=["own"])[0]
    )
    found = of(config, frameworks=["adapter"], train=["own"])
    assert "benchmarks.own has embeddings and no pictures for backbone 'tiny'" in found[0] and len(found) == 1


def test_duplicates_are_masked_only_where_there_are_words(config):
    axes = {"frameworks": ["adapter"], "backbones": ["own"], "train": ["own"], "losses": ["hn", "masked"]}
    assert of(config, **axes) == [
        "losses.masked.mask_duplicates: benchmarks.own has no words that could be the same; name its "
        "`caption_column`, or leave the loss out"
    ]
    config["benchmarks"]["own"]["options"]["caption_column"] = "words"
    assert of(config, **axes) == []


def test_what_needs_towers_or_pixels_is_refused(config):
    config["frameworks"]["adapter"]["inputs"]["edges"] = "canny"
    config["frameworks"]["adapter"]["recipe"] |= {"strategy": "fsdp", "train_filter": "local_pairs"}
    found = "\n".join(of(config, frameworks=["adapter"]))
    assert "frameworks.adapter.inputs: cached embeddings stand alone, beside no edges" in found
    assert "`strategy` can only be ddp" in found and "`train_filter` can only be none" in found


def test_a_cached_cell_depends_on_embeddings_and_neither_pixels_nor_tokens(config):
    cell = Cell("tiny", "scenes", "adapter", "frozen", 100, 1)
    data = cells.resolve(config, cell)["data"]
    assert data["train"]["embeddings"] == "results/embeddings/tiny/scenes/train.parquet"
    assert {key for record in (data["train"], data["validation"], *data["test"]) for key in record} == {
        "name",
        "manifest",
        "embeddings",
    }
    files = split_files.data_files(config, "tiny", "scenes", ["train"], cached=True)
    assert files == ["results/data/scenes/train.parquet", "results/embeddings/tiny/scenes/train.parquet"]
    kept = embedded_splits(config, cell, "scenes")["splits"]
    assert [record["embeddings"] for record in kept][0] == data["train"]["embeddings"]
    assert "pixels" in cells.resolve(config, Cell("tiny", "scenes", "longclip", "hn", 100, 1))["data"]["train"]
