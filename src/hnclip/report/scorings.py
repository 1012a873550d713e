"""What ranks under another score than the cosine are called, and what they are."""

from hnclip.report.load import COSINE, ZERO_SHOT
from hnclip.report.methods import Method

# Scoring: (words behind the framework, what it is).
SCORINGS = {
    "tokens": (
        "re-ranked by tokens (0.8 / 0.2)",
        "the gallery is ordered by 0.8 times the cosine plus 0.2 times FineLIP's score of tokens, every query against "
        "the whole gallery",
    ),
}


def framework_words(method: Method) -> str:
    """The framework's name, with its scoring where that is not the cosine."""
    name = "zero-shot" if method.framework == ZERO_SHOT else method.framework
    return name if method.scoring == COSINE else f"{name}, {_known(method.scoring)[0]}"


def scoring_notes(found: list[Method]) -> list[str]:
    """A sentence for each scoring among the rows beside the cosine."""
    scorings = dict.fromkeys(method.scoring for method in found if method.scoring != COSINE)
    return [
        f"{words[0].upper()}{words[1:]}: {meaning}. The same weights as the row by cosine; such rows stand in this "
        "table alone, and every difference, choice and figure is by cosine."
        for words, meaning in map(_known, scorings)
    ]


def _known(scoring: str) -> tuple[str, str]:
    return SCORINGS.get(scoring, (f"scored by {scoring}", f"the gallery is ordered by the framework's score {scoring}"))
