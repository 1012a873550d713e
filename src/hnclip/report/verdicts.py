"""The questions a study is made for, and what it says to each; answers are generated from the judged comparisons."""

from collections.abc import Callable
from dataclasses import dataclass

from hnclip.report.findings import outcome_words, sentences
from hnclip.report.judged import Judged, judged
from hnclip.report.load import Study, test_targets
from hnclip.report.methods import Method
from hnclip.report.protocol import recipe_of

PAPER_GAMMA = 0.5
TRUE_BATCH = 128  # pairs that one loss sees, from which on a batch counts as large
ABSENT = "This study has no such cells."


@dataclass(frozen=True)
class Group:
    """Comparisons that answer one side of a question."""

    words: str
    rows: list[Judged]


@dataclass(frozen=True)
class Question:
    """A question, its answer in a few words (`short`) and in sentences, and the comparisons behind it.

    `groups`: the same comparisons by the side of the question that they answer; a side without cells has no rows.
    """

    words: str
    short: str
    answer: str
    details: tuple[Judged, ...]
    groups: tuple[Group, ...]


def questions(study: Study) -> list[Question]:
    """The five questions, each answered on the first test split of what was trained on, the last on all others."""
    found = {target: judged(study, target) for target in test_targets(study)}
    home = [row for rows in found.values() for row in rows if row.target == home_target(study, row.a.train)]
    away = [row for rows in found.values() for row in rows if row.target != home_target(study, row.a.train)]
    asked = {
        "Does the boost beat plain fine-tuning?": _boost(study, home),
        "Does the adaptive part beat the best constant margin?": _adaptive(home),
        "Is it the margin at all, or only a softer temperature?": _temperature(home),
        f"Does it survive a true batch of {TRUE_BATCH}, over seeds?": _batches(study, home),
        "Does it hold on the other test splits?": _elsewhere(study, away),
    }
    return [_question(study, words, groups) for words, groups in asked.items()]


def home_target(study: Study, train: str) -> str | None:
    """The test split on which models trained on `train` are judged first: its own first, if it was ranked."""
    own = [f"{train}/{split}" for split in study.config["benchmarks"][train]["test"]]
    return next((target for target in (*own, *test_targets(study)) if target in study.sizes), None)


def _question(study: Study, words: str, groups: list[Group]) -> Question:
    filled = [group for group in groups if group.rows]
    if not filled:
        return Question(words, ABSENT, ABSENT, (), tuple(groups))
    short = "; ".join(f"{group.words}: {outcome_words(group.rows)}" for group in filled)
    told = [sentences(study, _capital(group.words), group.rows) for group in filled]
    absent = [group.words for group in groups if not group.rows]
    told += [f"Not in this study: {'; '.join(absent)}."] if absent else []
    details = dict.fromkeys(row for group in filled for row in group.rows)
    return Question(words, short, " ".join(told), tuple(details), tuple(groups))


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _select(rows: list[Judged], a: str, b: str, keep: Callable[[Judged], bool] = lambda row: True) -> list[Judged]:
    """The rows of a kind against kinds (words apart by spaces)."""
    return [row for row in rows if row.a.kind == a and row.b.kind in b.split() and keep(row)]


def _tuned(row: Judged) -> bool:
    return row.a.tuned and row.b.tuned


def _as_published(study: Study, method: Method) -> bool:
    """Boosted with the paper's strength, at the learned scale."""
    entry = study.config["losses"][method.loss]
    return not method.tuned and entry.get("gamma") == PAPER_GAMMA and not entry.get("scale")


def _boost(study: Study, rows: list[Judged]) -> list[Group]:
    published = _select(rows, "boosted", "plain", lambda row: _as_published(study, row.a) and not row.b.tuned)
    best = _select(rows, "boosted", "plain", _tuned)
    rest = [row for row in _select(rows, "boosted", "plain scale") if row not in (*published, *best)]
    others = [row for row in rest if not row.b.tuned]
    groups = [
        Group("with the paper's strength at the learned scale", published),
        Group("each at its best setting (chosen on validation)", best),
    ]
    return groups + ([Group("at other strengths or fixed scales", others)] if others else [])


def _adaptive(rows: list[Judged]) -> list[Group]:
    return [
        *_standings("boost against the margin that matches its mean", _select(rows, "boosted", "margin")),
        *_standings("boost against constant margins", _select(rows, "boosted", "constant")),
        *_standings("the adaptive part alone (centred) against plain", _select(rows, "centred", "plain scale")),
        *_standings("boost against the same values on wrong pairs (shuffled)", _select(rows, "boosted", "shuffled")),
    ]


def _standings(words: str, rows: list[Judged]) -> list[Group]:
    """Untuned and tuned comparisons apart; tuned ones only where there are any."""
    both = [row for row in rows if _tuned(row)]
    rest = [row for row in rows if row not in both]
    found = [Group(words, rest)] if rest or not both else []
    return found + ([Group(f"{words}, both tuned", both)] if both else [])


def _temperature(rows: list[Judged]) -> list[Group]:
    beside = [row for row in rows if row.b.kind == "plain" and row.b.tuned]
    return [
        *_standings("boost against plain with a tuned scale", _select(beside, "boosted", "plain")),
        *_standings("matched margin against plain with a tuned scale", _select(beside, "margin", "plain")),
        Group("plain with a tuned scale against plain with the learned one", _select(rows, "plain", "plain")),
    ]


def _batches(study: Study, rows: list[Judged]) -> list[Group]:
    """Boost against plain by the pairs that one loss sees; only what some large batch has too: framework and losses."""
    rows = [row for row in _select(rows, "boosted", "plain") if row.a.tuned == row.b.tuned]
    large = {_sort(study, row) for row in rows if _batch(study, row)[0] >= TRUE_BATCH}
    rows = [row for row in rows if _sort(study, row) in large]
    return [
        Group(
            f"a contrast of {batch} pairs" + (f", {steps} batches a step" if steps > 1 else ""),
            [row for row in rows if _batch(study, row) == (batch, steps)],
        )
        for batch, steps in sorted({_batch(study, row) for row in rows})
    ]


def _sort(study: Study, row: Judged) -> tuple[str, str, str]:
    """The kind of a comparison's framework, and its losses."""
    return study.config["frameworks"][row.a.framework]["kind"], row.a.loss, row.b.loss


def _batch(study: Study, row: Judged) -> tuple[int, int]:
    """Pairs that one loss sees, all where there are fewer than the recipe asks for, and batches of a step."""
    recipe, runs = recipe_of(study, row.a), study.runs
    own = runs[(runs["train"] == row.a.train) & (runs["framework"] == row.a.framework) & (runs["loss"] == row.a.loss)]
    images = own.loc[own["fraction"] == 100, "pairs"].max() // recipe["epochs"]
    return int(min(recipe["batch"], images)), recipe.get("accumulate", 1)


def _elsewhere(study: Study, rows: list[Judged]) -> list[Group]:
    """The boost on every other test split: against plain, and against plain whose scale was tuned."""
    alike = [row for group in _boost(study, rows)[:2] for row in group.rows]
    softer = _select(rows, "boosted", "plain", lambda row: _as_published(study, row.a) and row.b.tuned)
    sides = {"boost against plain on": alike, "boost against plain with a tuned scale on": softer}
    return [
        Group(f"{words} {target}", found)
        for target in test_targets(study)
        for words, side in sides.items()
        if (found := [row for row in side if row.target == target])
    ]
