"""A made-up study in memory: strengths, scales, tuned losses, a token term, a frozen boost, seeds, a transfer."""

import numpy
import pandas

from hnclip.report.load import OVERLAP, SOURCES, Study

FAMILIES, SIZE = 6, 4
LOSSES = {
    "infonce": {"base": "infonce", "boost": "none"},
    "infonce-s33": {"base": "infonce", "boost": "none", "scale": 33},
    "hn-m050": {"base": "infonce", "boost": "captions", "gamma": -0.5},
    "hn-025": {"base": "infonce", "boost": "captions", "gamma": 0.25},
    "hn": {"base": "infonce", "boost": "captions", "gamma": 0.5},
    "hn-100": {"base": "infonce", "boost": "captions", "gamma": 1.0},
    "hn-s33": {"base": "infonce", "boost": "captions", "gamma": 0.5, "scale": 33},
    "frozen": {"base": "infonce", "boost": "frozen", "gamma": 0.5},
    "margin": {"base": "infonce", "boost": "matched", "gamma": 0.5},
    "margin-100": {"base": "infonce", "boost": "matched", "gamma": 1.0},
    "plain-tuned": {"base": "infonce", "boost": "none", "scale": [None, 33]},
    "hn-tuned": {"base": "infonce", "boost": "captions", "gamma": [0.25, 0.5]},
}
SKILL = {name: 0.3 + 0.03 * nth for nth, name in enumerate(LOSSES)}
SEEDS = {"longclip": (42, 43, 44), "hnclip": (42,)}
TARGETS = ("scenes/test", "scenes/unseen", "stamps/test")
CHOICES = {
    "plain-tuned": {"plain-tuned-scalelearned": ({}, 0.41), "plain-tuned-scale33": ({"scale": 33}, 0.45)},
    "hn-tuned": {"hn-tuned-gamma0_25": ({"gamma": 0.25}, 0.47), "hn-tuned-gamma0_5": ({"gamma": 0.5}, 0.44)},
}


def config() -> dict:
    axes = {"backbones": ["tiny"], "train": ["scenes"], "fractions": [100]}
    grids = {
        name: axes | {"frameworks": [name], "losses": list(LOSSES), "seeds": list(seeds), "transfer": ["stamps"]}
        for name, seeds in SEEDS.items()
    }
    transform = {"size": 48, "interpolation": "bicubic", "resize": "shortest", "exif": "ignore"}
    return {
        "study": "swept",
        "run": list(SEEDS),
        "grids": grids,
        "backbones": {"tiny": {"kind": "starter", "context": 248, "tokenizer": "clip", "transform": transform}},
        "benchmarks": {
            "scenes": {"kind": "scenes", "train": "train", "validation": "validation", "test": ["test", "unseen"]},
            "stamps": {"kind": "stamps", "train": "train", "validation": "validation", "test": ["test"]},
        },
        "frameworks": {name: {"kind": name} for name in SEEDS},
        "recipe": {"epochs": 4, "batch": 16, "accumulate": 1, "lr": 0.0001, "schedule": "cosine"},
        "losses": dict(LOSSES),
        "report": {"ks": [1, 5, 10], "bootstrap": 200, "confidence": 0.95},
    }


def ranks(framework: str, loss: str, seed: int, target: str, skill: float) -> pandas.DataFrame:
    """Both directions of one cell on one test split."""
    items = FAMILIES * SIZE
    luck = numpy.random.default_rng([seed, len(framework), TARGETS.index(target), list(LOSSES).index(loss)])
    frames = []
    for direction in ("t2i", "i2t"):
        rank = numpy.where(luck.random(items) < skill, 0, 1 + luck.integers(0, items - 1, items))
        names = [f"{number:02d}" for number in range(items)]
        frames.append(pandas.DataFrame({"direction": direction, "query": names, "id": names, "rank": rank}))
        frames[-1]["family"] = [f"f{number // SIZE}" for number in range(items)]
    whole = {"backbone": "tiny", "train": "scenes", "framework": framework, "loss": loss, "fraction": 100}
    whole |= {"seed": seed, "target": target, "gallery": items, "scoring": "cosine"}
    return pandas.concat(frames, ignore_index=True).assign(**whole)


def choices() -> dict[tuple, dict]:
    """Of each tuned loss and framework, the record of its choice."""
    found = {}
    for framework in SEEDS:
        for loss, tried in CHOICES.items():
            base = {key: value for key, value in LOSSES[loss].items() if not isinstance(value, list)}
            settings = [
                {"name": name, "entry": base | own, "t2i_r1": mean + 0.01, "i2t_r1": mean - 0.01, "mean": mean}
                for name, (own, mean) in tried.items()
            ]
            chosen = max(settings, key=lambda setting: setting["mean"])["name"]
            record = {"loss": loss, "seed": 41, "target": "scenes/validation", "chosen": chosen, "settings": settings}
            found["tiny", "scenes", framework, loss, 100] = record
    return found


def swept_study() -> Study:
    frames = [
        ranks(framework, loss, seed, target, SKILL[loss])
        for framework, seeds in SEEDS.items()
        for loss in LOSSES
        for seed in seeds
        for target in TARGETS
    ]
    runs = pandas.DataFrame({"captions_cut": [], "framework": [], "warnings": [], "commit": [], "dirty": []})
    overlap, sources = pandas.DataFrame(columns=list(OVERLAP)), pandas.DataFrame(columns=list(SOURCES))
    epochs = pandas.DataFrame(columns=["backbone", "train", "framework", "loss", "fraction", "seed", "epoch", "target"])
    return Study(config(), pandas.concat(frames, ignore_index=True), epochs, runs, overlap, sources, choices())
