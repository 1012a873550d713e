"""The plan's counts against torch's own: operations, parameters, what a forward pass keeps; and the studies' plans."""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from hnclip import cell as cells
from hnclip import frameworks
from hnclip.data.manifest import read_manifest
from hnclip.data.prepare import scenes
from hnclip.data.tokens import tokenize
from hnclip.frameworks.base import Step
from hnclip.losses.objective import LossEntry, contrastive
from hnclip.models.cached import CachedTowers
from hnclip.models.load import backbone_from
from hnclip.plan import cached
from hnclip.plan.config import read
from hnclip.plan.devices import device
from hnclip.plan.sizes import split_size
from hnclip.plan.study import plan
from hnclip.plan.towers import architecture, towers
from hnclip.plan.workload import kept, trained, training, workload
from hnclip.study import narrow

ROOT = Path(__file__).parents[1]
STUDIES = ROOT / "workflow" / "studies"
PAPER = [STUDIES / "paper.yaml"]
SIZE, PAIRS, WORDS, CROPS, CHUNKS = 64, 6, 120, 2, 30
BACKBONE = {
    "kind": "random",
    "context": 248,
    "transform": {"size": SIZE, "interpolation": "bicubic", "resize": "shortest", "exif": "ignore"},
    "architecture": {
        "embed_dim": 64,
        "quick_gelu": True,
        "vision_cfg": {"image_size": SIZE, "layers": 3, "width": 128, "head_width": 32, "patch_size": 8},
        "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 96, "heads": 3, "layers": 2},
    },
}
INPUTS = {"crops": True, "edges": "canny", "edge_crops": CROPS, "lexicon": "colours", "first_sentence": True}


@pytest.fixture(scope="module")
def batch() -> dict[str, torch.Tensor]:
    """Everything that a framework can read; every caption as long as the plan takes it to be."""
    torch.manual_seed(0)
    made = {name: torch.randint(0, 256, (PAIRS, SIZE, SIZE, 3), dtype=torch.uint8) for name in ("image", "crop")}
    made["edge"] = made["image"][..., :1]
    made["edge_crops"] = made["edge"][:, None].repeat(1, CROPS, 1, 1, 1)
    lengths = {"text": WORDS, "filtered": WORDS - 8, "short": 25, "crop_text": 25}
    for name, count in lengths.items():
        made[name if name.endswith("text") else f"{name}_text"] = torch.randint(1, 49000, (PAIRS, count))
        made[f"{name}_length"] = torch.full((PAIRS,), count)
    made["crop_box"] = torch.tensor([[8.0, 8.0, 40.0, 40.0]]).repeat(PAIRS, 1)
    made["span"] = torch.tensor([[10, 30]]).repeat(PAIRS, 1)
    first_C = torch.arange(1, CHUNKS)
    made["chunks"] = torch.stack([first_C, first_C + 3], dim=1).repeat(PAIRS, 1, 1)
    made["has_crop"] = made["has_edge"] = torch.ones(PAIRS, dtype=torch.bool)
    made["has_edge_crop"] = torch.ones(PAIRS, CROPS, dtype=torch.bool)
    return made


@pytest.fixture(scope="module", params=frameworks.on_towers())
def framework(request):
    options = {"components": 2} if request.param == "longclip_pcm" else {}
    return request.param, frameworks.create(request.param, backbone_from(BACKBONE), options).train()


def work_of(kind: str):
    return workload({"kind": kind, "inputs": INPUTS}, WORDS)


def losses(model, batch) -> torch.Tensor:
    step = Step(torch.arange(PAIRS), 0, 1, 0.5)
    return sum(model.losses(model(batch), step, contrastive(LossEntry(), torch.Generator())).values())


def test_a_steps_operations_are_those_that_torch_counts(framework, batch):
    kind, model = framework
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        losses(model, batch).backward()
    counted = PAIRS * training(work_of(kind), towers(BACKBONE), PAIRS, 248)
    assert counted == pytest.approx(counter.get_total_flops(), rel=0.08)


def test_a_passes_kept_bytes_are_those_that_torch_saves(framework, batch):
    kind, model = framework
    weights = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
    saved = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            saved[storage.data_ptr()] = storage  # held, so that no other takes its place
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        model(batch)
    counted = PAIRS * kept(work_of(kind), towers(BACKBONE), mixed=False)
    assert counted == pytest.approx(sum(storage.nbytes() for storage in saved.values()), rel=0.15)


def test_the_trained_parameters_are_counted(framework):
    kind, model = framework
    counted = sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
    frozen = 20 * 96 if kind == "longclip_pcm" else 0  # its first text positions
    assert trained(work_of(kind), towers(BACKBONE)) == counted + frozen


@pytest.mark.parametrize(
    ("entry", "parameters"),
    [
        ({"kind": "longclip", "weights": "hub:BeichenZhang/LongCLIP-B/longclip-B.pt"}, 149_708_289),
        ({"kind": "longclip", "weights": "hub:BeichenZhang/LongCLIP-L/longclip-L.pt"}, 427_747_841),
        ({"kind": "open_clip", "model": "ViT-L-14-quickgelu", "pretrained": "openai"}, 427_747_841),
    ],
)
def test_published_models_have_their_published_parameters(entry, parameters):
    assert towers({**entry, "context": 248}).parameters == parameters


