"""Which methods a study compares: the pairs behind its questions, within one backbone, training set and framework."""

from hnclip.report.estimates import plain_beside
from hnclip.report.load import Study
from hnclip.report.methods import Method, Setting, methods

# Everything that stands against plain fine-tuning, and what the boost stands against beside it.
AGAINST_PLAIN = (
    "boosted margin constant centred shuffled frozen images opposite smoothing masked reweighted hardest sigmoid soft"
).split()
AGAINST_BOOSTED = ("margin", "constant", "centred", "shuffled", "frozen", "images")
AGAINST_TUNED_PLAIN = ("boosted", "margin")


def comparisons(study: Study, setting: Setting, fraction: int = 100) -> list[tuple[Method, Method]]:
    """The pairs (a, b) whose differences a - b are judged, each once.

    A loss meets the plain one of its own standing: tuned with tuned; otherwise that of its own fixed scale, else the
    learned one. The boost meets each control, tuned with tuned, otherwise of its own scale and strength. Untuned boost
    and margin also meet the plain loss whose scale was tuned, which meets the untuned one.
    """
    found = methods(study, setting, fraction)
    tuned_plain = [method for method in found if method.kind == "plain" and method.tuned]
    pairs = [(a, b) for a in found if a.kind in AGAINST_PLAIN for b in plain_beside(study, a, found)]
    pairs += [
        (a, b) for a in found if a.kind == "boosted" for b in found if b.kind in AGAINST_BOOSTED and _alike(study, a, b)
    ]
    pairs += [
        (a, b)
        for a in found
        if a.kind == "sigmoid_boosted"
        for b in found
        if b.kind == "sigmoid" and a.tuned == b.tuned and (a.tuned or _scale(study, a) == _scale(study, b))
    ]
    pairs += [(a, b) for a in found if a.kind in AGAINST_TUNED_PLAIN and not a.tuned for b in tuned_plain]
    pairs += [(a, b) for a in tuned_plain for b in found if b.kind == "plain" and not b.tuned]
    return list(dict.fromkeys(pairs))


def _alike(study: Study, boosted: Method, control: Method) -> bool:
    """Whether a control is the boost's own: both tuned, or of one scale and, where it has a strength, of one γ."""
    if boosted.tuned or control.tuned:
        return boosted.tuned and control.tuned
    gammas = [study.config["losses"][method.loss].get("gamma") for method in (boosted, control)]
    return _scale(study, boosted) == _scale(study, control) and (control.kind == "constant" or gammas[0] == gammas[1])


def _scale(study: Study, method: Method) -> float | None:
    return study.config["losses"][method.loss].get("scale")
