"""The config's check: everything wrong in one message, with the nearest known names."""

import copy
from pathlib import Path

import pytest
import yaml

from hnclip.check import check
from hnclip.check_schema import check_keys
from hnclip.recipe import Recipe
from hnclip.report.load import ReportOptions

ROOT = Path(__file__).parents[1]
SCHEMA = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())
OPEN_CLIP = {
    "kind": "open_clip",
    "model": "ViT-B-16",
    "pretrained": "openai",
    "context": 248,
    "tokenizer": "clip",
    "transform": {"size": 224, "interpolation": "bicubic", "resize": "shortest", "exif": "ignore"},
}


@pytest.fixture
def config() -> dict:
    return yaml.safe_load((ROOT / "config.yaml").read_text())


def message(config: dict) -> str:
    with pytest.raises(ValueError) as caught:
        check(config, SCHEMA)
    return str(caught.value)


def merge(base: dict, overlay: dict) -> dict:
    """As Snakemake merges an overlay: dictionaries key by key, everything else replaced."""
    merged = dict(base)
    for key, value in overlay.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = merge(merged[key], value) if both else value
    return merged


def test_the_default_is_accepted_and_left_as_it_is(config):
    before = copy.deepcopy(config)
    check(config, SCHEMA)
    assert config == before


@pytest.mark.parametrize("name", ["smoke", "gamma", "stamps"])
def test_the_shipped_studies_are_accepted(config, name):
    overlay = yaml.safe_load((ROOT / f"workflow/studies/{name}.yaml").read_text())
    merged = merge(config, overlay)
    check(merged, SCHEMA)
    assert set(overlay["run"]) <= set(merged["grids"])


