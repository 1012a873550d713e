"""A trained cell, or another model, as a folder that other libraries load.

`python -m hnclip.export RUN OUT --format open_clip|transformers|adapter|onnx` reads run.json, weights.safetensors,
ranks.parquet and log.parquet of RUN and writes OUT, whole or not at all, with a card. `adapter` is for cells that
trained adapters: `peft`'s own layout for those of towers, two maps for those of cached embeddings. RUN may be any
model that `hnclip.model_spec` names; its card says less.
"""

import argparse
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from hnclip.command import run
from hnclip.encoder import Encoder
from hnclip.frameworks.lora import Options as AdapterOptions
from hnclip.model_card import card, short_card
from hnclip.model_spec import EXPORTED, backbone_entry, made_with, one_way
from hnclip.models.adapted import AdaptedTowers
from hnclip.models.adapters import adapters_from, write_peft_adapter
from hnclip.models.backbone import Backbone
from hnclip.models.cached import CachedTowers
from hnclip.models.checkpoints import extra_weights, provenance
from hnclip.models.load import backbone_from
from hnclip.models.onnx_check import check_graphs
from hnclip.models.to_adapter import write_adapter
from hnclip.models.to_onnx import check_packages, write_feeding, write_graphs
from hnclip.models.to_open_clip import write_open_clip
from hnclip.models.to_transformers import write_clip_model, write_processor
from hnclip.models.trained import load_trained
from hnclip.options import from_dict, unknown
from hnclip.store import read_run_record, whole_folder, write_json, write_text

ADAPTED = ("lora", "dora")
FILES = ("run.json", "weights.safetensors", "ranks.parquet", "log.parquet")
FORMATS = ("open_clip", "transformers", "adapter", "peft", "onnx")
WHOLE = "take open_clip, transformers or onnx"


@dataclass(frozen=True)
class Source:
    """What is exported: a model, the entry of its backbone, and of a run its folder and record."""

    name: str
    model: Backbone
    entry: dict[str, Any]
    record: dict[str, Any] | None = None

    @property
    def kind(self) -> str | None:
        """The framework of a run."""
        return self.record and self.record["config"]["framework"]["kind"]


def write_transformers(folder: Path, backbone: Backbone) -> None:
    """What `CLIPModel.from_pretrained` and `CLIPProcessor.from_pretrained` read."""
    write_clip_model(folder, backbone)
    write_processor(folder, backbone.preprocess, backbone.context)


def write_peft(folder: Path, backbone: Backbone, cell: Path, config: dict[str, Any]) -> None:
    """`base`, transformers' CLIPModel of what training started from, and `adapter`, what it learned."""
    framework = config["framework"]
    options = from_dict(AdapterOptions, framework.get("options", {}), f"options of framework {framework['kind']}")
    start = backbone_from(config["backbone"])
    _check_start(start, backbone)
    start.clip.logit_scale.data.copy_(backbone.clip.logit_scale)  # frozen in training, but a loss may have set it
    learned = extra_weights(cell / "weights.safetensors")
    adapted = adapters_from(start, learned, options.rank, options.alpha, dora=framework["kind"] == "dora")
    write_transformers(folder / "base", start)
    write_peft_adapter(folder / "adapter", adapted, "base")


def write_onnx(folder: Path, backbone: Backbone, exif: str) -> dict[str, Any]:
    """Graphs, tokenizer, preprocess.json and check.json; returns what the check found. Raises as that does."""
    check_packages()
    write_graphs(folder, backbone)
    write_feeding(folder, backbone, exif)
    found = check_graphs(folder, backbone)
    write_json(folder / "check.json", found)
    return found


def _check_start(start: Backbone, trained: Backbone) -> None:
    """All but attention and logit scale was frozen, so it must be the same before and after training."""
    after = trained.weights()
    frozen = {name: value for name, value in start.weights().items() if ".attn." not in name and name != "logit_scale"}
    changed = [name for name, value in frozen.items() if not torch.equal(value, after[name])]
    if changed:
        raise ValueError(
            f"the backbone that the cell's config names now is not the one it was trained from ({len(changed)} frozen "
            f"weights differ, {changed[0]} first): put its old weights back, or {WHOLE}"
        )


