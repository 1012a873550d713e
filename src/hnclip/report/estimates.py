"""The numbers that tables, figures and the summary share: one row a method and target, or a pair of methods."""

from collections.abc import Iterable

from hnclip.report.contrast import Contrast, contrast
from hnclip.report.load import ZERO_SHOT, Study, named
from hnclip.report.methods import Method, Setting, methods, rescored, settings, zero_shot
from hnclip.report.statistics import Hits, count_hits, difference, interval

DIRECTIONS = ("t2i", "i2t")
MEAN = "mean"


def hits_of(study: Study, method: Method, target: str, direction: str, k: int, fraction: int = 100) -> Hits | None:
    """The method's hits on a target, in one direction or in both (`mean`); None where it was not evaluated there."""
    asked = (method, target, direction, k, fraction)
    if asked not in study.counted:
        ranks = method.ranks(study, target, fraction)
        if ranks is not None and direction != MEAN:
            ranks = ranks[ranks["direction"] == direction]
        study.counted[asked] = None if ranks is None else count_hits(ranks, k)
    return study.counted[asked]


def main_methods(study: Study) -> list[Method]:
    """Every row of the main table: each backbone's zero-shot row, then its settings' rows, re-scored ones last."""
    found = []
    for backbone in named(study.config, "backbones"):
        here = [setting for setting in settings(study) if setting.backbone == backbone]
        if any(key[0] == backbone and key[2] == ZERO_SHOT for key in study.ranks_of):
            found.append(zero_shot(study, backbone))
        for setting in here:
            found += [*methods(study, setting), *rescored(study, methods(study, setting))]
    return found


def estimate(
    study: Study, method: Method, target: str, direction: str, k: int = 1, fraction: int = 100, seed: int | None = None
) -> dict[str, float] | None:
    """Score, low and high in percent, and the number of seeds: all that there are, or the one given."""
    hits = hits_of(study, method, target, direction, k, fraction)
    if hits is None:
        return None
    return _percent(study, hits if seed is None else hits.of_seeds((seed,)))


def _percent(study: Study, hits: Hits) -> dict[str, float]:
    found = interval(hits, study.options.bootstrap, study.options.confidence)
    return {"score": 100 * found.score, "low": 100 * found.low, "high": 100 * found.high, "seeds": found.seeds}


def paired(
    study: Study, a: Method, b: Method, target: str, direction: str = MEAN, k: int = 1, fraction: int = 100
) -> dict[str, float] | None:
    """a - b in points of percent with its paired interval; None where one is missing or no seed is shared."""
    found = contrast_of(study, *(hits_of(study, method, target, direction, k, fraction) for method in (a, b)))
    if found is None:
        return None
    low, high = found.interval(study.options.confidence)
    return {"score": 100 * found.score, "low": 100 * low, "high": 100 * high, "seeds": found.seeds}


def contrast_of(study: Study, a: Hits | None, b: Hits | None) -> Contrast | None:
    """The contrast a - b over the seeds of both; None where one side was not evaluated or no seed is shared."""
    if a is None or b is None or not set(a.seeds) & set(b.seeds):
        return None
    return contrast(difference(a, b), study.options.bootstrap)


def plain_beside(study: Study, a: Method, found: Iterable[Method]) -> list[Method]:
    """The plain methods among `found` that `a` is compared with: tuned with tuned; those at its fixed scale, else at
    the learned one."""
    if a.tuned:
        return [method for method in found if method.tuned and method.kind == "plain"]
    scale = study.config["losses"][a.loss].get("scale")
    fixed = [m for m in found if m.kind == "scale" and scale and study.config["losses"][m.loss]["scale"] == scale]
    return fixed or [method for method in found if method.kind == "plain" and not method.tuned]


def fractions(study: Study, setting: Setting) -> dict[Method, list[int]]:
    """The data fractions (percent) of each method that was trained on more than one.

    A tuned loss may have another setting at each; its label is that of the largest.
    """
    own = (setting.backbone, setting.train, setting.framework)
    found: dict[Method, list[int]] = {}
    for fraction in sorted({key[4] for key in study.ranks_of if key[:3] == own}, reverse=True):
        for method in methods(study, setting, fraction):
            known = next((other for other in found if other.loss == method.loss), method)
            found.setdefault(known, []).insert(0, fraction)
    return {method: values for method, values in found.items() if len(values) > 1}
