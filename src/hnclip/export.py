"""A trained cell as a folder that other libraries load.

`python -m hnclip.export RUN OUT --format open_clip|transformers|peft` reads run.json, weights.safetensors,
ranks.parquet and log.parquet of RUN and writes OUT, whole or not at all, with a model card. `peft` is for cells with
adapters.
"""

import argparse
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from hnclip.command import run
from hnclip.frameworks.lora import Options as AdapterOptions
from hnclip.model_card import card
from hnclip.models.adapters import adapters_from, write_peft_adapter
from hnclip.models.backbone import Backbone
from hnclip.models.checkpoints import extra_weights, load_backbone, provenance
from hnclip.models.load import backbone_from
from hnclip.models.to_transformers import write_clip_model, write_processor
from hnclip.options import from_dict
from hnclip.store import read_json, write_json, write_tensors, write_text

ADAPTED = ("lora", "dora")
FILES = ("run.json", "weights.safetensors", "ranks.parquet", "log.parquet")


def write_open_clip(folder: Path, backbone: Backbone) -> None:
    """What `open_clip.create_model_and_transforms("local-dir:FOLDER")` and its get_tokenizer read."""
    pictures = asdict(backbone.preprocess)
    pictures["resize_mode"] = pictures.pop("resize")
    write_json(
        folder / "open_clip_config.json",
        {"model_cfg": backbone.architecture, "preprocess_cfg": {"mode": "RGB", **pictures}},
    )
    weights = {name: value.detach().float().cpu().contiguous() for name, value in backbone.weights().items()}
    write_tensors(folder / "open_clip_model.safetensors", weights, {"format": "pt"})


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


def _check_start(start: Backbone, trained: Backbone) -> None:
    """All but attention and logit scale was frozen, so it must be the same before and after training."""
    after = trained.weights()
    frozen = {name: value for name, value in start.weights().items() if ".attn." not in name and name != "logit_scale"}
    changed = [name for name, value in frozen.items() if not torch.equal(value, after[name])]
    if changed:
        raise ValueError(
            f"the backbone that the cell's config names now is not the one it was trained from ({len(changed)} frozen "
            f"weights differ, {changed[0]} first): put its old weights back, or take --format open_clip or transformers"
        )


def main(cell: Path, out: Path, format: str) -> None:
    """Write OUT. Raises FileNotFoundError or ValueError for a run that is not finished, an OUT that is there already,
    and a format that the cell's framework has not."""
    missing = [name for name in FILES if not (cell / name).is_file()]
    if missing:
        raise FileNotFoundError(f"{cell} is no finished run: it lacks {', '.join(missing)}")
    record = read_json(cell / "run.json")
    config = record["config"]
    kind = config["framework"]["kind"]
    if format == "peft" and kind not in ADAPTED:
        raise ValueError(f"framework {kind!r} trains no adapters: take --format open_clip or transformers")
    if (named := provenance(cell / "weights.safetensors").get("cell")) != record["cell"]:
        raise ValueError(f"{cell}: run.json is of cell {record['cell']}, weights.safetensors of {named}")
    backbone = load_backbone(cell / "weights.safetensors").eval()

    def write(part: Path) -> None:
        if format == "open_clip":
            write_open_clip(part, backbone)
        elif format == "transformers":
            write_transformers(part, backbone)
        else:
            write_peft(part, backbone, cell, config)
        write_text(part / "README.md", card(cell, record, format, out.name))

    whole_folder(out, write)


def whole_folder(out: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary folder beside `out`, then put it in place at once; an existing `out` is refused."""
    if os.path.lexists(out):
        raise ValueError(f"{out} is there already: name a new folder, or remove it")
    part = out.with_name(f".{out.name}.{os.getpid()}.part")
    part.mkdir(parents=True)
    try:
        write(part)
        part.rename(out)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m hnclip.export", description=__doc__.splitlines()[0])
    parser.add_argument("cell", type=Path, help="the cell's run: run.json, weights, ranks and log")
    parser.add_argument("out", type=Path, help="the folder to write; it must not exist")
    parser.add_argument(
        "--format", required=True, choices=("open_clip", "transformers", "peft"), help="who is to load it"
    )
    return parser.parse_args()


if __name__ == "__main__":
    run(lambda: main(**vars(_arguments())))
