"""What a change of captions embedded by themselves, or of their encoder, runs again."""

import json

import pytest
from dag_world import Study

TARGETS = ["results/captions/words/own.parquet", "results/captions/words/drawn.parquet"]


def overlay(**encoder) -> dict:
    return {
        "captions": {
            "own": {"file": "own.jsonl", "encoder": "words"},
            "drawn": {"split": "scenes/test", "encoder": "words"},
        },
        "encoders": {"words": {"kind": "sentence_transformer", "folder": "model", **encoder}},
    }


@pytest.mark.slow
def test_captions_and_encoders_run_what_hangs_on_them(tmp_path):
    study = Study(tmp_path)
    (tmp_path / "model").mkdir()
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / "model" / name).write_text(json.dumps({}))
    (tmp_path / "model/model.safetensors").write_bytes(b"first")
    (tmp_path / "own.jsonl").write_text("first")
    study.snakemake(overlay(), *TARGETS)
    own, drawn = "Embedding the captions own with words", "Embedding the captions drawn with words"
    assert study.jobs(overlay(context=128), *TARGETS) == {"Config of encoder words", own, drawn}
    (tmp_path / "own.jsonl").write_text("second, longer")
    assert study.jobs(overlay(), *TARGETS) == {own}
    (tmp_path / "model/model.safetensors").write_bytes(b"second, longer")
    assert study.jobs(overlay(), *TARGETS) == {own, drawn}
