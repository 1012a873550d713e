"""What is wrong with how a config joins frameworks and cached embeddings. No torch."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from hnclip import inputs
from hnclip.cell import Config
from hnclip.data import prepare

GIVEN = "embeddings"  # the kind of a backbone whose embeddings the user has


def cached_problems(config: Config) -> Iterator[str]:
    """Each fault of the grids that the study runs; names that nothing answers to are left to their own check."""
    faults: dict[str, None] = {}
    for name in config["run"]:
        axes = config["grids"].get(name, {})
        for framework in _known(config["frameworks"], axes.get("frameworks", [])):
            entry = config["frameworks"][framework]
            faults |= dict.fromkeys(_joined(config, framework, inputs.cached(entry), axes))
            if inputs.cached(entry):
                faults |= dict.fromkeys(_recipe(framework, {**config["recipe"], **entry.get("recipe", {})}))
    yield from faults


def _joined(config: Config, framework: str, cached: bool, axes: Config) -> Iterator[str]:
    """Backbones and benchmarks of a grid that have not what its framework trains on."""
    given = [name for name in _known(config["backbones"], axes["backbones"]) if _is(config["backbones"][name], GIVEN)]
    used = _known(config["benchmarks"], [*axes["train"], *axes.get("transfer", [])])
    bare = [name for name in used if _bare(config["benchmarks"][name]["kind"])]
    take = "take framework adapter, or another whose entry says `inputs: {embeddings: true}`"
    for name in bare:
        if not config["benchmarks"][name].get("options", {}).get("caption_column"):
            for loss in _known(config["losses"], axes.get("losses", [])):
                if config["losses"][loss].get("mask_duplicates"):
                    yield (
                        f"losses.{loss}.mask_duplicates: benchmarks.{name} has no words that could be the same; name "
                        "its `caption_column`, or leave the loss out"
                    )
    if not cached:
        for name in given:
            yield f"backbones.{name} has embeddings and no towers, which framework {framework!r} trains: {take}"
        for name in bare:
            yield f"benchmarks.{name} has embeddings and no pictures, on which framework {framework!r} trains: {take}"
        return
    if extra := sorted(inputs.wanted(config["frameworks"][framework]).keys() - {"embeddings"}):
        yield f"frameworks.{framework}.inputs: cached embeddings stand alone, beside no {', '.join(extra)}"
    for name in bare:
        for backbone in _known(config["backbones"], axes["backbones"]):
            if backbone not in given:
                yield (
                    f"benchmarks.{name} has embeddings and no pictures for backbone {backbone!r}: take a backbone of "
                    f"kind `embeddings` that names its file"
                )


def _recipe(framework: str, recipe: dict[str, Any]) -> Iterator[str]:
    """What a recipe asks of towers and pictures that are not there."""
    wrong = {"strategy": ("fsdp", "ddp"), "checkpoint_activations": (True, "false")}
    wrong["train_filter"] = ("local_pairs", "none")
    for key, (value, instead) in wrong.items():
        if recipe.get(key) == value:
            yield f"frameworks.{framework}: it trains on cached embeddings, where `{key}` can only be {instead}"


def _known(entries: Config, names: list[str]) -> list[str]:
    return [name for name in names if name in entries]


def _is(entry: Config, kind: str) -> bool:
    return entry.get("kind") == kind


def _bare(kind: str) -> bool:
    """Whether benchmarks of this kind have embeddings alone."""
    return kind in prepare.kinds() and getattr(import_module(f"hnclip.data.prepare.{kind}"), "CACHED", False)
