"""The text of a study for one's own data: as short as can be, with comments where there is something to choose."""

from dataclasses import dataclass, field
from math import ceil
from typing import Any

import yaml

TOY = "tiny"
SHARES = {"train": 80, "validation": 10, "test": 10}
# Where pretrained towers are trained whole: the paper's own recipe (workflow/studies/paper.yaml).
RECIPE = {
    "epochs": (10, "the last one is the result"),
    "batch": (16, "pairs that a loss compares with one another; more are more negatives"),
    "accumulate": (8, "batches whose gradients add up to one step"),
    "lr": (2.0e-6, None),
    "weight_decay": (0.01, None),
    "precision": ("32-true", "bf16-mixed on a GPU"),
    "eval_batch": (64, None),
    "threads": (4, "CPU threads a cell"),
}


@dataclass(frozen=True)
class Wanted:
    """What a new study is made of. `backbone`: its entry, None for the toy that every study has.

    `benchmark`: its whole entry. `own`: entries of `frameworks` that differ from config.yaml's for this backbone.
    """

    name: str
    data: str
    benchmark: dict[str, Any]
    model: str
    backbone: dict[str, Any] | None
    frameworks: list[str]
    losses: list[str]
    seeds: list[int]
    own: dict[str, Any] = field(default_factory=dict)
    recipe: bool = True


def updates(wanted: Wanted, images: int) -> int | None:
    """Optimiser steps of a training on so many images by the recipe that is written; None where none is."""
    if not wanted.recipe or wanted.model == TOY:
        return None
    epochs, batch, accumulate = (RECIPE[key][0] for key in ("epochs", "batch", "accumulate"))
    return epochs * ceil(ceil(images / batch) / accumulate)


def study_text(wanted: Wanted, run_as: str) -> str:
    """The YAML of the study; `run_as` is the command that runs it."""
    toy = "   # a toy: name a pretrained model for real work" if wanted.model == TOY else ""
    name, data, model = map(spelled, (wanted.name, wanted.data, wanted.model))
    lines = [
        "# A study of your own images and captions. All that may stand here: hnclip's config.yaml.",
        f"#   {' '.join(run_as.split())}",
        "# Relative paths start in this file's folder, and results/ lands there.",
        "",
        f"study: {name}",
        f"run: [{name}]",
        "",
        "grids:                     # every combination of these is trained",
        f"  {name}:",
        f"    backbones: [{model}]{toy}",
        f"    train: [{data}]",
        f"    frameworks: {spelled(wanted.frameworks)}",
        f"    losses: {spelled(wanted.losses)}   # infonce: no boost, hn: boosted; also margin, centred, infonce-tuned",
        "    fractions: [100]",
        f"    seeds: {spelled(wanted.seeds)}   # one seed is an anecdote, three are a hint",
        "",
        "benchmarks:",
        f"  {data}:",
        *_entry(wanted.benchmark, 4),
    ]
    if wanted.backbone is not None:
        lines += ["", "backbones:", f"  {model}:", *_entry(wanted.backbone, 4)]
    if wanted.own:
        for section, entries in wanted.own.items():
            lines += ["", f"{section}:", *(f"  {name}: {spelled(entry)}" for name, entry in entries.items())]
    if wanted.recipe:
        lines += ["", "recipe:", *_recipe(wanted.model)]
    return "\n".join(lines) + "\n"


def _recipe(model: str) -> list[str]:
    if model == TOY:
        return ["  epochs: 8"]
    return [f"  {key}: {spelled(value)}" + (f"   # {why}" if why else "") for key, (value, why) in RECIPE.items()]


def _entry(entry: dict[str, Any], indent: int) -> list[str]:
    """An entry's keys, its options one a line."""
    lines = []
    for key, value in entry.items():
        if key == "options":
            lines += [f"{' ' * indent}options:", *_entry(value, indent + 2)]
        else:
            more = "   # per cent of the images, by a hash of each image's id" if key == "split_hash" else ""
            lines.append(f"{' ' * indent}{key}: {spelled(value)}{more}")
    return lines


def spelled(value: Any) -> str:
    """A value on one line, as YAML reads it back: a name such as 2024 or no in quotes, an exponent with its point."""
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=float("inf"), sort_keys=False)
    return text.strip().removesuffix("...").strip()
