"""What a table's row or a figure's line stands for: zero-shot, a framework with a loss, or plain at a chosen scale."""

from dataclasses import dataclass, replace
from typing import Any

import pandas

from hnclip.report.load import COSINE, ZERO_SHOT, Study, named, validation_target

KINDS = ("zero_shot", "plain", "scale", "chosen", "boosted", "margin", "frozen", "other")
BOOSTS = {"captions": "boosted", "matched": "margin", "frozen": "frozen"}


@dataclass(frozen=True)
class Method:
    """Models that differ in nothing but seed and fraction; `loss` is the config's name, `kind` one of KINDS.

    `scoring` says by which score they order a gallery; only methods by cosine are compared.
    """

    backbone: str
    train: str
    framework: str
    loss: str
    kind: str
    label: str
    scoring: str = COSINE

    def ranks(self, study: Study, target: str, fraction: int = 100) -> pandas.DataFrame | None:
        """Its ranks on a target, all seeds; None where it was not evaluated. Zero-shot has no fraction."""
        fraction = 0 if self.kind == "zero_shot" else fraction
        key = (self.backbone, self.train, self.framework, self.loss, fraction, target)
        if self.scoring == COSINE:
            return study.ranks_of.get(key)
        return study.rescored_of.get((*key, self.scoring))

    def epochs(self, study: Study, fraction: int = 100) -> pandas.DataFrame:
        """Its rows of the epochs table."""
        keep = study.epochs["fraction"] == fraction
        for name in ("backbone", "train", "framework", "loss"):
            keep &= study.epochs[name] == getattr(self, name)
        return study.epochs[keep]


@dataclass(frozen=True)
class Setting:
    """Where methods compare: one backbone, one training set, one framework."""

    backbone: str
    train: str
    framework: str


def kind_of(entry: dict[str, Any]) -> str:
    """The kind of a loss entry of the config; entries with keys of their own are `other`."""
    if entry.get("base", "infonce") != "infonce" or set(entry) - {"base", "boost", "gamma", "scale"}:
        return "other"
    if entry.get("boost", "none") == "none":
        return "scale" if entry.get("scale") else "plain"
    return BOOSTS.get(entry["boost"], "other")


def label_of(name: str, entry: dict[str, Any]) -> str:
    """The words for a loss in tables and figures; the config's own name where there are none."""
    gamma = entry.get("gamma")
    words = {
        "plain": "plain",
        "scale": "plain",
        "boosted": f"boosted, γ = {gamma}",
        "margin": f"constant margin, γ = {gamma}",
        "frozen": f"boosted, frozen Ḡ, γ = {gamma}",
    }.get(kind_of(entry))
    if words is None:
        return name
    return f"{words}, s = {entry['scale']}" if entry.get("scale") else words


def settings(study: Study) -> list[Setting]:
    """Every setting that has ranks, in the config's order."""
    found = {key[:3] for key in study.ranks_of}
    return [
        Setting(backbone, train, framework)
        for backbone in named(study.config, "backbones")
        for train in named(study.config, "train")
        for framework in named(study.config, "frameworks")
        if (backbone, train, framework) in found
    ]


def setting_words(study: Study, setting: Setting) -> str:
    """What tells this setting from the study's others."""
    found = settings(study)
    varied = [name for name in ("backbone", "train") if len({getattr(other, name) for other in found}) > 1]
    return ", ".join([setting.framework, *(getattr(setting, name) for name in varied)])


def zero_shot(study: Study, backbone: str) -> Method:
    return Method(backbone, "", ZERO_SHOT, "none", "zero_shot", "zero-shot")


def methods(study: Study, setting: Setting, fraction: int = 100) -> list[Method]:
    """The methods of a setting that have ranks: plain ones first, then boosted, margin, frozen, others."""
    own = (setting.backbone, setting.train, setting.framework)
    names = {key[3] for key in study.ranks_of if key[:3] == own and key[4] == fraction}
    found = [
        Method(setting.backbone, setting.train, setting.framework, name, kind_of(entry), label_of(name, entry))
        for name, entry in study.config["losses"].items()
        if name in names
    ]
    labels = [method.label for method in found]
    found = [
        method if labels.count(method.label) == 1 else replace(method, label=f"{method.label} ({method.loss})")
        for method in found
    ]
    return sorted(found, key=lambda method: _order(method, study.config["losses"][method.loss]))


def _order(method: Method, entry: dict[str, Any]) -> tuple:
    return KINDS.index(method.kind), entry.get("scale") or 0, entry.get("gamma") or 0, method.loss


def rescored(study: Study, found: list[Method]) -> list[Method]:
    """These methods again, for every further scoring under which they ranked all data's models; often none."""
    scorings: dict[tuple, set[str]] = {}
    for *cell, fraction, _, scoring in study.rescored_of:
        if fraction == 100:
            scorings.setdefault(tuple(cell), set()).add(scoring)
    return [
        replace(method, scoring=scoring)
        for method in found
        for scoring in sorted(scorings.get((method.backbone, method.train, method.framework, method.loss), ()))
    ]


def last_epochs(epochs: pandas.DataFrame) -> pandas.DataFrame:
    """The rows of each cell's last epoch, with `mean`, the R@1 of both directions (0..1)."""
    cell = ["backbone", "train", "framework", "loss", "fraction", "seed"]
    last = epochs[epochs["epoch"] == epochs.groupby(cell)["epoch"].transform("max")]
    return last.assign(mean=(last["t2i_r1"] + last["i2t_r1"]) / 2)


def scale_candidates(study: Study, setting: Setting) -> list[Method]:
    """Plain InfoNCE at its learned and at every fixed scale."""
    return [method for method in methods(study, setting) if method.kind in ("plain", "scale")]


def chosen_plain(study: Study, setting: Setting) -> Method | None:
    """Plain InfoNCE at the scale with the best mean R@1 on the validation split after the last epoch.

    One choice for all seeds, made over the seeds that every candidate has. None where there is nothing to choose.
    """
    candidates = scale_candidates(study, setting)
    if len(candidates) < 2:
        return None
    target = validation_target(study, setting.train)
    if target is None:
        return None
    scores = {}
    for method in candidates:
        rows = last_epochs(method.epochs(study))
        scores[method] = rows[rows["target"] == target].set_index("seed")["mean"]
    shared = set.intersection(*(set(score.index) for score in scores.values()))
    if not shared:
        return None
    best = max(candidates, key=lambda method: scores[method].loc[sorted(shared)].mean())
    return replace(best, kind="chosen", label="plain, scale chosen on validation")


def scale_words(study: Study, chosen: Method) -> str:
    """The chosen scale in words."""
    scale = study.config["losses"][chosen.loss].get("scale")
    return f"s = {scale}" if scale else "the learned scale"
