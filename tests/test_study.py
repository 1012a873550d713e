"""A study's record: what its tables are made from."""

from hashlib import sha256
from pathlib import Path

import pytest
import yaml

from hnclip import cell as cells
from hnclip.cell import Cell
from hnclip.study import narrow, record, sources, user_files
from hnclip.study_runs import choice_record, embedded_splits

ROOT = Path(__file__).parents[1]


@pytest.fixture
def config() -> dict:
    return yaml.safe_load((ROOT / "config.yaml").read_text())


def test_the_record_lists_every_cell_once_in_order(config):
    listed = [entry["cell"] for entry in record(config)["cells"]]
    assert listed == [str(cell) for cell in sorted(cells.grid(config))]
    assert len(set(listed)) == len(listed) > 20


def test_the_record_lists_the_frozen_backbone_on_every_test_split(config):
    config["grids"]["main"]["transfer"] = ["scenes-long"]
    made = record(config)
    assert [(entry["benchmark"], entry["split"]) for entry in made["zero_shot"]] == [
        ("scenes", "test"),
        ("scenes", "unseen"),
        ("scenes-long", "test"),
    ]
    assert made["zero_shot"][2]["ranks"] == "results/embeddings/tiny/scenes-long/test.ranks.parquet"
    assert made["embeddings"][2]["path"] == "results/embeddings/tiny/scenes-long/test.parquet"


def test_a_transfer_is_evaluated_for_the_cells_of_its_grid_alone(config):
    config["grids"]["tuned"]["transfer"] = ["scenes-long"]
    with_eval = [entry for entry in record(config)["cells"] if entry["eval"]]
    assert [entry["cell"] for entry in with_eval] == sorted(
        f"tiny/scenes/longclip/infonce-tuned/f100/s{seed}" for seed in config["grids"]["tuned"]["seeds"]
    )
    assert with_eval[0]["eval"] == [f"{with_eval[0]['run']}/eval/scenes-long.parquet"]


def test_the_record_names_the_manifests_that_are_trained_or_tested_on(config):
    config["grids"]["main"]["transfer"] = ["scenes-long"]
    assert record(config)["manifests"] == {
        f"{name}/{split}": f"results/data/{name}/{split}.parquet"
        for name, splits in {"scenes": ("train", "test", "unseen"), "scenes-long": ("test",)}.items()
        for split in splits
    }
    assert record(narrow(config))["manifests"] == record(config)["manifests"]


def test_the_record_names_the_downloads_of_published_data_alone(config):
    assert record(config)["downloads"] == {}
    config["benchmarks"]["city"] = {"kind": "urban1k", "options": {}, "test": ["test"]}
    assert record(config)["downloads"] == {}
    config["grids"]["main"]["transfer"] = ["city"]
    assert record(config)["downloads"] == {"city": {"urban1k": "results/downloads/urban1k/fetched.json"}}


def test_near_copies_are_counted_where_a_test_split_was_taken_from_the_source_that_is_trained_on(config):
    config["benchmarks"]["city"] = {"kind": "urban1k", "options": {}, "test": ["test"]}
    config["grids"]["main"]["transfer"] = ["city"]
    assert record(config)["near"] == {}
    config["benchmarks"]["told"] = {"kind": "vg_paragraphs", "options": {}, "train": "train", "test": ["test"]}
    config["grids"]["main"]["train"] = ["scenes", "told"]
    assert record(config)["near"] == {"told": {"city/test": "results/overlap/told/train/city/test.json"}}


def test_narrow_keeps_what_the_study_uses_and_nothing_else(config):
    config["run"] = ["tuned"]
    kept = narrow(config)
    sections = ("grids", "benchmarks", "segments", "edges", "lexicons", "frameworks", "losses")
    assert {section: list(kept[section]) for section in sections} == {
        "grids": ["tuned"],
        "benchmarks": ["scenes"],
        "segments": [],
        "edges": [],
        "lexicons": [],
        "frameworks": ["longclip"],
        "losses": ["infonce-tuned"],
    }
    assert record(kept)["cells"] == record(config)["cells"] and "audit" not in kept and "tuning" in kept
    config["run"] = ["main"]
    assert "tuning" not in narrow(config)
    config["grids"]["main"] |= {"audit": True, "losses": ["margin"]}
    assert list(narrow(config)["losses"]) == ["infonce", "hn", "margin"] and "audit" in narrow(config)


@pytest.mark.parametrize(
    ("framework", "used"),
    [
        ("finelip", {"segments": [], "edges": [], "lexicons": []}),
        ("goal", {"segments": ["given"], "edges": [], "lexicons": []}),
        ("structxlip", {"segments": ["given"], "edges": ["canny"], "lexicons": ["colours"]}),
    ],
)
def test_narrow_keeps_the_inputs_of_the_frameworks_with_the_backbone_that_matches(config, framework, used):
    config["run"] = ["tuned"]
    config["grids"]["tuned"]["frameworks"] = [framework]
    config["backbones"]["other"] = config["backbones"]["tiny"]
    config["segments"]["given"]["backbone"] = "other"
    kept = narrow(config)
    assert {section: list(kept[section]) for section in used} == used
    assert set(kept["backbones"]) == ({"tiny", "other"} if used["segments"] else {"tiny"})