def main(source: Path | str, out: Path, format: str) -> dict[str, Any]:
    """Write OUT; returns its format, its files and of `onnx` the largest differences found.

    Raises FileNotFoundError or ValueError for a run that is not finished, an OUT that is there already, and a format
    that the model or the cell's framework has not.
    """
    if format not in FORMATS:
        raise ValueError(unknown("format", format, FORMATS))
    if os.path.lexists(out):
        raise ValueError(f"{out} is there already: name a new folder, or remove it")
    found = _run(Path(source)) if _is_run(Path(source)) else _model(str(source))
    format = _layout(found, format)
    if format == "onnx" and isinstance(found.model, CachedTowers):
        towers = Encoder(found.name).backbone.cpu()  # it looks whether they are those whose embeddings were mapped
        found = replace(found, model=AdaptedTowers(_named(towers, found.entry), found.model).eval())
    with whole_folder(out) as part:
        told = _write(part, found, format, out.name)
        write_text(part / "README.md", _card(found, format, out.name))
    files = sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())
    return {"out": str(out), "format": format, "files": files, **told}


def _write(folder: Path, found: Source, format: str, name: str) -> dict[str, Any]:
    """The model's files in a layout; what is to be told of them."""
    if format == "open_clip":
        write_open_clip(folder, found.model, name)
    elif format == "transformers":
        write_transformers(folder, found.model)
    elif format == "peft":
        write_peft(folder, found.model, Path(found.name), found.record["config"])
    elif format == "adapter":
        write_adapter(folder, found.model, found.entry)
    else:
        checked = write_onnx(folder, found.model, found.entry["transform"]["exif"])
        return {"largest_difference": checked["largest_difference"]}
    return {}


def _is_run(folder: Path) -> bool:
    """True of a folder that a training wrote or began to."""
    other = (folder / EXPORTED).is_file() or one_way(folder)
    return not other and any((folder / name).is_file() for name in (*FILES, "config.json"))


def _run(cell: Path) -> Source:
    missing = [name for name in FILES if not (cell / name).is_file()]
    if missing:
        raise FileNotFoundError(f"{cell} is no finished run: it lacks {', '.join(missing)}")
    record = read_run_record(cell, "backbone")
    if (named := provenance(cell / "weights.safetensors").get("cell")) != record["cell"]:
        raise ValueError(f"{cell}: run.json is of cell {record['cell']}, weights.safetensors of {named}")
    entry = _entry(cell, record["config"]["backbone"])
    return Source(str(cell), _named(load_trained(cell / "weights.safetensors").eval(), entry), entry, record)


def _entry(cell: Path, trained: dict[str, Any]) -> dict[str, Any]:
    """The backbone's entry; of embeddings that were given as a file that of the model that made them, where known."""
    try:
        maker = made_with(cell)
    except ValueError:  # maps alone need no more than the file's name; `_layout` tells the others why
        return trained
    return maker.entry if maker else trained


def _model(name: str) -> Source:
    entry = backbone_entry(name)
    return Source(name, _named(backbone_from(entry).eval(), entry), entry)


def _named(backbone: Backbone, entry: dict[str, Any]) -> Backbone:
    """With the tokenizer of its entry."""
    backbone.tokenizer = entry.get("tokenizer", "clip")
    return backbone


def _layout(found: Source, format: str) -> str:
    """The layout that is written. Raises ValueError where this model has none in this format."""
    if isinstance(found.model, CachedTowers):
        towers = found.entry["kind"] != "embeddings"
        if format == "onnx" and not towers:
            made_with(found.name)  # raises
        if format not in ("adapter", "onnx"):
            take = "adapter or onnx" if towers else "adapter"
            raise ValueError(
                f"this run mapped cached embeddings and has no towers of its own: take {take}, not {format}"
            )
        return format
    if format in ("adapter", "peft"):
        if found.kind not in ADAPTED:
            what = f"framework {found.kind!r} trains" if found.record else f"{found.name} is no run, and has"
            raise ValueError(f"{what} no adapters: {WHOLE}")
        return "peft"
    return format


def _card(found: Source, format: str, name: str) -> str:
    if found.record is None:
        return short_card(found.name, found.entry, found.model, format, name)
    return card(Path(found.name), found.record, found.entry, format, name, found.model)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m hnclip.export", description=__doc__.splitlines()[0])
    parser.add_argument("source", metavar="run", help="the cell's run: run.json, weights, ranks and log; or a model")
    parser.add_argument("out", type=Path, help="the folder to write; it must not exist")
    parser.add_argument("--format", required=True, choices=FORMATS, help="who is to load it")
    return parser.parse_args()


if __name__ == "__main__":
    run(lambda: main(**vars(_arguments())))
