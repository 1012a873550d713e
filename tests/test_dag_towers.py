"""What a change of the files of a backbone or its tokenizer runs again."""

import json
import os
import shutil

import pytest
from dag_world import OVERLAY, TRANSFORM, Study, changed

SPLITS = ("train", "validation", "test", "unseen")


@pytest.mark.slow
def test_other_files_of_a_tokenizer_tokenise_again_and_train_what_hangs_on_it(tmp_path):
    study, words = Study(tmp_path), tmp_path / "words"
    words.mkdir()
    for name in ("tokenizer.json", "README.md"):
        (words / name).write_text("{}")
    own = {"kind": "starter", "context": 248, "tokenizer": "hf:words", "transform": {**TRANSFORM, "size": 48}}
    grid = {**OVERLAY["grids"]["some"], "backbones": ["tiny", "own"], "losses": ["infonce"]}
    overlay = changed(backbones={"own": own}, grids={"some": grid})
    study.snakemake(overlay)
    assert study.jobs(overlay) == set()
    (words / "README.md").write_text("other words")
    assert study.jobs(overlay) == set()
    (words / "tokenizer.json").write_text('{"other": 1}')
    found = study.jobs(overlay)
    tokens = {job.rpartition(" by ")[0] for job in found if job.startswith("Tokenising")}
    assert tokens == {f"Tokenising scenes/{split}" for split in SPLITS} | {"Tokenising scenes-long/test"}
    assert all("hf-words" in job for job in found if job.startswith("Tokenising"))
    cell = "own/scenes/longclip/infonce/s1"
    assert {f"Training {cell}", f"Evaluating {cell} on scenes-long", "Writing tables"} <= found
    assert {job for job in found if "with the frozen own" in job}
    others = ("Training infonce", "Evaluating infonce", "Decoding", "Preparing", "Config")
    assert not [job for job in found if "frozen tiny" in job or job.startswith(others)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["open_clip_config.json", "open_clip_model.safetensors", "tokenizer.json"])
def test_each_file_of_a_model_in_a_folder_trains_again(tmp_path, name):
    study, folder = Study(tmp_path), tmp_path / "clip"
    folder.mkdir()
    text = {"context_length": 77, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 2, "hf_tokenizer_name": "any"}
    vision = {"image_size": 32, "layers": 2, "width": 16, "head_width": 8, "patch_size": 8}
    said = {"model_cfg": {"embed_dim": 8, "vision_cfg": vision, "text_cfg": text}, "preprocess_cfg": {}}
    (folder / "open_clip_config.json").write_text(json.dumps(said))
    for other in ("open_clip_model.safetensors", "tokenizer.json", "preprocessor_config.json"):
        (folder / other).write_text("{}")
    model = {"kind": "open_clip", "model": "local-dir:clip", "tokenizer": "open_clip:local-dir:clip", "context": 77}
    grid = {**OVERLAY["grids"]["some"], "backbones": ["own"], "losses": ["infonce"], "transfer": []}
    overlay = changed(backbones={"own": {**model, "transform": TRANSFORM}}, grids={"some": grid})
    target = "results/dag/runs/own/scenes/longclip/infonce/f100/s1/run.json"
    study.snakemake(overlay, target)
    (folder / "preprocessor_config.json").write_text("other words")
    assert study.jobs(overlay, target) == set()
    (folder / name).write_text((folder / name).read_text() + " ")
    found = study.jobs(overlay, target)
    assert "Training own/scenes/longclip/infonce/s1" in found
    tokenised = {job for job in found if job.startswith("Tokenising")}
    assert bool(tokenised) == (name != "open_clip_model.safetensors") and not any("Decoding" in job for job in found)


@pytest.mark.slow
def test_a_package_in_another_environment_runs_nothing_again_and_another_package_trains(tmp_path):
    study, first, second = Study(tmp_path), tmp_path / "first", tmp_path / "second"
    for name, files in {
        "some_words": {"config.json": '{"hidden_size": 8, "model_type": "bert"}', "vocab.txt": "a b"},
        "some_pictures": {},
    }.items():
        (first / name).mkdir(parents=True)
        for file, text in {"__init__.py": "", "model.safetensors": " " * 2_000_000, **files}.items():
            (first / name / file).write_text(text)
    entry = {"kind": "joined", "image": "package:some_pictures", "text": "package:some_words", "context": 77}
    entry |= {"tokenizer": "package:some_words", "transform": TRANSFORM}
    grid = {**OVERLAY["grids"]["some"], "backbones": ["own"], "losses": ["infonce"], "transfer": []}
    overlay = changed(backbones={"own": entry}, grids={"some": grid})

    def installed(where):
        study.environment["PYTHONPATH"] = os.pathsep.join([str(where), os.environ.get("PYTHONPATH", "")])

    installed(first)
    study.snakemake(overlay)
    assert study.jobs(overlay) == set()
    shutil.copytree(first, second, copy_function=shutil.copy)  # with times of its own
    shutil.rmtree(first)
    installed(second)
    assert study.jobs(overlay) == set()
    (second / "some_pictures/model.safetensors").write_text("others")
    found = study.jobs(overlay)
    assert {"Hash of the model in package some_pictures", "Training own/scenes/longclip/infonce/s1"} <= found
    assert "Hash of the model in package some_words" not in found
    assert not any(job.startswith("Tokenising") for job in found)
    (second / "some_words/vocab.txt").write_text("a c")
    assert {job.partition(" ")[0] for job in study.jobs(overlay)} >= {"Tokenising", "Training", "Writing"}