def test_the_file_that_regions_are_read_from_is_a_source(config, tmp_path):
    path = tmp_path / "segments.json"
    path.write_text("[]")
    config["segments"]["given"] = {"kind": "json", "backbone": "tiny", "options": {"path": str(path)}}
    assert str(path) in sources(config)["files"]
    config["run"] = ["tuned"]
    assert str(path) not in sources(config)["files"]


def test_the_files_of_a_model_in_a_folder_are_sources_and_one_of_the_hub_has_none(config, tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    config["segments"]["given"] = {"kind": "sam", "backbone": "tiny", "options": {"model": str(tmp_path)}}
    assert list(sources(config)["files"]) == [str(tmp_path / "model.safetensors")]
    config["segments"]["given"]["options"]["model"] = "facebook/sam-vit-huge"
    assert sources(config)["files"] == {}


def test_the_files_that_a_user_names_are_found(config):
    config["benchmarks"]["own"] = {"options": {"captions": "a b.csv", "images": "é", "split_lists": {"train": "t.txt"}}}
    assert user_files(config, "own") == ["a b.csv", "t.txt"] and user_files(config, "scenes") == []


def test_the_sources_hash_the_files_that_the_study_uses(config, tmp_path):
    config["sources"] = {"docci": {"offline": True}}
    kept = {section: entries for section, entries in narrow(config).items() if section != "sources"}
    assert sources(config) == {"config": kept, "files": {}}
    table, weights = tmp_path / "é.csv", tmp_path / "w.safetensors"
    table.write_bytes(b"one")
    weights.write_bytes(b"two")
    config["benchmarks"]["own"] = {**config["benchmarks"]["scenes"], "options": {"captions": str(table)}}
    config["benchmarks"]["unused"] = {"options": {"captions": "none.csv"}}
    config["backbones"]["mine"] = {"kind": "checkpoint", "weights": str(weights)}
    config["grids"]["main"] |= {"train": ["own"], "backbones": ["mine"]}
    made = sources(config)["files"]
    assert made == {str(table): sha256(b"one").hexdigest(), str(weights): sha256(b"two").hexdigest()}
    assert record(narrow(config), made)["files"] == made
    (tmp_path / "words").mkdir()
    (tmp_path / "words/vocab.txt").write_bytes(b"two")
    config["backbones"]["mine"]["tokenizer"] = f"hf:{tmp_path / 'words'}"
    assert sources(config)["files"] == made | {str(tmp_path / "words/vocab.txt"): sha256(b"two").hexdigest()}
    table.write_bytes(b"three")
    assert sources(config)["files"][str(table)] == sha256(b"three").hexdigest()


def test_a_tuned_loss_waits_for_one_choice_made_from_all_its_settings(config):
    found = record(config)
    (choice,) = found["choices"]
    assert choice["of"] == ["tiny", "scenes", "longclip", "infonce-tuned", 100]
    assert choice["path"] == "results/scenes/choices/tiny/scenes/longclip/infonce-tuned/f100.json"
    names = [f"infonce-tuned-scale{scale}" for scale in (6, 10, 17, 33)]
    assert [entry["cell"] for entry in choice["cells"]] == [f"tiny/scenes/longclip/{name}/f100/s41" for name in names]
    waiting = [entry["cell"] for entry in found["cells"] if entry.get("choice") == choice["path"]]
    assert waiting == [f"tiny/scenes/longclip/infonce-tuned/f100/s{seed}" for seed in (42, 43, 44)]
    tries = [cells.resolve(config, Cell.parse(entry["cell"])) for entry in choice["cells"]]
    assert [(each["loss"]["scale"], each["data"]["test"]) for each in tries] == [(6, []), (10, []), (17, []), (33, [])]
    assert cells.resolve(config, Cell.parse("tiny/scenes/longclip/infonce-tuned/f100/s42"))["data"]["test"]
    assert not {entry["cell"] for entry in choice["cells"]} & {entry["cell"] for entry in found["cells"]}
    wanted = choice_record(config, Cell.parse(waiting[0]))
    assert [(s["name"], s["run"]) for s in wanted["settings"]] == [
        (name, f"results/scenes/runs/{entry['cell']}") for name, entry in zip(names, choice["cells"], strict=True)
    ]
    assert (wanted["target"], wanted["seed"]) == ("scenes/validation", 41)


def test_cells_whose_grid_asks_for_it_are_embedded_and_audited(config):
    config["grids"]["shown"] |= {"audit": True, "transfer": ["scenes-long"], "losses": ["hn"]}
    found, run = record(config), "results/scenes/runs/tiny/scenes/longclip/hn/f100/s42"
    assert found["audits"] == [{"cell": "tiny/scenes/longclip/hn/f100/s42", "path": f"{run}/audit.parquet"}]
    assert [entry["path"] for entry in found["cell_embeddings"]] == [
        f"{run}/embeddings/{name}.parquet" for name in ("scenes", "scenes-long")
    ]
    cell = Cell.parse(found["audits"][0]["cell"])
    names = {name: [s["name"] for s in embedded_splits(config, cell, name)["splits"]] for name in config["benchmarks"]}
    assert names == {
        "scenes": ["scenes/train", "scenes/test", "scenes/unseen"],
        "scenes-long": ["scenes-long/test"],
    }