def test_the_template_for_own_data_lacks_nothing_but_the_data(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    overlay = yaml.safe_load((ROOT / "workflow/studies/own_data.yaml").read_text())
    text = message(merge(config, overlay))
    assert text.splitlines()[1:] == ["  benchmarks.own.options: there is no file data/captions.jsonl"]


def test_all_faults_are_named_at_once(config):
    config["run"] = ["main", "fraction"]
    config["recipe"]["epocs"] = 3
    config["recipe"]["lr"] = -1
    config["recipe"]["precision"] = "bf16"
    config["grids"]["main"]["losses"] = ["infonc", "hn"]
    config["frameworks"]["longclip"]["kind"] = "longclp"
    config["benchmarks"]["scenes"]["kind"] = "scene"
    config["losses"]["hn"]["boost"] = "caption"
    lines = message(config).splitlines()
    assert "8 problems" in lines[0]
    for number, (place, near) in enumerate(
        [
            ("losses.hn.boost", "captions"),
            ("recipe.lr", "-1"),
            ("recipe.precision", "bf16-mixed"),
            ("recipe", "epochs"),
            ("run[1]", "fractions"),
            ("grids.main.losses", "infonce"),
            ("benchmarks.scenes.kind", "scenes"),
            ("frameworks.longclip.kind", "longclip"),
        ]
    ):
        assert any(line.strip().startswith(f"{place}:") and near in line for line in lines), (number, lines)
    assert len(lines) == 9


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (["recipe", "lr"], "3e-4", ["recipe.lr", "3.0e-04"]),
        (["study"], "my study", ["study", "part of a path"]),
        (["study"], "data", ["study", "what studies share"]),
        (["losses", "hn"], {"base": "infonce", "boost": "captions"}, ["losses.hn: boost 'captions' needs `gamma`"]),
        (["losses", "infonce", "gamma"], 0.5, ["losses.infonce: boost 'none' does not read `gamma`"]),
        (["backbones", "tiny", "weights"], "w.safetensors", ["backbones.tiny.weights", "does not read it"]),
        (["backbones", "tiny", "kind"], "checkpoint", ["backbones.tiny", "needs 'weights'"]),
        (["benchmarks", "scenes", "test"], ["train"], ["benchmarks.scenes", "trained on and evaluated on"]),
        (["benchmarks", "scenes", "test"], ["tests"], ["benchmarks.scenes", "'tests'", "did you mean 'test'"]),
        (["benchmarks", "scenes", "options", "famly"], 3, ["benchmarks.scenes", "'famly'", "did you mean 'family'"]),
        (["grids", "main", "fractions"], [0.5], ["grids.main.fractions[0]", "integer"]),
        (["grids", "main", "transfer"], ["scenes-lang"], ["grids.main.transfer", "did you mean 'scenes-long'"]),
        (["run"], "main", ["run", "array"]),
        (["frameworks", "goal", "inputs"], {}, ["frameworks.goal", "trains on the inputs crops"]),
        (
            ["frameworks", "goal", "inputs"],
            {"crops": True, "crop": True},
            ["frameworks.goal.inputs", "did you mean 'crops'"],
        ),
        (["frameworks", "goal", "options"], {"locl_weight": 1}, ["frameworks.goal", "did you mean 'local_weight'"]),
        (["frameworks", "goal", "options"], {"span_weight": -1}, ["frameworks.goal.options: ", "span_weight is -1"]),
        (["frameworks", "finelip", "options"], {"negatives": "hard"}, ["frameworks.finelip.options: ", "'hardest'"]),
        (["frameworks", "dora", "options"], {"rank": "16"}, ["frameworks.dora.options: ", "expected a whole number"]),
        (["frameworks", "longclip", "options"], {"rank": 16}, ["frameworks.longclip.options: ", "known: none"]),
        (["frameworks", "longclip", "inputs"], {"crops": True}, ["longclip.inputs.crops", "does not train on"]),
        (["frameworks", "structxlip", "inputs", "edges"], "cany", ["structxlip.inputs.edges", "did you mean 'canny'"]),
        (["frameworks", "structxlip", "inputs", "lexicon"], "color", ["structxlip.inputs.lexicon", "'colours'"]),
        (["frameworks", "goal", "inputs", "first_sentence"], True, ["goal.inputs.first_sentence", "does not train on"]),
        (["edges", "canny", "low"], 300, ["edges.canny", "low must not be above high"]),
        (["lexicons", "colours", "remove"], ["colors"], ["lexicons.colours", "did you mean 'colours'"]),
        (["segments", "given", "kind"], "gven", ["segments.given", "did you mean 'given'"]),
        (["segments", "given", "backbone"], "tny", ["segments.given.backbone", "did you mean 'tiny'"]),
        (["segments", "given", "options"], {"aera": [0, 1]}, ["segments.given", "did you mean 'area'"]),
        (["benchmarks", "scenes", "segments"], "gven", ["benchmarks.scenes.segments", "did you mean 'given'"]),
        (["benchmarks", "scenes", "test"], ["test", "validation"], ["benchmarks.scenes", "'validation' is tested on"]),
        (["backbones", "mine"], {**OPEN_CLIP, "pretrained": ""}, ["backbones.mine.pretrained", "''"]),
        (["backbones", "mine"], {**OPEN_CLIP, "model": ""}, ["backbones.mine.model", "''"]),
        (["grids", "main", "fractions"], [50.0], ["grids.main.fractions[0]", "write 50, without a point"]),
        (["grids", "main", "seeds"], [42.0], ["grids.main.seeds[0]", "write 42"]),
        (["grids", "main", "seeds"], [2**31], ["grids.main.seeds[0]", "2147483647"]),
        (["recipe", "epochs"], 2.0, ["recipe.epochs", "write 2, without a point"]),
        (["recipe", "chunk"], 8.0, ["recipe.chunk", "write 8"]),
        (["recipe", "lr"], float("inf"), ["recipe.lr: a finite number"]),
        (["report", "confidence"], float("nan"), ["report.confidence: a finite number"]),
        (["benchmarks", "scenes", "options", "seed"], float("nan"), ["benchmarks.scenes.options.seed: a finite"]),
        (["recipe", "scale_clamp"], [4.6, 0.0], ["  recipe: `scale_clamp` must rise"]),
        (["frameworks", "hnclip", "recipe"], {"scale_clamp": [2, 1]}, ["  frameworks.hnclip.recipe: `scale_clamp`"]),
    ],
)
def test_a_fault_is_named_with_the_way_out(config, path, value, words):
    entry = config
    for key in path[:-1]:
        entry = entry[key]
    entry[path[-1]] = value
    text = message(config)
    assert "a problem:" in text.splitlines()[0], text
    for word in words:
        assert word in text


def test_the_shipped_files_have_no_key_twice():
    assert check_keys([ROOT / "config.yaml", *(ROOT / "workflow/studies").glob("*.yaml")]) is None


def test_keys_that_stand_twice_are_named_by_file_place_and_line(tmp_path):
    first, second = tmp_path / "config.yaml", tmp_path / "my é.yaml"
    first.write_text("recipe: &one {lr: 1.0}\nother: {<<: *one, lr: 2.0}\nlist: [{lr: 1}, {lr: 1}]\n")
    assert check_keys([first]) is None
    second.write_text("recipe:\n  lr: 1.0\n  epochs: 1\n  lr: 2.0\nlist: [{a: 1, 'a': 2}]\nrecipe: {}\n")
    with pytest.raises(ValueError) as caught:
        check_keys([first, second])
    assert str(caught.value).splitlines()[1:] == [
        f"  {second}, line 4: recipe.lr (first in line 2)",
        f"  {second}, line 5: list[0].a (first in line 5)",
        f"  {second}, line 6: recipe (first in line 1)",
    ]


