"""The README.md of an exported cell: what it was trained on and how, its scores, how to load it, its limits."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from hnclip import __version__
from hnclip.loading_code import LIBRARIES, code
from hnclip.models.backbone import Backbone
from hnclip.tower_files import published

CUTOFFS = (1, 5, 10)
BACKBONES = {
    "starter": "the small backbone that ships with hnclip, trained by its authors on pictures that it draws",
    "checkpoint": "a weights file of hnclip, `{weights}`",
    "longclip": "released Long-CLIP weights, `{weights}`",
    "open_clip": "open_clip's `{model}` with weights `{pretrained}`",
    "random": "random weights of seed {seed}",
    "embeddings": "embeddings of the user's own, `{file}`",
    "joined": "the image model `{image}` and the sentence encoder `{text}` in one CLIP",
}


LICENCE = "hnclip's own code is under Apache-2.0."


def short_card(model: str, entry: dict[str, Any], backbone: Backbone, format: str, name: str) -> str:
    """The card of a model that is no run, named on a command line as `model`, exported to a folder of this name."""
    parts = {
        "What it is": (
            f"Backbone: {_backbone(entry)}. It was named `{model}`, not a run, so there is no record of training and "
            "scores."
        ),
        "Load it": _loading(backbone, format, name),
        "Limits": _bullets([f"{_context(entry)}.", *_of_format(entry, format)]),
        "Licence": f"The weights are under the licence they were published with. {LICENCE}",
    }
    return _page(format, name, f"A CLIP as it was found, written by hnclip {__version__}.", parts)


def card(cell: Path, record: dict[str, Any], entry: dict[str, Any], format: str, name: str, backbone: Backbone) -> str:
    """The card of the run in folder `cell` with this run.json, exported to a folder of this name.

    `entry` is its backbone's; where embeddings were given as a file, that of the model that made them, if it is known.
    """
    config = record["config"]
    ranks = _ranks(cell)
    parts = {
        "Trained on": _data(cell, record),
        "Trained how": _method(record, entry),
        "Scores": _scores(ranks),
        "Load it": _loading(backbone, format, name),
        "Limits": _limits(record, entry, format, set(ranks["scoring"])),
        "Licence": (
            "These weights derive from those of the backbone named above and were trained on the pictures and captions "
            f"of the benchmark named above: the licences of both bind whoever passes them on. {LICENCE}"
        ),
    }
    what = "Maps of a CLIP's embeddings, trained" if format == "adapter" else "A CLIP fine-tuned"
    return _page(format, config["cell"], f"{what} with hnclip {__version__}.", parts)


def _page(format: str, title: str, what: str, parts: dict[str, str]) -> str:
    head = f"---\nlibrary_name: {LIBRARIES[format]}\nlicense: other\ntags:\n- clip\n- image-text-retrieval\n---\n"
    sections = (f"## {heading}\n\n{text}\n" for heading, text in parts.items())
    return "\n".join([head, f"# {title}\n\n{what}\n", *sections])


def _loading(backbone: Backbone, format: str, name: str) -> str:
    by_name = "hf_model_name" in backbone.architecture.get("text_cfg", {})
    return f"From the folder that holds `{name}`:\n\n```python{code(format, name, by_name)}```"


def _backbone(entry: dict[str, Any]) -> str:
    """The backbone of an entry in words."""
    return BACKBONES.get(entry["kind"], f"of kind `{entry['kind']}`, as its entry below says").format(**entry)


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


def _method(record: dict[str, Any], entry: dict[str, Any]) -> str:
    config = record["config"]
    given = config["backbone"]
    by_file = f", by its embeddings in `{given['file']}`" if given["kind"] == "embeddings" != entry["kind"] else ""
    known = {**record["files"], **record.get("published_weights", {})}
    files = [name for name in (entry.get("weights"), entry.get("pretrained"), published(entry)) if name in known]
    hashes = "".join(f"; SHA-256 of the file {known[name]}" for name in dict.fromkeys(files))
    versions = ", ".join(f"{package} {version}" for package, version in record["versions"].items())
    dirty = " with uncommitted changes" if record["dirty"] else ""
    whole = {key: config[key] for key in ("framework", "loss", "recipe", "backbone")}
    return (
        f"Framework `{config['framework']['kind']}`, loss `{config['loss']['base']}` with boost "
        f"`{config['loss']['boost']}`.\n"
        f"Backbone: {_backbone(entry)}{by_file}{hashes}.\n\n"
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


def _limits(record: dict[str, Any], entry: dict[str, Any], format: str, scorings: set[str]) -> str:
    config = record["config"]
    cut, captions = record["captions_cut"][config["data"]["train"]["name"]]
    told = "" if cut is None else f" ({cut:,} of {captions:,} training captions were)"
    limits = [
        f"{_context(entry)}{told}."
        if "context" in entry
        else "Texts are cut as the encoder of the embeddings cuts them.",
        "Scores are of the named benchmarks; other pictures and other captions were not tried.",
    ]
    if further := sorted(scorings - {"cosine"}):
        limits.append(f"The scores by {', '.join(further)} need parts of the method that are not in this folder.")
    return _bullets([*limits, *_of_format(entry, format)])


def _context(entry: dict[str, Any]) -> str:
    english = "English captions" if entry.get("tokenizer", "clip") == "clip" else "Captions"
    return f"{english} of at most {entry['context']} tokens; longer ones are cut"


def _of_format(entry: dict[str, Any], format: str) -> list[str]:
    """What a reader of this format must know."""
    limits = []
    if entry.get("transform", {}).get("exif") == "apply":
        limits.append("Pictures were turned as their camera asked (EXIF); turn them before the preprocessing.")
    if format == "adapter":
        limits.append(
            "The maps belong to the embeddings of the one backbone in adapter_config.json; its towers are not here."
        )
    if format in ("transformers", "peft"):
        limits.append(
            "transformers cleans texts less than the tokenizer of the training (no repair of broken encodings, no HTML "
            "entities), and its crop can lie one pixel beside ours: such inputs embed slightly differently."
        )
    if format == "onnx":
        limits += [
            "Checked against PyTorch before it was written: check.json has the largest differences.",
            "tokenizer.json cleans texts less than the tokenizer of the training: no repair of broken encodings, no "
            "HTML entities.",
        ]
    return limits


def _bullets(lines: list[str]) -> str:
    return "\n".join(f"* {line}" for line in lines)
