"""Every setting that was tried for a tuned loss, with its score on the validation split; the chosen one marked."""

from typing import Any

import pandas

from hnclip.report.format import percent
from hnclip.report.load import Study
from hnclip.report.methods import SYMBOLS, WORDS, kind_of, numbers_of
from hnclip.report.writer import Table

TITLE = "What was tried on the validation split"
COLUMNS = "backbone train framework loss fraction seed target setting t2i_r1 i2t_r1 mean chosen".split()
EMPTY = "This study tunes no loss: none that its grids name lists several values of a number."


def tuning_table(study: Study) -> tuple[list[Table], pandas.DataFrame]:
    """A table a backbone, training set, framework and share of the data; a row a setting, in the order of its list."""
    groups: dict[tuple, dict[str, dict[str, Any]]] = {}
    for (backbone, train, framework, loss, fraction), choice in study.choices.items():
        groups.setdefault((backbone, train, framework, fraction), {})[loss] = choice
    tables = [_table(study, where, choices) for where, choices in groups.items()]
    records = [record for where, choices in groups.items() for record in _records(where, choices)]
    frame = pandas.DataFrame(records, columns=COLUMNS)
    return tables or [Table(TITLE, [], [], [EMPTY])], frame


def _table(study: Study, where: tuple, choices: dict[str, dict[str, Any]]) -> Table:
    backbone, train, framework, fraction = where
    rows, rules = [], []
    for loss, choice in choices.items():
        rules += [len(rows)] if rows else []
        rows += [_row(study, loss, choice, setting) for setting in choice["settings"]]
    share = "" if fraction == 100 else f", {fraction} % of the data"
    title = f"{TITLE}: {framework} on {train} from {backbone}{share}, R@1 in percent"
    header = ["loss", "of", "setting", "chosen", "caption → image", "image → caption", "both"]
    return Table(title, header, rows, _notes(choices), rules=rules, words=4)


def _row(study: Study, loss: str, choice: dict[str, Any], setting: dict[str, Any]) -> list[str]:
    chosen = "chosen" if setting["name"] == choice["chosen"] else "–"
    scores = [percent(100 * setting[name]) for name in ("t2i_r1", "i2t_r1", "mean")]
    kind = kind_of(study.config["losses"][loss])
    return [loss, WORDS.get(kind, kind), _setting_words(setting["entry"]), chosen, *scores]


def _setting_words(entry: dict[str, Any]) -> str:
    """The numbers of one setting, such as `γ = 0.25, s = 17`; a scale that is not held is learned."""
    words = numbers_of(entry)
    return ", ".join(words if entry.get("scale") or entry.get("base") == "hardest" else [*words, "s learned"])


def _notes(choices: dict[str, dict[str, Any]]) -> list[str]:
    targets, seeds = ({choice[key] for choice in choices.values()} for key in ("target", "seed"))
    counts = {loss: len(choice["settings"]) for loss, choice in choices.items()}
    notes = [
        f"Each setting was trained once, with seed {_list(seeds)}, and scored on {_list(targets)} after its last "
        "epoch; the best mean of both directions is chosen, the first listed of equals. The loss is then trained "
        "anew with the chosen setting at the study's own seeds, and those cells alone are in the other tables.",
    ]
    if len(set(counts.values())) == 1:
        notes.append(f"Every tuned loss had the same budget: {next(iter(counts.values()))} settings.")
    else:
        each = ", ".join(f"{loss} {count}" for loss, count in counts.items())
        notes.append(f"The budgets differ, in settings: {each}. A loss with more settings had more chances.")
    notes.append(
        "The score of a chosen setting is the best of several on this split, so it is too high as a forecast; that "
        "of the test splits is not."
    )
    return [*notes, *_edge_notes(choices)]


def _edge_notes(choices: dict[str, dict[str, Any]]) -> list[str]:
    """Where the best setting lies at an end of what was tried, a better one may lie beyond."""
    said = []
    for loss, choice in choices.items():
        chosen = next(setting["entry"] for setting in choice["settings"] if setting["name"] == choice["chosen"])
        for key, symbol in SYMBOLS.items():
            tried = {setting["entry"].get(key) for setting in choice["settings"]} - {None}
            if len(tried) > 1 and chosen.get(key) in (min(tried), max(tried)):
                said.append(f"{loss} ({symbol} = {chosen[key]:g})")
    return [f"Chosen at an end of what was tried, so a better value may lie beyond: {', '.join(said)}."] if said else []


def _list(values: set) -> str:
    return ", ".join(map(str, sorted(values)))


def _records(where: tuple, choices: dict[str, dict[str, Any]]) -> list[dict]:
    """Scores in percent, as in the other CSVs."""
    backbone, train, framework, fraction = where
    base = {"backbone": backbone, "train": train, "framework": framework, "fraction": fraction}
    return [
        base
        | {"loss": loss, "seed": choice["seed"], "target": choice["target"], "setting": setting["name"]}
        | {name: 100 * setting[name] for name in ("t2i_r1", "i2t_r1", "mean")}
        | {"chosen": "yes" if setting["name"] == choice["chosen"] else "no"}
        for loss, choice in choices.items()
        for setting in choice["settings"]
    ]