def test_the_embedded_backbone_is_known_without_loading_it():
    entry = {**BACKBONE, "kind": "starter", "transform": {**BACKBONE["transform"], "size": 48}}
    loaded = backbone_from(entry)
    assert towers(entry).parameters == sum(weight.numel() for weight in loaded.parameters())


def test_what_is_known_of_no_model_is_refused_with_what_is_known(tmp_path):
    with pytest.raises(ValueError, match="no model 'ViT-X'"):
        architecture({"kind": "open_clip", "model": "ViT-X"})
    with pytest.raises(ValueError, match="did you mean 'LongCLIP-L'"):
        architecture({"kind": "longclip", "weights": "hub:BeichenZhang/LongCLIP-XL/longclip-XL.pt"})
    with pytest.raises(ValueError, match="is no checkpoint written by hnclip"):
        architecture({"kind": "checkpoint", "weights": str(tmp_path / "none.safetensors")})
    with pytest.raises(ValueError, match="unknown device 'H10'.*did you mean"):
        device("H10")


@pytest.fixture(scope="module")
def paper() -> dict:
    return read(PAPER, ROOT / "config.yaml")


def test_the_papers_study_has_the_papers_cells(paper):
    grid = cells.grid(paper)
    main = {cell for cell in grid if cell.fraction == 100 and cell.loss in ("infonce", "hn")}
    six = {"longclip", "finelip", "goal", "structxlip", "lora", "dora"}
    assert {cell.framework for cell in main} == {*six, "hnclip"}
    assert {cell.train for cell in main} == {"docci", "dci", "vg_paragraphs"} and len(main) == 84
    assert {cell.loss for cell in grid} == {"infonce", "hn-025", "hn", "hn-075", "hn-100", "frozen"}
    assert {cell.fraction for cell in grid if cell.framework == "goal"} == {5, 20, 50, 100}
    told = {(cell.train, *cells.targets(paper, cell)) for cell in main}
    assert told >= {("docci", "dci", "long_dci"), ("dci", "docci", "long_dci"), ("vg_paragraphs", "urban1k")}


@pytest.mark.parametrize("overlay", [[], ["paper-128"], ["paper_b16"]])
def test_the_papers_studies_are_planned(overlay):
    config = read([*PAPER, *(STUDIES / f"{name}.yaml" for name in overlay)], ROOT / "config.yaml")
    made = plan(config, device("A100"))
    assert len(made["cells"]) == len(cells.grid(config))
    cost = {entry["cell"].split("/", 1)[1]: entry for entry in made["cells"]}
    plain, goal, structure, lora = (
        cost[f"docci/{name}/hn/f100/s42"] for name in ("longclip", "goal", "structxlip", "lora")
    )
    assert 1.5 < goal["flops"] / plain["flops"] < 2.1 and 2.7 < structure["flops"] / plain["flops"] < 4
    assert lora["flops"] < plain["flops"] and lora["peak"] < plain["peak"] < structure["peak"]
    assert plain["weights"] == pytest.approx(0.6e9 if overlay == ["paper_b16"] else 1.71e9, rel=0.01)
    assert plain["steps"] == 760 and made["by_hand"]["dci"] == ["sa_000138.tar"]
    assert made["disk"]["pixels"] == 224 * 224 * 3 * sum(split["pairs"] for split in made["sizes"])


def test_settings_and_audits_are_planned():
    config = read([*PAPER, STUDIES / "paper-controls.yaml"], ROOT / "config.yaml")
    made = plan(config, device("A100"))
    assert {cost["cell"] for cost in made["cells"]} == {str(cell) for cell in cells.trained(config)}
    audited = {str(cell) for cell in cells.marked(config, "audit")}
    again = sum(cost["seconds"] for cost in made["cells"] if cost["cell"] in audited) / 3600
    assert len(audited) == 6 and made["gpu_hours"]["audits"] == pytest.approx(again * (1 + 2 * 3 / (5 * 8)))


def test_chunks_take_less_memory_and_a_second_pass(paper):
    whole = plan(paper, device("A100"))["cells"][0]
    large = {**paper, "recipe": {**paper["recipe"], "batch": 128, "accumulate": 1}}
    small = {**large, "recipe": {**large["recipe"], "chunk": 16}}
    large, small = (plan(config, device("A100"))["cells"][0] for config in (large, small))
    assert large["peak"] > 2 * small["peak"] and small["peak"] < 1.3 * whole["peak"]
    assert small["steps"] == large["steps"] == pytest.approx(whole["steps"], abs=10)
    assert 1.2 < small["flops"] / large["flops"] < 1.5


