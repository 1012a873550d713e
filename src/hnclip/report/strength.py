"""Losses that differ in nothing but the strength γ of their offset, from plain (γ = 0) up."""

from hnclip.report.load import Study
from hnclip.report.methods import Method, Setting, methods

SIGNED = ("opposite", "boosted")  # one line: the boost with its sign turned has a strength below 0
FEWEST = 2  # strengths beside 0 that make a sweep
Sweep = list[tuple[float, Method]]  # (γ, method) from the smallest strength up


def gamma_of(study: Study, method: Method) -> float:
    """The strength of an untuned loss; 0 of a plain one."""
    return float(study.config["losses"][method.loss].get("gamma", 0.0))


def scale_of(study: Study, method: Method) -> float | None:
    """The scale that an untuned loss holds fixed; None where it is learned."""
    scale = study.config["losses"][method.loss].get("scale")
    return None if scale is None else float(scale)


def sweeps(study: Study, setting: Setting, kinds: tuple[str, ...] = SIGNED) -> list[Sweep]:
    """The sweeps over γ of one kind of boost, one a scale, each with the plain loss of that scale where there is one.

    A scale with fewer than FEWEST strengths beside 0 has none. Tuned losses are in no sweep.
    """
    untuned = [method for method in methods(study, setting) if not method.tuned]
    boosted = [method for method in untuned if method.kind in kinds]
    found = []
    for scale in dict.fromkeys(scale_of(study, method) for method in boosted):
        plain = [m for m in untuned if m.kind in ("plain", "scale") and scale_of(study, m) == scale]
        here = [method for method in boosted if scale_of(study, method) == scale]
        sweep = sorted(((gamma_of(study, m), m) for m in (*plain, *here)), key=lambda pair: (pair[0], pair[1].loss))
        if len({gamma for gamma, _ in sweep if gamma}) >= FEWEST:
            found.append(sweep)
    return found
