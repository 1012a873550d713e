"""The token-level term and the boost, each without and with the other, as the paper's Tables 3b and A5."""

from collections.abc import Iterator

import pandas

from hnclip.report.load import Study, named, test_targets
from hnclip.report.methods import Method, Setting, methods, settings
from hnclip.report.recall_rows import Row, columns, recall_tables
from hnclip.report.strength import gamma_of, scale_of
from hnclip.report.writer import Table

TITLE = "Token-level term and boost"
WITHOUT, WITH = "longclip", "hnclip"  # kinds of framework: full fine-tuning without and with the term
EMPTY = (
    "This study has no framework of kind longclip beside one of kind hnclip with the same recipe, each with plain "
    "and boosted loss, so the token-level term has nothing to be compared with."
)


def token_table(study: Study) -> tuple[list[Table], pandas.DataFrame]:
    """Four rows: neither, the term, the boost, both; each beside neither, and both beside the boost alone."""
    names = columns(study, "token_term", "boost")
    squares = list(_squares(study))
    if not squares or not test_targets(study):
        return [Table(TITLE, [], [], [EMPTY])], pandas.DataFrame(columns=names)
    rows = [row for square in squares for row in _rows(study, square)]
    notes = [
        "L_tok: FILIP's late interaction as a second term of the loss (framework of kind hnclip), with the weight "
        "of its config entry. L_HN: the boost in the image-caption term; tuned: plain and boosted each at their own "
        "best setting on the validation split, chosen for each framework by itself. A difference is taken to the "
        "row of the same backbone and training set that `minus` names, over the seeds that both have.",
    ]
    tables, records = recall_tables(study, TITLE, ["L_tok", "L_HN", "minus"], "paired difference", rows, notes)
    return tables, pandas.DataFrame(records, columns=names)


def _squares(study: Study) -> Iterator[tuple[Method, Method, Method, Method]]:
    """(neither, term, boost, both) of every backbone, training set, recipe, strength and scale that has all four."""
    entries = study.config["frameworks"]
    found = settings(study)
    for setting in found:
        if entries[setting.framework]["kind"] != WITHOUT:
            continue
        for other in found:
            alike = (other.backbone, other.train) == (setting.backbone, setting.train)
            if alike and entries[other.framework]["kind"] == WITH and _recipe(study, other) == _recipe(study, setting):
                yield from _crossed(study, setting, other)


def _recipe(study: Study, setting: Setting) -> dict:
    return study.config["frameworks"][setting.framework].get("recipe", {})


def _crossed(study: Study, without: Setting, with_term: Setting) -> Iterator[tuple[Method, Method, Method, Method]]:
    """The losses that both frameworks have, plain beside boosted at one scale; tuned beside tuned."""
    here, there = ({method.loss: method for method in methods(study, s)} for s in (without, with_term))
    shared = [name for name in named(study.config, "losses") if name in here and name in there]
    plain = {_standing(study, here[name]): name for name in shared if here[name].kind in ("plain", "scale")}
    for name in shared:
        base = plain.get(_standing(study, here[name]))
        if here[name].kind == "boosted" and base:
            yield here[base], there[base], here[name], there[name]


def _standing(study: Study, method: Method) -> tuple[bool, float | None]:
    """Whether it is tuned, and of an untuned loss the scale that it holds fixed."""
    return method.tuned, None if method.tuned else scale_of(study, method)


def _rows(study: Study, square: tuple[Method, Method, Method, Method]) -> list[Row]:
    neither, term, boost, both = square
    yes = "yes (tuned)" if boost.tuned else f"yes (γ = {gamma_of(study, boost):g})"
    rows = [
        (neither, "no", "no", "–", None),
        (term, "yes", "no", "neither", neither),
        (boost, "no", yes, "neither", neither),
        (both, "yes", yes, "neither", neither),
        (both, "yes", yes, "L_HN alone", boost),
    ]
    return [
        Row(method, [*words], base, {"token_term": words[0], "boost": "no" if words[1] == "no" else "yes"}, square)
        for method, *words, base in rows
    ]
