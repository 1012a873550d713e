"""Which plain loss each other loss of a setting stands beside."""

from hnclip.report import estimates
from hnclip.report.load import Study
from hnclip.report.methods import Method, Setting, methods

Pair = tuple[Method, Method]


def plain_pairs(study: Study, setting: Setting) -> list[Pair]:
    """Every loss of a setting with its plain one: tuned with tuned, a fixed scale with plain of that scale if any.

    Plain at a fixed scale stands beside plain at the learned one.
    """
    found = methods(study, setting)
    learned = [method for method in found if method.kind == "plain" and not method.tuned]
    pairs = []
    for a in found:
        if a.kind != "plain":
            bases = learned if a.kind == "scale" else estimates.plain_beside(study, a, found)
            pairs += [(a, b) for b in bases[:1]]
    return pairs
