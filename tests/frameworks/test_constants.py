"""The constants of each method as it was published, and of the entries that the config offers."""

from pathlib import Path

import pytest
import torch
import yaml

from hnclip.frameworks import adapter, create, dora, finelip, goal, hnclip, longclip_pcm, lora, structxlip
from hnclip.frameworks.base import NoOptions, Step
from hnclip.losses.objective import LossEntry, contrastive
from hnclip.losses.schedule import auxiliary_factor
from hnclip.models.backbone import Backbone
from hnclip.options import from_dict

CONFIG = yaml.safe_load((Path(__file__).parents[2] / "config.yaml").read_text())
TERM = contrastive(LossEntry(), torch.Generator())
DEFAULTS = {
    longclip_pcm.LongClipPcm: {
        "short_weight": 1.0,
        "components": 32,
        "label_smoothing": 0.1,
        "pca": "global",
        "local_rows": None,
        "frozen_positions": 20,
    },
    finelip.FineLip: {
        "global_weight": 1.0,
        "triplet_weight": 1.0,
        "margin": 0.2,
        "ratio": 0.2,
        "negatives": "all",
        "module_lr": 2e-4,
        "ramp": True,
    },
    goal.Goal: {"placing": "true", "local_weight": 0.5, "region_weight": 1.0, "span_weight": 1.0},
    structxlip.StructXlip: {
        "structure_weight": 0.25,
        "consistency_weight": 0.001,
        "local_weight": 0.001,
        "floors": (0.7, 0.5, 0.4),
        "chunk_states": "filtered",
        "tau": 0.07,
        "sigma_cap": 100.0,
    },
    adapter.Adapter: {"layers": 1, "hidden": 512, "sides": "both"},
    lora.Lora: {"rank": 16, "alpha": 16},
    dora.Dora: {"rank": 16, "alpha": 16},
    hnclip.HnClip: {"token_weight": 1.0},
}


@pytest.mark.parametrize("framework", DEFAULTS)
def test_the_defaults_are_the_published_ones(framework):
    assert vars(framework.Options()) == DEFAULTS[framework]


def test_the_entries_of_the_config_are_the_published_recipes():
    entries = CONFIG["frameworks"]
    pcm = {name: entries[f"longclip_pcm-{name}"]["options"] for name in ("2024-04", "released")}
    assert pcm == {"2024-04": {"short_weight": 0.1}, "released": {"pca": "local", "local_rows": 128}}
    assert entries["goal-released"]["options"] == {"placing": "released"}
    assert entries["finelip-released"]["options"]["global_weight"] == 0
    assert entries["structxlip"].get("options", {}) == {}
    assert entries["structxlip"]["inputs"] == {"edges": "canny", "edge_crops": 2, "lexicon": "colours"}
    assert entries["structxlip-released"]["options"] == {"chunk_states": "released"}
    argparse = {"structure_weight": 0.5, "consistency_weight": 0.05, "local_weight": 0.1}
    assert entries["structxlip-argparse"]["options"] == argparse
    assert entries["structxlip-argparse"]["inputs"] == {"edges": "canny", "edge_crops": 3, "lexicon": "none"}
    clamps = {name: entry.get("recipe", {}).get("scale_clamp") for name, entry in entries.items()}
    assert {name for name, clamp in clamps.items() if clamp == [0.0, 3.5]} == {
        name for name in entries if name.startswith("structxlip")
    }
    assert CONFIG["edges"]["canny"] == {"kind": "canny", "low": 100, "high": 200}
    assert (CONFIG["lexicons"]["colours"], CONFIG["lexicons"]["none"]) == ({"remove": ["colours"]}, {"remove": []})


def test_every_entry_of_the_config_fits_its_framework():
    of_kind = {framework.__module__.rsplit(".", 1)[1]: framework.Options for framework in DEFAULTS}
    for name, entry in CONFIG["frameworks"].items():
        given = from_dict(of_kind.get(entry["kind"], NoOptions), entry.get("options", {}), name)
        assert all(getattr(given, key) == value for key, value in entry.get("options", {}).items())


