"""What is wrong with how a config joins frameworks and backbones: towers that lack what a framework needs. No torch."""

from collections.abc import Iterator
from typing import Any

from hnclip import frameworks
from hnclip.architecture import architecture, fault, lacking, offers, openai_layout
from hnclip.cell import Config


def tower_problems(config: Config) -> Iterator[str]:
    """Each fault of the grids that the study runs; backbones whose architecture nothing tells are left to others."""
    faults: dict[str, None] = {}
    for axes in (config["grids"][name] for name in config["run"] if name in config["grids"]):
        for name in axes["backbones"]:
            entry = config["backbones"].get(name)
            if entry is None or "tokenizer" not in entry or entry["kind"] == "embeddings":
                continue
            for text in _of_backbone(entry):
                faults[f"backbones.{name}{text}"] = None
            for framework in axes["frameworks"]:
                for text in _joined(config, framework, entry):
                    faults[f"frameworks.{framework} with backbones.{name}: {text}"] = None
    yield from faults


def _of_backbone(entry: dict[str, Any]) -> Iterator[str]:
    """Of the backbone alone: models that cannot be one, the wrong context or tokenizer for them."""
    try:
        found = architecture(entry)
    except (ValueError, KeyError, OSError) as error:
        if entry["kind"] == "open_clip" and "model" in entry:  # other kinds' files have a check of their own
            yield f".model: {error}"
        return
    if found is None:
        return
    if why := fault(found):
        yield f": it is no backbone, as {why}"
        return
    words = found["text_cfg"]
    own = words.get("context_length", 77)
    if not openai_layout(found) and "hf_model_name" not in words and entry["context"] != own:
        yield f".context: the text tower of this model has {own} positions, which are not stretched; set {own}"
    named = words.get("hf_tokenizer_name") or words.get("hf_model_name")
    if entry["kind"] == "open_clip" and named and entry["tokenizer"] == "clip":
        yield f".tokenizer: this model was trained with another ({named}); set open_clip:{entry['model']}"


def _joined(config: Config, framework: str, entry: dict[str, Any]) -> Iterator[str]:
    """Of a framework's cells on this backbone."""
    own = config["frameworks"].get(framework)
    if own is None or own["kind"] not in frameworks.names() or own.get("inputs", {}).get("embeddings"):
        return
    try:
        offered = offers(entry)
    except (ValueError, KeyError, OSError):
        return
    if problem := lacking(own["kind"], frameworks.needs(own["kind"]), offered):
        yield problem
    recipe = {**config["recipe"], **own.get("recipe", {})}
    if "clip_blocks" not in offered:
        if recipe.get("strategy") == "fsdp":
            yield "`strategy: fsdp` shares open_clip's own blocks, which this backbone does not have; take `ddp`"
        if recipe.get("checkpoint_activations"):
            yield (
                "`checkpoint_activations` computes open_clip's own blocks again, which this backbone does not have; "
                "set it to false, and a smaller `chunk`"
            )
