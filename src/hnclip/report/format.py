"""Numbers as tables print them, and the columns that name a method."""

import math

from hnclip.report.load import Study
from hnclip.report.methods import Method
from hnclip.report.scorings import framework_words

DIRECTION_WORDS = {"t2i": "caption → image", "i2t": "image → caption"}


def percent(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.1f}"


def with_interval(found: dict[str, float] | None) -> str:
    """`41.3 [38.0, 44.6]`, or a dash where there is no score."""
    if found is None:
        return "–"
    return f"{percent(found['score'])} [{percent(found['low'])}, {percent(found['high'])}]"


def signed(value: float) -> str:
    """One decimal with a sign; a true minus, and no sign before a zero."""
    text = f"{value:+.1f}".replace("-", "−")
    return "–" if math.isnan(value) else text[1:] if text[1:] == "0.0" else text


def bounds(low: float, high: float) -> str:
    """`[+1.2, +3.4]`, an interval of points."""
    return f"[{signed(low)}, {signed(high)}]"


def p_words(value: float) -> str:
    """A p-value with two figures, not below 0.0001."""
    if math.isnan(value):
        return "–"
    if value < 0.0001:
        return "< 0.0001"
    return f"{value:.{max(2, 1 - math.floor(math.log10(value)))}f}"


def name_columns(study: Study, found: list[Method]) -> list[str]:
    """Backbone and training set are columns only where they differ."""
    varied = [name for name in ("backbone", "train") if len({getattr(m, name) for m in found} - {""}) > 1]
    return [*varied, "framework"]


def names(method: Method, columns: list[str], mark: str = "") -> list[str]:
    """What these columns say of a method; another scoring than the cosine stands with the framework.

    A mark stands behind the training set, or behind the framework where that is no column.
    """
    words = {name: getattr(method, name) or "–" for name in columns} | {"framework": framework_words(method)}
    words["train" if "train" in columns else "framework"] += mark
    return [words[column] for column in columns]