def test_every_file_that_is_no_config_is_named(tmp_path):
    contents = {
        "open": b"a: [\n",
        "tab": b"a:\n\t- b",
        "bytes": b"a: \xff",
        "list": b"- a\n",
        "fine": b"",
        "text": b"a",
    }
    for name, content in contents.items():
        (tmp_path / f"{name}.yaml").write_bytes(content)
    with pytest.raises(ValueError) as caught:
        check_keys(tmp_path / f"{name}.yaml" for name in contents)
    lines = str(caught.value).splitlines()[1:]
    wrong = [name for name in contents if name != "fine"]
    assert [line.split(":")[0] for line in lines] == [f"  {tmp_path / name}.yaml" for name in wrong]


def test_weights_that_are_not_there_are_named_where_the_study_uses_them(config, tmp_path):
    entry = {key: config["backbones"]["tiny"][key] for key in ("context", "tokenizer", "transform")}
    config["backbones"] |= {
        "big": {**entry, "kind": "open_clip", "model": "ViT-B-16", "pretrained": "weights/none.pt"},
        "mine": {**entry, "kind": "checkpoint", "weights": "none.safetensors"},
        "tag": {**entry, "kind": "open_clip", "model": "ViT-B-16", "pretrained": "openai"},
    }
    assert check(config, SCHEMA) is None
    config["grids"]["main"]["backbones"] = ["big", "mine", "tag"]
    assert message(config).splitlines()[1:] == [
        "  backbones.big.pretrained: there is no file weights/none.pt",
        "  backbones.mine.weights: there is no file none.safetensors",
    ]
    for name, key in (("big", "pretrained"), ("mine", "weights")):
        (tmp_path / name).touch()
        config["backbones"][name][key] = str(tmp_path / name)
    assert check(config, SCHEMA) is None


def test_backbones_may_share_a_transform_and_differ_in_context(config):
    config["backbones"]["short"] = {**config["backbones"]["tiny"], "context": 77}
    config["grids"]["main"]["backbones"] = ["tiny", "short"]
    assert check(config, SCHEMA) is None


def test_every_field_of_the_recipe_is_in_the_schema_and_in_the_default(config):
    fields = set(Recipe.__dataclass_fields__)
    assert set(SCHEMA["$defs"]["recipe"]["properties"]) == fields
    assert set(config["recipe"]) == fields


def test_every_report_option_is_in_the_schema_and_in_the_default(config):
    fields = set(ReportOptions.__dataclass_fields__)
    assert set(SCHEMA["$defs"]["report"]["properties"]) == fields
    assert set(config["report"]) == fields


def test_every_key_of_the_default_is_commented():
    """A key of an entry may be explained by the first entry of its section; each section's first entry explains all."""
    lines = (ROOT / "config.yaml").read_text().splitlines()
    for section in ("recipe", "report"):
        start = lines.index(next(line for line in lines if line.startswith(f"{section}:")))
        for line in lines[start + 1 :]:
            if not line.startswith(" "):
                break
            assert "#" in line, line
    assert all("#" in line for line in lines if line and line[0].isalpha()), "a section has no comment"


def test_a_benchmark_without_regions_is_named_where_a_framework_of_the_study_needs_them(config):
    del config["benchmarks"]["scenes"]["segments"]
    assert "benchmarks.scenes: framework 'goal' needs regions: name its `segments`" in message(config)
    config["run"] = ["tuned"]
    check(config, SCHEMA)  # nothing of this study needs them
    config["recipe"]["train_filter"] = "local_pairs"
    assert "benchmarks.scenes: framework 'longclip' needs regions" in message(config)


def test_a_benchmark_may_be_only_for_tests_and_have_no_validation(config):
    config["benchmarks"]["scenes"]["validation"] = None
    said = message(config)
    assert "grids.tuned: infonce-tuned cannot be tuned on scenes, which has no `validation`" in said
    config["run"].remove("tuned")
    del config["benchmarks"]["scenes-long"]["train"], config["benchmarks"]["scenes-long"]["validation"]
    config["grids"]["main"]["transfer"] = ["scenes-long"]
    check(config, SCHEMA)
    config["grids"]["main"]["train"] = ["scenes-long"]
    assert "grids.main.train: benchmark 'scenes-long' has no `train` split" in message(config)


@pytest.mark.parametrize(("kind", "key"), [("json", "path"), ("sam", "model")])
def test_what_regions_are_made_with_and_is_not_there_is_named(config, kind, key):
    config["segments"]["given"] = {"kind": kind, "backbone": "tiny", "options": {key: "./none"}}
    assert "segments.given.options: there is no file or folder ./none" in message(config)