@pytest.mark.parametrize(
    ("kind", "options", "expected"),
    [
        ("docci", {}, {"train": 9647, "qual_dev": 100, "test": 5100}),
        ("docci", {"protocol": "official"}, {"train": 9647, "qual_dev": 100, "test": 5000, "qual_test": 100}),
        ("dci", {}, {"train": 5603, "test": 1999}),
        ("dci", {"protocol": "full"}, {"all": 7602}),
        ("long_dci", {}, {"test": 7602}),
        ("urban1k", {}, {"test": 1000}),
        ("vg_paragraphs", {}, {"train": 14575, "val": 2487, "test": 2489}),
    ],
)
def test_published_counts_are_those_that_the_preparation_expects(kind, options, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = {"benchmarks": {"b": {"kind": kind, "options": options}}}
    assert set(import_module(f"hnclip.data.prepare.{kind}").splits(options)) == set(expected)
    found = {split: split_size(config, "b", split) for split in expected}
    assert {split: size.pairs for split, size in found.items()} == expected
    assert {size.known for size in found.values()} == {"published"}


def test_own_captions_are_counted_before_they_are_prepared(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = ["image,caption", *(f"{number // 2}.png,caption {number}" for number in range(40))]
    Path("captions.csv").write_text("\n".join(rows) + "\n")
    options = {"captions": "captions.csv", "split_hash": {"train": 60, "test": 40}}
    config = {"benchmarks": {"own": {"kind": "folder", "options": options}}}
    found = [split_size(config, "own", split) for split in ("train", "test")]
    assert sum(size.pairs for size in found) == 40 and all(size.pairs % 2 == 0 for size in found)
    assert {size.known for size in found} == {"counted"}


def test_a_benchmark_of_unknown_size_is_named_with_the_way_out(paper):
    benchmarks = {"own": {"kind": "folder", "options": {}, "train": "train", "test": ["test"]}}
    with pytest.raises(ValueError, match="'own'.*prepare_own"):
        split_size({**paper, "benchmarks": benchmarks}, "own", "train")


def test_the_command_loads_no_torch_and_prints_json():
    code = (
        "import sys, runpy\nsys.argv = ['plan', 'workflow/studies/paper.yaml', '--json', '--device', 'H100']\n"
        "runpy.run_module('hnclip.plan', run_name='__main__')\nassert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["cells"]) == 126


def test_the_command_prints_tables():
    command = [sys.executable, "-m", "hnclip.plan", "workflow/studies/smoke.yaml", "--summary", "--device", "cpu"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "largest peak memory of a cell" in done.stdout and "Assumed of cpu" in done.stdout


def test_the_papers_frameworks_train_by_their_recipes(paper):
    recipes = {cell.framework: cells.recipe_of(paper, cell) for cell in cells.grid(paper) if cell.train == "docci"}
    rates = {
        "longclip": 2e-6,
        "hnclip": 2e-6,
        "finelip": 1e-6,
        "goal": 5e-6,
        "structxlip": 5e-6,
        "lora": 5e-5,
        "dora": 5e-5,
    }
    assert {name: recipe["lr"] for name, recipe in recipes.items()} == rates
    assert narrow(paper)["frameworks"]["finelip"]["options"]["module_lr"] == 2e-4
    assert all(recipe["epochs"] == 10 and recipe["batch"] == 16 for recipe in recipes.values())


@pytest.mark.parametrize("options", [{}, {"layers": 2, "hidden": 24}, {"sides": "text"}])
def test_a_step_on_cached_embeddings_is_counted_as_torch_counts_it(options):
    model = frameworks.create("adapter", CachedTowers((16, 16), 10.0), options)
    assert cached.parameters(options, 16) == sum(weight.numel() for weight in model.parameters())
    rows = {name: torch.randn(PAIRS, 16) for name in model.fields}
    with FlopCounterMode(display=False) as counter:
        losses(model, rows).backward()
    counted = PAIRS * cached.training(options, 16, PAIRS)
    assert counted == pytest.approx(counter.get_total_flops(), rel=0.02)


def test_a_study_on_embeddings_that_the_user_has_is_planned():
    overlay = {"backbones": {"own": {"kind": "embeddings", "file": "own.parquet"}}, "run": ["main"]}
    config = read([])
    config["grids"]["main"] |= {"backbones": ["own"], "frameworks": ["adapter"], "losses": ["infonce", "hn"]}
    made = plan({**config, **overlay}, device("A10"))
    assert len(made["cells"]) == 6 and made["disk"]["pixels"] == 0 and made["disk"]["embeddings"] > 1e6
    assert 0 < made["total_gpu_hours"] < 0.01


@pytest.mark.parametrize("objects", [(3, 4), (6, 9)])
def test_captions_of_drawn_scenes_are_taken_to_be_as_long_as_they_are(tmp_path, monkeypatch, objects):
    options = {"seed": 5, "pairs": {"train": 64}, "objects": list(objects), "pixels": 32}
    config = {"benchmarks": {"drawn": {"kind": "scenes", "options": options, "train": "train", "test": ["train"]}}}
    monkeypatch.chdir(tmp_path)
    planned = split_size(config, "drawn", "train")
    scenes.prepare(options, tmp_path)
    captions = list(read_manifest(tmp_path / "train.parquet")["caption"])
    assert planned.tokens == pytest.approx(tokenize(captions, "clip", 248).lengths().mean(), rel=0.1)
