"""Minutes that jobs ask of a cluster: by the backbone, the data and the recipe."""

import pytest
import yaml
from dag_world import ROOT

from hnclip import cell as cells
from hnclip.cell import Cell
from hnclip.plan.memory import megabytes
from hnclip.plan.runtime import LEAST, UNKNOWN, Minutes

PAPER = "workflow/studies/paper.yaml"
CELL_FIELDS = ("longclip-l", "docci", "structxlip", "hn")
CELL = Cell(*CELL_FIELDS, 100, 42)


@pytest.fixture
def config(monkeypatch, tmp_path) -> dict:
    """The paper's study, in a folder where nothing is prepared yet."""
    from hnclip.plan.config import merge

    monkeypatch.chdir(tmp_path)
    base, overlay = (yaml.safe_load((ROOT / name).read_text()) for name in ("config.yaml", PAPER))
    return merge(base, overlay)


def test_the_page_tells_what_the_cells_of_the_study_ask_for(config):
    minutes = Minutes(config)
    asked = [minutes.training(cell) for cell in cells.trained(config)]
    told = f"{megabytes(config['backbones']['longclip-l']) / 1000:.1f} GB, and {min(asked)} to {max(asked)} minutes"
    assert told in (ROOT / "docs" / "slurm.md").read_text(encoding="utf-8")


def test_a_share_of_the_data_takes_less(config):
    whole, fifth = (Minutes(config).training(Cell(*CELL_FIELDS, share, 42)) for share in (100, 20))
    assert LEAST < fifth < whole


def test_processes_share_the_training(config):
    alone = Minutes(config).training(CELL)
    config["recipe"].update(gpus=4, nodes=2)
    together = Minutes(config).training(CELL)
    assert LEAST + (alone - LEAST) / 8 <= together < alone / 2


def test_a_smaller_backbone_takes_less(config):
    large = Minutes(config).training(CELL)
    config["backbones"]["longclip-l"]["weights"] = "hub:BeichenZhang/LongCLIP-B/longclip-B.pt"
    assert Minutes(config).training(CELL) - LEAST < (large - LEAST) / 2


def test_a_released_file_at_hand_is_not_read(config, tmp_path):
    path = tmp_path / "longclip.pt"
    path.write_bytes(b"\0" * 1000)
    config["backbones"]["longclip-l"]["weights"] = str(path)
    assert LEAST < Minutes(config).training(CELL) < UNKNOWN


def test_data_of_unknown_size_get_much(config):
    config["benchmarks"]["docci"] = {**config["benchmarks"]["docci"], "kind": "folder", "options": {}}
    minutes = Minutes(config)
    assert minutes.training(CELL) == minutes.embedding("longclip-l", "docci", ["test"]) == UNKNOWN


def test_shards_share_the_search_for_regions(config):
    sharded = Minutes(config).regions("sam", "docci", "train")
    config["segments"]["sam"]["shards"] = 1
    assert Minutes(config).regions("sam", "docci", "train") - LEAST == pytest.approx(16 * (sharded - LEAST), rel=0.02)