@pytest.mark.parametrize(("size", "patch", "tokens"), [(224, 16, 39), (224, 14, 51), (224, 32, 9)])
def test_finelip_keeps_a_fifth_of_the_patches_rounded_down(monkeypatch, size, patch, tokens):
    class Bare(Backbone):
        patch_grid = size // patch

        def __init__(self):
            torch.nn.Module.__init__(self)
            self.architecture = {"embed_dim": 8}

    framework = finelip.FineLip(Bare(), finelip.Options())
    found = framework.image_aggregator(torch.randn(1, 60, 8))
    assert found.shape[1] == tokens


def test_the_fading_is_stretched_to_the_run():
    torch.manual_seed(0)
    z = structxlip_rows()
    framework = create("structxlip", ScaleOnly(), {"consistency_weight": 1.0})
    for epochs, expected in ((10, [1, 1, 0.9752]), (5, [1, 0.9752, 0.8056, 0.5941, 0.5])):
        found = [framework.losses(z, Step(torch.arange(4), epoch, epochs, 0.0), TERM) for epoch in range(len(expected))]
        factors = [(terms["consistency"] / found[0]["consistency"]).item() for terms in found]
        assert factors == pytest.approx(expected, abs=1e-3)
    assert [auxiliary_factor(epoch, 0.7) for epoch in (0, 1, 8, 9)] == pytest.approx([1, 1, 0.7, 0.7])


class ScaleOnly(Backbone):
    """A backbone of which only the scale is asked."""

    tokenizer = "clip"

    def __init__(self, scale: float = 20.0):
        torch.nn.Module.__init__(self)
        self.log = torch.nn.Parameter(torch.tensor(scale).log())

    def scale(self):
        return self.log.exp()


def structxlip_rows():
    def unit(*shape):
        return torch.nn.functional.normalize(torch.randn(*shape, 6), dim=-1).requires_grad_()

    z = {name: unit(4) for name in ("image", "text", "edge", "filtered")}
    z |= {"edge_crops": unit(4, 2), "chunks": unit(4, 3)}
    return z | {
        "has_edge": torch.ones(4, dtype=bool),
        "has_edge_crop": torch.ones(4, 2, dtype=bool),
        "has_chunk": torch.ones(4, 3, dtype=bool),
    }


@pytest.mark.parametrize(
    ("term", "moved", "scale_learns"),
    [
        ("global", {"image", "text"}, True),
        ("structure", {"edge", "filtered"}, False),
        ("consistency", {"image", "edge"}, False),
        ("local", {"chunks", "edge_crops"}, True),
    ],
)
def test_what_each_term_of_structxlip_moves(term, moved, scale_learns):
    torch.manual_seed(0)
    z, backbone = structxlip_rows(), ScaleOnly(5.0)  # 5 / 0.07 lies under the cap
    framework = create("structxlip", backbone, {})
    framework.losses(z, Step(torch.arange(4), 0, 1, 0.0), TERM)[term].backward()
    assert {name for name, value in z.items() if value.grad is not None and value.grad.any()} == moved
    assert (backbone.log.grad is not None and backbone.log.grad.abs() > 0) == scale_learns


@pytest.mark.parametrize(
    ("term", "moved", "scale_learns"),
    [
        ("global", {"image", "text"}, True),
        ("local", {"crop", "crop_text"}, True),
        ("region", {"region", "crop"}, False),
        ("span", {"span", "crop_text"}, False),
    ],
)
def test_what_each_term_of_goal_moves(term, moved, scale_learns):
    torch.manual_seed(0)
    names = ("image", "text", "crop", "crop_text", "region", "span")
    z = {name: torch.nn.functional.normalize(torch.randn(4, 6), dim=-1).requires_grad_() for name in names}
    z |= {name: torch.ones(4, dtype=bool) for name in ("has_crop", "has_region", "has_span")}
    backbone = ScaleOnly()
    create("goal", backbone, {}).losses(z, Step(torch.arange(4), 0, 1, 0.0), TERM)[term].backward()
    assert {name for name, value in z.items() if value.grad is not None and value.grad.any()} == moved
    assert (backbone.log.grad is not None and backbone.log.grad.abs() > 0) == scale_learns
