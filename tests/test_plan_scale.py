"""What the plan makes of a recipe's keys for large batches: chunks, tiles, activations made again, processes."""

from dataclasses import astuple
from pathlib import Path

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from hnclip.losses.chunked import tiled_info_nce
from hnclip.losses.factored import none
from hnclip.models import blocks
from hnclip.models.load import backbone_from
from hnclip.models.packed import Packed
from hnclip.models.recomputed import recompute_blocks
from hnclip.plan import peak
from hnclip.plan.config import read
from hnclip.plan.costs import Cost, cell_cost
from hnclip.plan.devices import device
from hnclip.plan.study import cells
from hnclip.plan.towers import towers
from hnclip.plan.workload import forward, workload

ROOT = Path(__file__).parents[1]
PAIRS, WORDS, SIZE = 3, 90, 64
BACKBONE = {
    "kind": "random",
    "context": 248,
    "transform": {"size": SIZE, "interpolation": "bicubic", "resize": "shortest", "exif": "ignore"},
    "architecture": {
        "embed_dim": 64,
        "quick_gelu": True,
        "vision_cfg": {"image_size": SIZE, "layers": 4, "width": 128, "head_width": 32, "patch_size": 8},
        "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 96, "heads": 3, "layers": 3},
    },
}
WORK = workload({"kind": "longclip"}, WORDS)


@pytest.fixture(scope="module")
def config() -> dict:
    return read([ROOT / "workflow/studies/paper.yaml", ROOT / "workflow/studies/paper-128.yaml"], ROOT / "config.yaml")


def cost(config: dict, framework: str = "longclip", **recipe) -> Cost:
    """Of a cell on DOCCI with other values in its recipe."""
    entry = {**config["frameworks"][framework], "recipe": {}}
    changed = {**config, "recipe": {**config["recipe"], **recipe}, "frameworks": {framework: entry}}
    cell = next(cell for cell in cells.grid(config) if (cell.train, cell.framework) == ("docci", framework))
    return cell_cost(changed, cell, towers(config["backbones"][cell.backbone]), device("A100"))


def saved(compute, weights=()) -> tuple[dict[int, int], object]:
    """Bytes of what a computation saves for its gradient, by storage, and what it returns."""
    known, found, held = {weight.untyped_storage().data_ptr() for weight in weights}, {}, []

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            found[storage.data_ptr()] = storage.nbytes()
            held.append(storage)  # so that no other takes its place
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        return found, (compute(), held)


def test_where_blocks_are_computed_again_what_enters_them_is_kept_and_one_block(monkeypatch):
    torch.manual_seed(0)
    model = backbone_from(BACKBONE).train()
    recompute_blocks(model.clip)
    entered = []

    def watched(block, states, *given, **more):
        entered.append(states)
        return checkpoint(block, states, *given, **more)

    monkeypatch.setattr(blocks, "checkpoint", watched)

    def encode():
        pixels, ids = torch.zeros(PAIRS, SIZE, SIZE, 3, dtype=torch.uint8), torch.ones(PAIRS, WORDS, dtype=torch.long)
        return model.image(pixels, states=0), model.text(ids, torch.full((PAIRS,), WORDS), states=0)

    outside, kept_alive = saved(encode, model.parameters())
    inputs = {states.untyped_storage().data_ptr(): states.untyped_storage().nbytes() for states in entered}
    caption = torch.randn(1, PAIRS * WORDS, 96, requires_grad=True)
    one = model.clip.transformer.resblocks[0]
    inside, _ = saved(lambda: one(caption, attn_mask=Packed([WORDS] * PAIRS, caption.device)), one.parameters())
    measured = sum((outside | inputs).values()) + sum(inside.values()) - caption.nbytes
    counted = PAIRS * peak.activations(WORK, towers(BACKBONE), mixed=False, recomputed=True)
    assert len(kept_alive[1]) and counted == pytest.approx(measured, rel=0.03)
    assert counted < PAIRS * peak.activations(WORK, towers(BACKBONE), mixed=False) / 2


def test_activations_made_again_take_less_memory_and_a_forward_pass_more(config):
    kept, again = (cost(config, checkpoint_activations=flag, chunk=None) for flag in (False, True))
    assert again.peak < kept.peak / 2
    assert again.flops / kept.flops == pytest.approx(4 / 3, rel=0.02)
    assert kept.seconds < again.seconds < 1.5 * kept.seconds


