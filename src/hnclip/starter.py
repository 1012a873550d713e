"""Pre-trains `tiny`, the small CLIP that ships with the package, on short partial captions of drawn scenes.

`python -m hnclip.starter OUT.safetensors` rebuilds it.
"""

import math
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
import torch
from PIL import Image
from torch.nn.functional import cross_entropy

from hnclip.command import run
from hnclip.data.manifest import read_manifest
from hnclip.data.pixels import write_pixels
from hnclip.data.prepare import scenes as benchmark
from hnclip.data.scene import Scene, draw, random_scene
from hnclip.data.scene_words import short_caption
from hnclip.data.split import open_split
from hnclip.data.tokens import tokenize, write_tokens
from hnclip.encode import encode_split
from hnclip.models.backbone import Backbone, Preprocess
from hnclip.models.checkpoints import OPENAI_MEAN, OPENAI_STD, build, load_backbone, save_backbone
from hnclip.models.openclip import open_clip
from hnclip.ranks import ranks_of, recall_at_1
from hnclip.store import write_json

ARCHITECTURE = {
    "embed_dim": 64,
    "vision_cfg": {"image_size": 48, "layers": 3, "width": 64, "head_width": 32, "patch_size": 8},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 64, "heads": 2, "layers": 3},
    "quick_gelu": True,
}


@dataclass(frozen=True)
class Recipe:
    """How the starter was trained; stored in its metadata."""

    seed: int = 20260
    scenes: int = 60_000
    objects: tuple[int, int] = (1, 8)
    told: tuple[int, int] = (2, 4)
    keep: float = 0.25
    drawn_at: int = 96
    steps: int = 2_000
    batch: int = 128
    lr: float = 1e-3
    warmup: int = 200
    weight_decay: float = 0.05
    scale: tuple[float, float] = (14.3, 100.0)
    scale_steps: float = 0.5
    threads: int = 1


def scale_at(recipe: Recipe, step: int) -> float:
    """The inverse temperature: raised geometrically over the first part of the training, then held."""
    low, high = recipe.scale
    share = min(1.0, step / (recipe.scale_steps * recipe.steps))
    return low * (high / low) ** share


def lr_at(recipe: Recipe, step: int) -> float:
    """Linear warm-up, then a cosine to zero."""
    if step < recipe.warmup:
        return recipe.lr * (step + 1) / recipe.warmup
    share = (step - recipe.warmup) / (recipe.steps - recipe.warmup)
    return recipe.lr * 0.5 * (1 + math.cos(math.pi * share))


def pictures(recipe: Recipe) -> tuple[list[Scene], np.ndarray]:
    """The scenes of the pre-training and their pixels, uint8 [scenes, 48, 48, 3]; none has a held-out look."""
    random = Random(f"starter:{recipe.seed}")
    size = ARCHITECTURE["vision_cfg"]["image_size"]
    scenes, pixels = [], np.empty((recipe.scenes, size, size, 3), np.uint8)
    for index in range(recipe.scenes):
        scene = random_scene(random, random.randint(*recipe.objects))
        picture = Image.fromarray(draw(scene, recipe.drawn_at))
        pixels[index] = np.asarray(picture.resize((size, size), Image.Resampling.BICUBIC))
        scenes.append(scene)
    return scenes, pixels


def pretrain(recipe: Recipe, watch=lambda step, loss, backbone: None) -> Backbone:
    """Train from random weights; `watch` is called after each step."""
    torch.manual_seed(recipe.seed)
    torch.set_num_threads(recipe.threads)
    scenes, pixels = pictures(recipe)
    backbone = build(ARCHITECTURE, Preprocess(ARCHITECTURE["vision_cfg"]["image_size"], OPENAI_MEAN, OPENAI_STD))
    backbone.clip.logit_scale.requires_grad_(False)
    tokenize = open_clip().SimpleTokenizer(context_length=ARCHITECTURE["text_cfg"]["context_length"])
    trained = [weight for weight in backbone.parameters() if weight.requires_grad]
    optimiser = torch.optim.AdamW(trained, weight_decay=recipe.weight_decay, betas=(0.9, 0.98), fused=True)
    random = Random(f"captions:{recipe.seed}")
    order = np.random.default_rng(recipe.seed)
    target = torch.arange(recipe.batch)
    for step in range(recipe.steps):
        rows = order.choice(recipe.scenes, recipe.batch, replace=False)
        captions = [short_caption(scenes[row], random, random.randint(*recipe.told), recipe.keep) for row in rows]
        ids = tokenize(captions)
        backbone.fix_scale(scale_at(recipe, step))
        image_ND, _ = backbone.image(torch.from_numpy(pixels[rows]), states=0)
        text_ND, _ = backbone.text(ids, ids.argmax(-1) + 1, states=0)
        logits_NN = backbone.scale() * image_ND @ text_ND.T
        loss = (cross_entropy(logits_NN, target) + cross_entropy(logits_NN.T, target)) / 2
        for group in optimiser.param_groups:
            group["lr"] = lr_at(recipe, step)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimiser.step()
        optimiser.zero_grad()
        watch(step, loss.item(), backbone)
    return backbone


def score(backbone: Backbone, seed: int, family: int) -> dict[str, float | int | str]:
    """Zero-shot R@1 on 256 dense scenes of its own, in families of so many near-twins, text stretched to 248."""
    backbone.stretch_text(248)
    transform = {"size": backbone.preprocess.size, "interpolation": "bicubic", "resize": "shortest", "exif": "ignore"}
    with TemporaryDirectory() as name:
        folder = Path(name)
        benchmark.prepare({"seed": seed, "pairs": {"starter": 256}, "family": family}, folder)
        record = {"name": f"families of {family}", "manifest": str(folder / "starter.parquet")}
        record |= {"pixels": str(folder / "pixels.npy"), "tokens": str(folder / "tokens.npz")}
        write_pixels(folder / "starter.parquet", transform, folder / "pixels.npy")
        captions = list(read_manifest(folder / "starter.parquet")["caption"])
        write_tokens(folder / "tokens.npz", tokenize(captions, "clip", 248))
        split = open_split(record)
        return recall_at_1(split, *ranks_of(split, *encode_split(backbone.eval(), split, 128)))


def main(out: Path) -> None:
    recipe = Recipe()
    losses = []

    def watch(step: int, loss: float, backbone: Backbone) -> None:
        losses.append(loss)
        if (step + 1) % 100 == 0:
            print(f"step {step + 1} of {recipe.steps}: loss {np.mean(losses[-100:]):.3f}", flush=True)

    backbone = pretrain(recipe, watch)
    origin = {"recipe": asdict(recipe), "loss": float(np.mean(losses[-100:]))}
    save_backbone(out, backbone, origin, torch.float16)
    scores = [score(load_backbone(out), recipe.seed, family) for family in (1, 8)]
    save_backbone(out, backbone, {**origin, "scores": scores}, torch.float16)
    write_json(out.with_suffix(".json"), {**origin, "scores": scores})
    print(scores)


if __name__ == "__main__":
    run(lambda: main(Path(sys.argv[1])))
