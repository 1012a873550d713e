"""The README.md of an exported cell: what it was trained on and how, its scores, how to load it, its limits."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from hnclip import __version__

CUTOFFS = (1, 5, 10)
BACKBONES = {
    "starter": "the small backbone that ships with hnclip, trained by its authors on pictures that it draws",
    "checkpoint": "a weights file of hnclip, `{weights}`",
    "longclip": "released Long-CLIP weights, `{weights}`",
    "open_clip": "open_clip's `{model}` with weights `{pretrained}`",
    "random": "random weights of seed {seed}",
}
LOADING = {
    "open_clip": """
import open_clip

model, _, preprocess = open_clip.create_model_and_transforms("local-dir:FOLDER")
tokenizer = open_clip.get_tokenizer("local-dir:FOLDER")
model.eval()  # then model.encode_image(preprocess(image.convert("RGB"))[None]), model.encode_text(tokenizer(captions))
""",
    "transformers": """
from transformers import CLIPModel, CLIPProcessor

model = CLIPModel.from_pretrained("FOLDER")
processor = CLIPProcessor.from_pretrained("FOLDER")
# then model(**processor(text=captions, images=image, return_tensors="pt", padding=True, truncation=True))
""",
    "peft": """
from peft import PeftModel
from transformers import CLIPModel, CLIPProcessor

model = PeftModel.from_pretrained(CLIPModel.from_pretrained("FOLDER/base"), "FOLDER/adapter")
processor = CLIPProcessor.from_pretrained("FOLDER/base")
# then model(**processor(text=captions, images=image, return_tensors="pt", padding=True, truncation=True))
""",
}


def card(cell: Path, record: dict[str, Any], format: str, name: str) -> str:
    """The card of the run in folder `cell` with this run.json, exported to a folder of this name."""
    config = record["config"]
    ranks = _ranks(cell)
    parts = {
        "Trained on": _data(cell, record),
        "Trained how": _method(record),
        "Scores": _scores(ranks),
        "Load it": f"From the folder that holds `{name}`:\n\n```python{LOADING[format].replace('FOLDER', name)}```",
        "Limits": _limits(record, format, set(ranks["scoring"])),
        "Licence": (
            "These weights derive from those of the backbone named above and were trained on the pictures and captions "
            "of the benchmark named above: the licences of both bind whoever passes them on. "
            "hnclip's own code is under Apache-2.0."
        ),
    }
    library = {"open_clip": "open_clip", "transformers": "transformers", "peft": "peft"}[format]
    head = f"---\nlibrary_name: {library}\nlicense: other\ntags:\n- clip\n- image-text-retrieval\n---\n"
    title = f"# {config['cell']}\n\nA CLIP fine-tuned on long captions with hnclip {__version__}.\n"
    return "\n".join([head, title, *(f"## {heading}\n\n{text}\n" for heading, text in parts.items())])


def _data(cell: Path, record: dict[str, Any]) -> str:
    config = record["config"]
    benchmark, _, split = config["data"]["train"]["name"].partition("/")
    log = pd.read_parquet(cell / "log.parquet", columns=["kind", "epoch", "pairs"])
    pairs = int(log.loc[(log["kind"] == "train") & (log["epoch"] == 0), "pairs"].sum())
    return (
        f"Benchmark `{benchmark}`, split `{split}`: {pairs:,} image-caption pairs an epoch, {config['fraction']} % of "
        f"the images, drawn with seed {config['seed']}. Epochs: {config['recipe']['epochs']}; "
        f"pairs seen in all: {record['pairs']:,}."
    )


def _method(record: dict[str, Any]) -> str:
    config = record["config"]
    entry = config["backbone"]
    backbone = BACKBONES[entry["kind"]].format(**entry)
    files = [entry[key] for key in ("weights", "pretrained") if entry.get(key) in record["files"]]
    hashes = "".join(f"; SHA-256 of the file {record['files'][path]}" for path in files)
    versions = ", ".join(f"{package} {version}" for package, version in record["versions"].items())
    dirty = " with uncommitted changes" if record["dirty"] else ""
    whole = {key: config[key] for key in ("framework", "loss", "recipe", "backbone")}
    return (
        f"Framework `{config['framework']['kind']}`, loss `{config['loss']['base']}` with boost "
        f"`{config['loss']['boost']}`.\n"
        f"Backbone: {backbone}{hashes}.\n\n"
        f"```json\n{json.dumps(whole, indent=2, ensure_ascii=False)}\n```\n\n"
        f"Code {record['commit']}{dirty}; {versions}; {record['device']}; finished {record['finished']}."
    )


def _ranks(cell: Path) -> pd.DataFrame:
    """The rank of every query on the run's own test splits and the further benchmarks."""
    paths = [cell / "ranks.parquet", *sorted((cell / "eval").glob("*.parquet"))]
    columns = ["target", "scoring", "direction", "rank", "gallery"]
    return pd.concat([pd.read_parquet(path, columns=columns) for path in paths], ignore_index=True)


def _scores(rows: pd.DataFrame) -> str:
    """Recalls of each target, score and direction, with the numbers of queries and of items searched."""
    heads = ["target", "score", "direction", *(f"R@{cutoff}" for cutoff in CUTOFFS), "queries", "gallery"]
    lines = [heads, ["---"] * 3 + ["---:"] * (len(heads) - 3)]
    for (target, scoring, direction), found in rows.groupby(["target", "scoring", "direction"], sort=False):
        recalls = [f"{100 * (found['rank'] < cutoff).mean():.2f}" for cutoff in CUTOFFS]
        named = {"t2i": "text to image", "i2t": "image to text"}[direction]
        lines.append([target, scoring, named, *recalls, f"{len(found):,}", f"{found['gallery'].iloc[0]:,}"])
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"Recall in per cent after the last epoch; a tie counts against the model.\n\n{table}"


def _limits(record: dict[str, Any], format: str, scorings: set[str]) -> str:
    config = record["config"]
    entry = config["backbone"]
    cut, captions = record["captions_cut"][config["data"]["train"]["name"]]
    limits = [
        f"English captions of at most {entry['context']} tokens; longer ones are cut "
        f"({cut:,} of {captions:,} training captions were).",
        "Scores are of the named benchmarks; other pictures and other captions were not tried.",
    ]
    if further := sorted(scorings - {"cosine"}):
        limits.append(f"The scores by {', '.join(further)} need parts of the method that are not in this folder.")
    if entry["transform"]["exif"] == "apply":
        limits.append("Pictures were turned as their camera asked (EXIF); turn them before the preprocessing.")
    if format != "open_clip":
        limits.append(
            "transformers cleans texts less than the tokenizer of the training (no repair of broken encodings, no HTML "
            "entities), and its crop can lie one pixel beside ours: such inputs embed slightly differently."
        )
    return "\n".join(f"* {limit}" for limit in limits)
