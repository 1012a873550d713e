"""What is wrong with how a config spreads its cells: tiles that a loss cannot have, audits of several processes."""

from collections.abc import Iterator
from typing import Any

from hnclip import tuning
from hnclip.cell import Config
from hnclip.losses.entry import LossEntry
from hnclip.options import from_dict
from hnclip.recipe import Recipe

ADAPTERS = ("lora", "dora")


def scale_problems(config: Config) -> Iterator[str]:
    """Each fault of the grids that the study runs; recipes and losses at fault themselves are left to their checks."""
    faults: dict[str, None] = {}
    for axes in (config["grids"][name] for name in config["run"] if name in config["grids"]):
        for framework in axes["frameworks"]:
            recipe = _recipe(config, framework)
            if recipe is None:
                continue
            if axes.get("audit") and recipe.processes > 1:
                faults[
                    f"frameworks.{framework}: {recipe.processes} processes train its cells (recipe: `gpus` times "
                    "`nodes`), and an audit has one; leave `audit` away from its grids"
                ] = None
            kind = config["frameworks"][framework]["kind"]
            if recipe.strategy == "fsdp" and kind in ADAPTERS:
                faults[
                    f"frameworks.{framework}: `strategy: fsdp` shares what is trained, and {kind} trains little; "
                    "take `strategy: ddp`"
                ] = None
            if recipe.tile is not None:
                faults |= dict.fromkeys(_untiled(config, framework, axes["losses"]))
    yield from faults


def _recipe(config: Config, framework: str) -> Recipe | None:
    try:
        entry = config["frameworks"][framework]
        return from_dict(Recipe, {**config["recipe"], **entry.get("recipe", {})}, "recipe")
    except (ValueError, KeyError):
        return None


def _untiled(config: Config, framework: str, losses: list[str]) -> Iterator[str]:
    for name in losses:
        entry: dict[str, Any] = config["losses"].get(name, {})
        for setting in tuning.settings(name, entry).values() if tuning.is_tuned(entry) else [entry]:
            try:
                loss = from_dict(LossEntry, setting, "loss")
            except ValueError:
                continue
            try:
                loss.check_tiled()
            except ValueError as error:
                yield f"losses.{name} with `tile` in the recipe of {framework}: {error}"
