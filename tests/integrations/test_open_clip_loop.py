"""open_clip's own training loop with the boosted loss: theirs at γ = 0, our towers and our loss above it."""

import copy
import json
import re
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest
import torch
from PIL import Image
from world import BACKBONE, random_captions

from hnclip import BoostedClipLoss
from hnclip.losses.entry import LossEntry
from hnclip.losses.objective import contrastive
from hnclip.models.load import backbone_from

pytestmark = pytest.mark.slow  # open_clip_train imports webdataset, and whatever logger is there
EXAMPLES = Path(__file__).parents[2] / "examples"
PAIRS, LR = 4, 0.1
ALONE = {"rank": 0, "world_size": 1, "horovod": False, "distill": False, "skip_scheduler": True, "wandb": False}


@pytest.fixture(scope="module")
def backbone():
    return backbone_from(BACKBONE)


def drawn(backbone, count=2):
    """Batches as uint8 pictures, token ids padded with zeros to the context, and lengths."""
    random, batches = torch.Generator().manual_seed(4), []
    for _ in range(count):
        pixels_NHWC = torch.randint(0, 256, (PAIRS, 16, 16, 3), generator=random, dtype=torch.uint8)
        ids_NT, length_N = random_captions([5, 9, 3, 12], random)
        whole_NT = torch.zeros(PAIRS, backbone.context, dtype=torch.int64)
        whole_NT[:, : ids_NT.shape[1]] = ids_NT
        batches.append((pixels_NHWC, whole_NT, length_N))
    return batches


def theirs(backbone, loss, accumulate=1, precision="fp32", batches=2):
    """The weights after one epoch of `open_clip_train.train.train_one_epoch` by SGD."""
    from open_clip_train.train import train_one_epoch

    model = copy.deepcopy(backbone.clip)
    model.output_dict = True
    data = [
        ((pixels.permute(0, 3, 1, 2).float() / 255 - backbone.mean) / backbone.std, ids)
        for pixels, ids, _ in drawn(backbone, batches)
    ]
    loader = type("Batches", (list,), {"num_batches": batches, "num_samples": batches * PAIRS})(data)
    args = Namespace(**ALONE, device="cpu", precision=precision, accum_freq=accumulate, batch_size=PAIRS)
    args.grad_clip_norm, args.log_every_n_steps = None, 1
    optimiser = torch.optim.SGD(model.parameters(), lr=LR)
    held = {"train": Namespace(dataloader=loader, set_epoch=lambda epoch: None)}
    train_one_epoch(model, held, loss, 0, optimiser, None, None, None, args)
    return model.state_dict()


def ours(backbone, gamma, joined=1):
    """The same by our towers and the loss that a study's entry becomes; `joined` batches make one step."""
    backbone = copy.deepcopy(backbone)
    entry = LossEntry(boost="captions", gamma=gamma) if gamma else LossEntry()
    term, batches = contrastive(entry, torch.Generator()), drawn(backbone)
    optimiser = torch.optim.SGD(backbone.parameters(), lr=LR)
    for first in range(0, len(batches), joined):
        pixels, ids, lengths = (torch.cat(part) for part in zip(*batches[first : first + joined], strict=True))
        optimiser.zero_grad()
        image_ND, text_ND = backbone.image(pixels, states=0)[0], backbone.text(ids, lengths, states=0)[0]
        term(image_ND, text_ND, backbone.scale(), torch.arange(len(ids))).backward()
        backbone.clip.logit_scale.grad *= joined  # their loop adds the whole batch's once for each part
        optimiser.step()
    return backbone.clip.state_dict()


def difference(one, other):
    return max(float((one[name] - other[name]).abs().max()) for name in one)


def from_args(**more):
    """As open_clip's `create_loss` hands its arguments over."""
    return BoostedClipLoss(
        local_loss=False, gather_with_grad=False, cache_labels=True, rank=0, world_size=1, use_horovod=False, **more
    )


@pytest.mark.parametrize("accumulate", [1, 2])
def test_zero_strength_is_open_clips_own_loss(backbone, accumulate):
    from open_clip import ClipLoss

    plain = theirs(backbone, ClipLoss(cache_labels=True), accumulate)
    assert difference(plain, theirs(backbone, from_args(gamma=0.0), accumulate)) < 1e-6  # they round otherwise
    assert difference(plain, backbone.clip.state_dict()) > 1e-3


@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_their_loop_is_our_step(backbone, gamma, accumulate):
    found = theirs(backbone, from_args(gamma=gamma), accumulate)
    assert difference(found, ours(backbone, gamma, accumulate)) < 2e-5
    assert difference(found, ours(backbone, 0.5 - gamma, accumulate)) > 1e-4


def test_their_mixed_precision_takes_it(backbone):
    found = theirs(backbone, from_args(gamma=0.5), precision="amp_bf16")
    assert difference(found, theirs(backbone, from_args(gamma=0.5))) < 0.05
    assert all(torch.isfinite(value).all() for value in found.values())


def test_the_call_is_theirs_in_every_argument():
    from inspect import signature

    from open_clip import ClipLoss

    for name in ("__init__", "forward"):
        wanted = list(signature(getattr(ClipLoss, name)).parameters.values())
        found = list(signature(getattr(BoostedClipLoss, name)).parameters.values())[: len(wanted)]
        assert [(one.name, one.default) for one in found] == [(one.name, one.default) for one in wanted]


def test_the_example_runs(tmp_path):
    done = subprocess.run(
        [sys.executable, EXAMPLES / "open_clip_loop.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Train Epoch: 0") == 4 and "Contrastive_loss" in done.stderr


def test_open_clips_whole_program_takes_it_as_the_docs_say(tmp_path):
    page = (EXAMPLES.parent / "docs" / "drop_in.md").read_text(encoding="utf-8")
    change = next(code for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "program.create_loss" in code)
    (tmp_path / "models").mkdir()
    vision, text = BACKBONE["architecture"]["vision_cfg"], {**BACKBONE["architecture"]["text_cfg"], "layers": 1}
    architecture = {"embed_dim": 8, "vision_cfg": vision, "text_cfg": text}
    (tmp_path / "models" / "small-clip.json").write_text(json.dumps(architecture))
    lines = ["filepath\ttitle"]
    for colour in ("red", "green", "blue", "white"):
        Image.new("RGB", (20, 16), colour).save(tmp_path / f"{colour}.png")
        lines.append(f"{tmp_path / colour}.png\ta {colour} square")
    (tmp_path / "captions.csv").write_text("\n".join(lines))
    options = "--train-data captions.csv --dataset-type csv --model small-clip --batch-size 2 --epochs 1 --workers 0"
    options = [*options.split(), *"--device cpu --precision fp32 --warmup 1 --accum-freq 2".split()]
    made = "made = create_loss\nprogram.create_loss = lambda args: print(type(made(args)).__name__) or made(args)\n"
    code = f"{change}\n{made}import open_clip\nopen_clip.add_model_config('models')\nprogram.main({options})\n"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("BoostedClipLoss\n") and "Train Epoch: 0 [4/4 (100%)]" in done.stderr