def test_the_last_part_of_a_batch_is_encoded_once(config):
    model = towers(config["backbones"]["longclip-l"])
    work = workload({"kind": "longclip"}, 142)
    whole, halves, fours = (cost(config, batch=64, chunk=chunk) for chunk in (None, 32, 16))
    assert cost(config, batch=64, chunk=64).flops == whole.flops
    assert halves.flops - whole.flops == pytest.approx(whole.pairs * forward(work, model) / 2, rel=0.02)
    assert fours.flops - whole.flops == pytest.approx(whole.pairs * forward(work, model) * 3 / 4, rel=0.02)


def test_a_tile_takes_three_of_its_rows_by_the_batch():
    rows, tile, width = 512, 64, 8
    made = peak.comparisons(WORK, towers(BACKBONE), rows, 248, tile=tile)
    assert made == 3 * 4 * tile * rows
    assert made < peak.comparisons(WORK, towers(BACKBONE), rows, 248) / 10
    image, text = torch.nn.functional.normalize(torch.randn(2, rows, width, requires_grad=True), dim=-1)
    largest = []

    class Watched(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            out = function(*args, **(kwargs or {}))
            largest.append(out.untyped_storage().nbytes() if isinstance(out, torch.Tensor) else 0)
            return out

    with Watched():
        tiled_info_nce(image, text, 10.0, none(image, text, torch.arange(rows)), tile=tile)
    assert max(largest) == made / 3  # nothing larger than a tile is ever made


def test_a_tile_leaves_a_methods_other_losses_whole(config):
    for framework, whole in (("longclip", 0), ("goal", 6 * 4 * 4096**2)):
        entry = {"kind": framework, "inputs": {"crops": True}}
        assert peak.comparisons(workload(entry, WORDS), towers(BACKBONE), 4096, 248, tile=1) - whole == 3 * 4 * 4096


def test_processes_share_rows_and_hours(config):
    large = {"batch": 1024, "chunk": None}
    alone, eight = cost(config, **large), cost(config, **large, gpus=4, nodes=2)
    assert (alone.processes, eight.processes) == (1, 8)
    assert (eight.pairs, eight.steps, eight.flops) == (alone.pairs, alone.steps, alone.flops)
    model, recipe = towers(config["backbones"]["longclip-l"]), {**config["recipe"], **large, "gpus": 1, "nodes": 1}
    own = peak.state(WORK, model, recipe)
    assert (eight.peak - own) / (alone.peak - own) == pytest.approx(1 / 8, rel=0.02)
    updates = 7 * alone.steps * 28 * model.parameters / (1e9 * device("A100").bandwidth)
    assert eight.seconds - alone.seconds == pytest.approx(updates, rel=1e-6)  # each updates all weights


def test_processes_encode_their_share_in_chunks():
    recipe = {"gpus": 4, "nodes": 1, "chunk": 16}
    assert (peak.parts(recipe, 130), peak.rows(recipe, 130)) == (3, 11)  # 33 pairs at most, as even as may be
    assert (peak.parts({**recipe, "chunk": None}, 130), peak.rows({**recipe, "chunk": None}, 130)) == (1, 33)


def test_fsdp_divides_what_the_blocks_have(config):
    both = {"gpus": 4, "precision": "32-true"}
    ddp, fsdp = (cost(config, **both, strategy=name) for name in ("ddp", "fsdp"))
    model = backbone_from(BACKBONE).clip
    inside = [[w.numel() for w in block.parameters()] for block in model.visual.transformer.resblocks]
    inside += [[w.numel() for w in block.parameters()] for block in model.transformer.resblocks]
    recipe = {"gpus": 4, "nodes": 1, "precision": "32-true", "strategy": "fsdp"}
    outside = sum(weight.numel() for weight in model.parameters()) - sum(map(sum, inside))
    numbers = 4 * (outside + sum(map(sum, inside)) / 4) + 2 * max(map(sum, inside))
    assert peak.state(WORK, towers(BACKBONE), recipe) == 4 * numbers
    assert fsdp.peak < ddp.peak and fsdp.seconds < ddp.seconds
    assert astuple(fsdp)[2:5] == astuple(ddp)[2:5]
