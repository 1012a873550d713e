"""The main result in a few lines of plain text, and where everything lies.

python -m hnclip.report.summary results/STUDY/study.json results/STUDY/tables
"""

import argparse
import textwrap
from pathlib import Path

from hnclip import store
from hnclip.command import run
from hnclip.report import estimates
from hnclip.report.data_notes import MARK, exif_notes, licence_notes, mark, near_notes, seen_words
from hnclip.report.estimates import DIRECTIONS, MEAN
from hnclip.report.format import bounds, percent, signed, with_interval
from hnclip.report.load import Study, named, read_study, test_targets
from hnclip.report.methods import Method, Setting, methods, setting_words, settings, zero_shot
from hnclip.report.plugin_table import Gain, gain, plugin_pairs
from hnclip.report.verdicts import PAPER_GAMMA, questions

ROWS = ("plain", "boosted", "margin", "centred")
WIDTH = 118  # characters of a line


def summary(study: Study, tables: Path) -> str:
    """R@1 on the first test split of frameworks with more than a pair, every framework's pair, the study's answers."""
    targets = test_targets(study)
    lines = [f"Study {study.config['study']}"]
    lines += _result(study, targets[0]) if targets else ["No test split was ranked."]
    lines += _answers(study) if targets else []
    said = _notes(study)
    return "\n".join([*lines, *([""] if said else []), *said, "", *_places(Path(tables), targets)]) + "\n"


def _result(study: Study, target: str) -> list[str]:
    counts = study.sizes[target]
    asked = ", ".join(f"{n} {d} queries" for d, (n, _) in sorted(counts.items(), reverse=True))
    level = f"{study.options.confidence:.0%} interval"
    lines = [f"R@1 in percent, mean of both directions, on {target} ({asked}), last epoch [{level}]"]
    found = settings(study)
    backbones = named(study.config, "backbones")
    for backbone in backbones:
        words = "zero-shot" if len(backbones) == 1 else f"zero-shot {backbone}"
        lines.append(_line(study, zero_shot(study, backbone), target, words))
    for setting in found:
        rows = [method for method in methods(study, setting) if method.kind in ROWS and _told(study, method)]
        if len(rows) == 2 and any(gain(study, *pair, target) for pair in plugin_pairs(study, setting)):
            continue  # the pairs below say it all
        seen = mark(study, setting.train, target)
        lines += [
            "",
            f"{setting.framework} trained on {setting.train}{seen}, from {setting.backbone}",
        ]
        lines += [_line(study, method, target, method.label) for method in rows]
    return _aligned([line for line in lines if line is not None]) + _pairs(study, found, target)


def _aligned(lines: list[str | tuple[str, str, str]]) -> list[str]:
    """The lines, with those of (words, score, more) in columns."""
    rows = [line for line in lines if isinstance(line, tuple)]
    wide = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    return [
        line if isinstance(line, str) else f"  {line[0]:<{wide[0]}}  {line[1]:>{wide[1]}}  {line[2]}".rstrip()
        for line in lines
    ]


def _line(study: Study, method: Method, target: str, words: str) -> tuple[str, str, str] | None:
    score = estimates.estimate(study, method, target, MEAN)
    if score is None:
        return None
    return words, with_interval(score), "" if method.kind == "zero_shot" else _seeds(score)


def _seeds(score: dict[str, float]) -> str:
    return f"{score['seeds']} seed{'s' if score['seeds'] > 1 else ''}"


def _told(study: Study, method: Method) -> bool:
    """Whether the summary has a line for it: tuned, or as the paper has it; further strengths are in the tables."""
    entry = study.config["losses"][method.loss]
    return method.tuned or (not entry.get("scale") and entry.get("gamma", PAPER_GAMMA) == PAPER_GAMMA)


def _answers(study: Study) -> list[str]:
    """The study's questions, each with its answer in a few words."""
    lines = ["", "Answers by p-values adjusted over all comparisons of a test split; differences in points of R@1"]
    for number, question in enumerate(questions(study), start=1):
        words = f"{number} {question.words} {question.short[:1].upper()}{question.short[1:]}"
        lines += textwrap.wrap(words, WIDTH, initial_indent="  ", subsequent_indent="    ")
    return lines


def _pairs(study: Study, found: list[Setting], target: str) -> list[str]:
    """The boost in every framework, a line a pair: plain, boosted, their difference, seeds."""
    rows = []
    for setting in found:
        pairs = plugin_pairs(study, setting)
        for boosted, plain in pairs:
            words = setting_words(study, setting) + (f", {boosted.label}" if len(pairs) > 1 else "")
            words += mark(study, setting.train, target)
            rows += [_pair(words, got)] if (got := gain(study, boosted, plain, target)) else []
    if not rows:
        return []
    rows.insert(0, ("framework", "plain", "boosted", "difference", "seeds"))
    wide = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        f"  {name:<{wide[0]}}  {plain:>{wide[1]}}  {boosted:>{wide[2]}}  {points:>{wide[3]}}  {seeds}"
        for name, plain, boosted, points, seeds in rows
    ]
    return ["", "The boost in every framework, over the seeds that both sides have", *lines]


def _pair(words: str, got: Gain) -> tuple[str, str, str, str, str]:
    plain, boosted = (sum(side[d] for d in DIRECTIONS) / len(DIRECTIONS) for side in (got.plain, got.boosted))
    found = got.difference
    points = f"{signed(found['score'])} {bounds(found['low'], found['high'])}"
    return words, percent(plain), percent(boosted), points, ", ".join(map(str, got.seeds))


def _notes(study: Study) -> list[str]:
    """What must be said of scale, data and licences; a line a pair of training and test set with images in common."""
    seen = [f"{MARK} Trained on images that it is tested on: {seen_words(study, *pair)}." for pair in study.seen]
    seen += [note for target in test_targets(study) for note in near_notes(study, target, named(study.config, "train"))]
    return [*seen, *licence_notes(study), *exif_notes(study)]


def _places(tables: Path, targets: list[str]) -> list[str]:
    folder = tables.parent
    more = f" (also {', '.join(targets[1:])})" if len(targets) > 1 else ""
    return [
        f"Tables   {tables / 'main.md'}, verdicts.md, differences.md, plugin.md, fractions.md, efficiency.md, "
        f"overlap.md, paper.md and more; .csv and .tex beside them{more}",
        f"Figures  {folder / 'figures'}",
        f"Report   {folder / 'report.html'}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m hnclip.report.summary", description=__doc__.splitlines()[0])
    parser.add_argument("study", type=Path, help="study.json")
    parser.add_argument("tables", type=Path, help="folder of the collected tables")
    parser.add_argument("--out", type=Path, help="write the text here as well")
    given = parser.parse_args()
    text = summary(read_study(given.study, given.tables), given.tables)
    if given.out:
        store.write_text(given.out, text)
    print(text, end="")


if __name__ == "__main__":
    run(main)
