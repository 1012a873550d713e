"""What a table's row or a figure's line stands for: zero-shot, or a framework with a loss."""

from dataclasses import dataclass, replace
from typing import Any

import pandas

from hnclip.report.load import COSINE, ZERO_SHOT, Study, named
from hnclip.tuning import is_tuned

KINDS = (
    "zero_shot plain scale boosted margin constant centred shuffled frozen images opposite smoothing masked reweighted "
    "hardest sigmoid sigmoid_boosted soft other"
).split()
BOOSTS = {
    "matched": "margin",
    "constant": "constant",
    "centred": "centred",
    "shuffled": "shuffled",
    "frozen": "frozen",
    "images": "images",
}
WORDS = {
    "plain": "plain",
    "scale": "plain",
    "boosted": "boosted",
    "margin": "matched margin",
    "constant": "constant margin",
    "centred": "centred boost",
    "shuffled": "shuffled boost",
    "frozen": "boosted, frozen Ḡ",
    "images": "boosted by images",
    "opposite": "opposite sign",
    "smoothing": "label smoothing",
    "masked": "duplicates masked",
    "reweighted": "reweighted (HN-NCE)",
    "hardest": "hardest negative (VSE++)",
    "sigmoid": "sigmoid (SigLIP)",
    "sigmoid_boosted": "sigmoid, boosted",
    "soft": "soft targets",
}
SYMBOLS = {
    "gamma": "γ",
    "margin": "m",
    "beta": "β",
    "hinge": "hinge",
    "threshold": "threshold",
    "mix": "mix",
    "sharpness": "sharpness",
    "label_smoothing": "smoothing",
    "scale": "s",
}


@dataclass(frozen=True)
class Method:
    """Models that differ in nothing but seed and fraction; `loss` is the config's name, `kind` one of KINDS.

    `scoring` says by which score they order a gallery; only methods by cosine are compared. `tuned`: of several
    settings of the loss, the one with the best validation score was trained.
    """

    backbone: str
    train: str
    framework: str
    loss: str
    kind: str
    label: str
    scoring: str = COSINE
    tuned: bool = False

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
    """The kind of a loss entry of the config, whatever its numbers; a mixture that has no name is `other`."""
    base, boost = entry.get("base", "infonce"), entry.get("boost", "none")
    if base == "sigmoid":
        return {"none": "sigmoid", "captions": "sigmoid_boosted"}.get(boost, "other")
    if base != "infonce":
        return base if boost == "none" and base in KINDS else "other"
    extras = [kind for key, kind in (("label_smoothing", "smoothing"), ("mask_duplicates", "masked")) if entry.get(key)]
    if boost == "none":
        plain = "plain" if is_tuned(entry) or not entry.get("scale") else "scale"
        return [plain, *extras][-1] if len(extras) < 2 else "other"
    if extras:
        return "other"
    if boost == "captions":
        return "opposite" if _first(entry["gamma"]) < 0 else "boosted"
    return BOOSTS.get(boost, "other")


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) else value


def label_of(name: str, entry: dict[str, Any], tuned: bool = False) -> str:
    """The words for a loss of one setting in tables and figures; the config's own name where there are none."""
    words = WORDS.get(kind_of(entry))
    if words is None:
        return name
    numbers = numbers_of(entry)
    if not tuned:
        return ", ".join([words, *numbers])
    return f"{words}, tuned ({', '.join(numbers) or 'learned s'})"


def numbers_of(entry: dict[str, Any]) -> list[str]:
    """The numbers of a loss of one setting, such as `γ = −0.5`, in the order of SYMBOLS."""
    found = {symbol: entry[key] for key, symbol in SYMBOLS.items() if entry.get(key) is not None}
    return [f"{symbol} = {value:g}".replace("-", "−") for symbol, value in found.items()]


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
    """The methods of a setting that have ranks: plain ones first, then the others in the order of KINDS."""
    own = (setting.backbone, setting.train, setting.framework)
    names = {key[3] for key in study.ranks_of if key[:3] == own and key[4] == fraction}
    entries = {name: entry for name, entry in study.config["losses"].items() if name in names}
    trained = {name: trained_entry(study, (*own, name, fraction), entry) for name, entry in entries.items()}
    found = [
        Method(*own, name, kind_of(entry), label_of(name, trained[name], is_tuned(entry)), tuned=is_tuned(entry))
        for name, entry in entries.items()
    ]
    labels = [method.label for method in found]
    found = [
        method if labels.count(method.label) == 1 else replace(method, label=f"{method.label} ({method.loss})")
        for method in found
    ]
    return sorted(found, key=lambda method: _order(method, trained[method.loss]))


def trained_entry(study: Study, key: tuple, entry: dict[str, Any]) -> dict[str, Any]:
    """The entry as the cells of this (backbone, train, framework, loss, fraction) were trained.

    Of a tuned loss it is the setting that validation chose.
    """
    if not is_tuned(entry):
        return entry
    choice = study.choices[key]
    return next(setting["entry"] for setting in choice["settings"] if setting["name"] == choice["chosen"])


def _order(method: Method, entry: dict[str, Any]) -> tuple:
    numbers = [entry.get(key) or 0 for key in SYMBOLS]
    return method.tuned, KINDS.index(method.kind), entry.get("scale") or 0, *numbers, method.loss


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
