"""What the paper's study starts from, shrunk: archives of the published layouts, and a released Long-CLIP file.

A handful of pairs a split; the model has ViT-L/14's 24 and 12 layers and random weights.
"""

import io
import json
import zipfile
from pathlib import Path

import archives
import numpy as np
import torch
from PIL import Image

from hnclip.data.dci import goal_test_ids
from hnclip.models.backbone import Preprocess
from hnclip.models.checkpoints import OPENAI_MEAN, OPENAI_STD, build

SIZE, CONTEXT, KEPT = 56, 248, 20
TRANSFORM = {"size": SIZE, "interpolation": "bicubic", "resize": "shortest", "exif": "ignore"}
ARCHITECTURE = {
    "embed_dim": 64,
    "quick_gelu": True,
    "vision_cfg": {"image_size": SIZE, "layers": 24, "width": 64, "head_width": 64, "patch_size": 14},
    "text_cfg": {"context_length": CONTEXT, "vocab_size": 49408, "width": 64, "heads": 1, "layers": 12},
}
TRAIN, TEST = 8, 4  # pairs
VG = {"train": range(100, 108), "val": range(200, 202), "test": range(300, 304)}


def blocks(seed: int, size: tuple[int, int] = (96, 72), form: str = "JPEG") -> bytes:
    """The bytes of a picture of nine fields of one colour each, which are its regions."""
    pixels = np.random.default_rng(seed).integers(0, 256, (3, 3, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).resize(size, Image.Resampling.NEAREST).save(buffer, format=form)
    return buffer.getvalue()


def caption(number: int) -> str:
    return f"A red wall {number} stands beside a wooden door. Two people wait in front of it. The sky is blue."


def write_zip(path: Path, members: dict[str, bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as file:
        for name, data in members.items():
            file.writestr(name, data)


def write_archives(folder: Path, monkeypatch) -> None:
    """Every file of every source, each source in a folder of its name."""
    monkeypatch.setattr(archives, "picture", blocks)
    archives.write_docci(folder / "docci", archives.docci_rows(train=TRAIN, qual_dev=2, test=TEST, qual_test=2))
    names = [f"{name}.jpg" for name in goal_test_ids()[:TEST]] + [f"sa_{number}.jpg" for number in range(TRAIN)]
    archives.write_dci(folder / "dci", [archives.dci_entry(name) for name in names])
    urban = {f"Urban1k/image/{number}.jpg": blocks(400 + number) for number in range(1, TEST + 1)}
    urban |= {f"Urban1k/caption/{number}.txt": caption(400 + number).encode() for number in range(1, TEST + 1)}
    write_zip(folder / "urban1k" / "Urban1k.zip", urban)
    numbers = [number for ids in VG.values() for number in ids]
    told = [{"image_id": number, "url": f"VG_100K/{number}.jpg", "paragraph": caption(number)} for number in numbers]
    genome = folder / "visual_genome"
    write_zip(genome / "paragraphs_v1.json.zip", {"paragraphs_v1.json": json.dumps(told).encode()})
    for split, ids in VG.items():
        (genome / f"{split}_split.json").write_text(json.dumps(list(ids)))
    for name, place, parity in (("images.zip", "VG_100K", 0), ("images2.zip", "VG_100K_2", 1)):
        write_zip(genome / name, {f"{place}/{n}.jpg": blocks(n) for n in numbers if n % 2 == parity})


def write_longclip(path: Path) -> None:
    """A file in the layout of released Long-CLIP weights: two tables of 248 positions, OpenAI's names."""
    torch.manual_seed(0)
    clip = build(ARCHITECTURE, Preprocess(SIZE, OPENAI_MEAN, OPENAI_STD)).clip
    state = {name: value for name, value in clip.state_dict().items()}
    state["positional_embedding_res"] = torch.randn(CONTEXT, 64) * 0.01
    torch.save(state, path)


def overlay(folder: Path, url: str) -> dict:
    """Laid over the paper's study: its sources served at `url`, the released file, few cells and steps."""
    mirrors = {name: {"mirror": f"{url}/{name}"} for name in ("docci", "dci", "urban1k", "visual_genome")}
    mirrors["dci"] |= {"sha256": {"dci.tar.gz": None}, "files": {"sa_000138.tar": str(folder / "dci/sa_000138.tar")}}
    every = ["longclip", "finelip", "goal", "structxlip", "lora", "dora", "hnclip"]
    counts, regions = {"counts": None}, {"kind": "felzenszwalb", "options": {"min_size": 20}}
    return {
        "study": "shrunk",
        "run": ["docci", "dci", "vg_paragraphs", "strength", "fractions", "fractions-goal"],
        "sources": mirrors,
        "backbones": {"longclip-l": {"weights": str(folder / "longclip-L.pt"), "transform": TRANSFORM}},
        "segments": {"shrunk": {**regions, "backbone": "longclip-l", "shards": 2}},
        "benchmarks": {
            "docci": {"options": counts, "segments": "shrunk"},
            "dci": {"options": counts, "segments": "shrunk"},
            "long_dci": {"options": counts},
            "vg_paragraphs": {"options": counts, "segments": "shrunk"},
            "urban1k": {"options": counts},
        },
        "grids": {
            "docci": {"frameworks": every, "losses": ["hn"], "seeds": [42], "transfer": ["dci"]},
            "dci": {"frameworks": ["longclip"], "seeds": [42], "transfer": ["docci", "long_dci"]},
            "vg_paragraphs": {"frameworks": ["hnclip"], "losses": ["infonce"], "seeds": [43]},
            "strength": {"losses": ["hn-025", "frozen"], "transfer": ["long_dci"]},
            "fractions": {"train": ["dci"], "frameworks": ["longclip"], "losses": ["hn"], "fractions": [50]},
            "fractions-goal": {"train": ["dci"], "fractions": [50]},
        },
        "recipe": {"epochs": 1, "batch": 4, "accumulate": 2, "eval_batch": 8, "threads": 1},
        "report": {"bootstrap": 50},
        "allow_mixed_commits": True,
    }