def test_a_benchmark_may_not_take_the_name_of_a_shared_folder(config):
    config["benchmarks"]["segments"] = config["benchmarks"]["scenes-long"]
    assert "benchmarks.segments: results/data/segments holds what benchmarks share" in message(config)


def test_lists_of_shared_images_come_from_other_benchmarks(config):
    entry = {"kind": "vg_paragraphs", "train": "train", "validation": None, "test": ["test"]}
    names = {"a": "results/overlap/b/train/scenes/tests.txt", "b": "results/overlap/b/train/scenes/test.txt"}
    names["c"] = "results/overlap/a/train/scene/test.txt"
    config["benchmarks"] |= {name: {**entry, "options": {"exclude": path}} for name, path in names.items()}
    text = message(config)
    assert "unknown split of scenes 'tests' (did you mean 'test'?)" in text
    assert f"benchmarks.b.options.exclude: {names['b']} is made from this very benchmark" in text
    assert "unknown benchmark 'scene' (did you mean 'scenes'?)" in text and "3 problems" in text


def test_a_list_of_the_users_own_images_to_leave_out_must_be_there(config):
    entry = {"kind": "vg_paragraphs", "options": {"exclude": "mine/overlap.txt"}, "train": "train", "test": ["test"]}
    config["benchmarks"]["vg"] = entry
    config["grids"]["main"]["train"] = ["vg"]
    assert "benchmarks.vg.options: there is no file mine/overlap.txt" in message(config)


def test_regions_that_a_kind_does_not_know_are_not_given(config, tmp_path):
    table = tmp_path / "captions.jsonl"
    table.write_text('{"image": "a.png", "caption": "a"}')
    hashed = {"train": 80, "validation": 10, "test": 10}
    config["benchmarks"]["scenes"]["kind"] = "folder"
    config["benchmarks"]["scenes"]["options"] = {"captions": str(table), "split_hash": hashed}
    config["benchmarks"]["scenes"]["test"] = ["test"]
    config["benchmarks"]["scenes"]["segments"] = "felzenszwalb"
    check(config, SCHEMA)
    config["benchmarks"]["scenes"]["segments"] = "given"
    assert "benchmarks.scenes.segments: kind 'folder' knows no boxes" in message(config)


def test_crops_of_edge_maps_need_edge_maps(config):
    del config["frameworks"]["structxlip"]["inputs"]["edges"]
    assert "frameworks.structxlip.inputs.edge_crops: crops of edge maps need `edges`" in message(config)


def test_no_loss_tries_more_settings_than_another_may(config):
    config["losses"]["infonce-tuned"]["scale"] = list(range(1, 9))
    check(config, SCHEMA)
    config["losses"]["infonce-tuned"]["scale"].append(None)
    assert "losses.infonce-tuned: 9 settings, but a loss may try 8" in message(config)


def test_an_audit_measures_losses_of_one_setting(config):
    config["audit"] |= {"plain": "infonce-tuned", "boosted": "none"}
    said = message(config)
    assert "audit.plain: infonce-tuned is tuned; name a loss of one setting" in said
    assert "audit.boosted: unknown loss 'none'" in said


def test_an_audit_measures_in_fp32_and_what_its_cells_can_read(config):
    config["audit"] |= {"boosted": "frozen", "precisions": ["bf16-mixed"]}
    config["grids"]["main"]["audit"] = True
    said = message(config)
    assert "audit.precisions: 32-true is among what is measured always" in said
    assert "audit.boosted: frozen needs embeddings that cells of infonce, hn, margin, centred do not read" in said
    config["grids"]["main"]["losses"] = ["frozen"]
    assert "audit.boosted" not in message(config)


def test_a_loss_that_needs_the_whole_matrix_takes_no_tiles(config):
    config["recipe"]["tile"] = 1024
    config["grids"]["main"]["losses"] = ["infonce", "hn", "shuffled", "soft"]
    said = message(config)
    assert "losses.shuffled with `tile` in the recipe of longclip: boost 'shuffled' cannot be taken in tiles" in said
    assert "losses.soft with `tile`" in said and "losses.hn with" not in said
    del config["grids"]["main"]["losses"][2:]
    check(config, SCHEMA)


def test_cells_of_several_processes_are_not_audited(config):
    config["frameworks"]["longclip"]["recipe"] = {"gpus": 2, "nodes": 2}
    check(config, SCHEMA)
    config["grids"]["main"]["audit"] = True
    assert "frameworks.longclip: 4 processes train its cells" in message(config)


def test_adapters_are_not_shared_among_processes(config):
    config["recipe"] |= {"gpus": 2, "strategy": "fsdp"}
    assert "frameworks.lora: `strategy: fsdp` shares what is trained, and lora trains little" in message(config)
    config["run"] = ["main"]
    check(config, SCHEMA)
