"""The config's check of downloads."""

from pathlib import Path

import pytest
import yaml

from hnclip.check import check

ROOT = Path(__file__).parents[1]
SCHEMA = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())


@pytest.fixture
def config() -> dict:
    return yaml.safe_load((ROOT / "config.yaml").read_text())


def message(config: dict) -> str:
    with pytest.raises(ValueError) as caught:
        check(config, SCHEMA)
    return str(caught.value)


def test_sources_and_their_files_are_known_ones(config):
    config["sources"] = {
        "docc": {},
        "docci": {"files": {"docci_images.tgz": "x"}},
        "dci": {"sha256": {"dci.tar.gz": "0"}},
        "visual_genome": {"mirror": "server"},
        "urban1k": {"mirorr": "http://server"},
    }
    text = message(config)
    assert "sources.docc: unknown source 'docc' (did you mean 'docci'?)" in text
    assert "sources.docci.files: unknown file 'docci_images.tgz' (did you mean 'docci_images.tar.gz'?)" in text
    assert "that of dci.tar.gz has to be 64 digits" in text
    assert "mirror: expected http://... or https://..., got 'server'" in text
    assert "sources.urban1k: unknown key 'mirorr' (did you mean 'mirror'?)" in text


def test_files_of_a_source_have_to_be_there_where_the_study_uses_them(config, tmp_path):
    config["sources"] = {"docci": {"files": {"docci_images.tar.gz": str(tmp_path / "none.tar.gz")}}}
    check(config, SCHEMA)
    entry = {"kind": "docci", "options": {}, "train": "train", "validation": None, "test": ["test"]}
    config["benchmarks"]["docci"] = entry
    config["grids"]["main"]["transfer"] = ["docci"]
    assert f"sources.docci.files: there is no file {tmp_path / 'none.tar.gz'}" in message(config)
    config["sources"]["docci"]["files"]["docci_images.tar.gz"] = str(tmp_path)  # unpacked already
    check(config, SCHEMA)
