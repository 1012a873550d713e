"""What the report opens with: what was run, the questions and their answers, and what must be said of the data.

A piece of HTML that workflow/report/workflow.rst takes into Snakemake's report; every word of an answer is generated.
"""

from hnclip.report.data_notes import exif_notes, licence_notes, near_notes, seen_words
from hnclip.report.findings import sentences
from hnclip.report.judged import BETTER, NOT_SHOWN, WORSE, Judged
from hnclip.report.load import Study, named, test_targets
from hnclip.report.notes import SMALL, size_notes, tuned_notes
from hnclip.report.page import escape, paragraph, prose
from hnclip.report.verdicts import ABSENT, Question, questions

AXES = {"backbones": "backbone", "train": "training set", "frameworks": "framework", "losses": "loss"}
PLURAL = {"loss": "losses"}
LOOK = """
.h-screen:has(> div #first-page) { align-items: flex-start; justify-content: flex-start; }
.flex:has(> div #first-page):not(.h-screen):not(.flex-row) { flex-direction: column; }
.prose:has(#first-page) { max-width: 62rem !important; padding-left: .7rem; }
#rulegraph { max-width: 100%; overflow-x: auto; }
#first-page .question { border-left: 3px solid #bbb; padding-left: .9rem; margin: 1.4rem 0; }
#first-page .question h3, #contents h3 { margin: 0 0 .3rem; }
#first-page .warning { border-left: 3px solid #d55e00; padding-left: .9rem; }
#first-page .note { color: #4d4d4d; }
#first-page .chip { border-radius: .6rem; padding: .1rem .5rem; color: #fff; background: #6b6b6b; font-size: .8em; }
#first-page .chip.better { background: #00664a; }
#first-page .chip.worse { background: #a84300; }
#first-page code::before, #first-page code::after { content: none; }
#contents details { margin: .15rem 0; }
#contents h3 { margin-top: .9rem; }
#contents a { font-weight: 400; }
"""
LISTED = 8  # names of an axis that are listed; of more only the number is said


def first_page(study: Study) -> str:
    parts = [_opening(study), *_warnings(study), "<h2>What was asked, and what was found</h2>", *_sure(study)]
    parts += [_question(study, number, question) for number, question in enumerate(questions(study), start=1)]
    return f'<div id="first-page"><style>{LOOK}</style>\n' + "\n".join(parts) + "\n</div>\n"


def _opening(study: Study) -> str:
    runs, seeds = len(study.runs), sorted(map(int, study.runs["seed"].unique()))
    words = [_axis(study, axis) for axis in AXES]
    tried = {cell["cell"] for choice in study.record.get("choices", []) for cell in choice["cells"]}
    more = f", and {len(tried)} that tried settings" if tried else ""
    told = f"{_count(runs, 'training run')}{more}: {', '.join(words)}; {_count(len(seeds), 'seed')} ({_list(seeds)})."
    sizes = [note for target in test_targets(study) for note in size_notes(study, target) if note.startswith("N on")]
    items = "".join(f"<li>{prose(words)}</li>" for words in [_capital(told), *sizes])
    return f"<h1>Study {escape(study.config['study'])}</h1>\n<ul>{items}</ul>"


def _axis(study: Study, axis: str) -> str:
    names = named(study.config, axis)
    words = _count(len(names), AXES[axis])
    return f"{words} ({_list(names)})" if len(names) <= LISTED else words


def _warnings(study: Study) -> list[str]:
    """What weighs on every answer: few images, images that were trained on, licences."""
    said = [f"Trained on images that it is tested on: {seen_words(study, *pair)}." for pair in study.seen]
    few = [f"{target} ({study.images(target)})" for target in study.sizes if study.images(target) < SMALL]
    said += [f"Test splits of so few images say little: {_list(few)}."] if few else []
    trains = named(study.config, "train")
    said += [note for target in test_targets(study) for note in near_notes(study, target, trains)]
    return [f'<p class="warning">{prose(words)}</p>' for words in [*said, *licence_notes(study), *exif_notes(study)]]


def _sure(study: Study) -> list[str]:
    level = 1 - study.options.confidence
    return [
        paragraph(
            "Each answer is generated from paired differences of R@1 (mean of both directions, points of percent, last "
            "epoch). Better or worse stands where the p-value, adjusted by Holm over all comparisons of the test "
            f"split, is below {level:.2g}; brackets hold {study.options.confidence:.0%} intervals over families of "
            "alike items and over seeds. No difference shown does not mean that there is none. A row with one seed "
            "speaks of these weights only.",
            "note",
        ),
        *[f'<p class="note">{prose(words)}</p>' for words in tuned_notes(study)],
    ]


def _question(study: Study, number: int, question: Question) -> str:
    """The question, a line for each side of it, and the sides that the study has no cells for."""
    sides = [
        f"<li>{_chip(group.rows)} {prose(sentences(study, _capital(group.words), group.rows))}</li>"
        for group in question.groups
        if group.rows
    ]
    absent = [group.words for group in question.groups if not group.rows]
    said = f"<ul>{''.join(sides)}</ul>" if sides else paragraph(ABSENT)
    if sides and absent:
        said += paragraph(f"Not in this study: {'; '.join(absent)}.", "note")
    return f'<section class="question"><h3>{number}. {escape(question.words)}</h3>\n{said}</section>'


def _chip(rows: list[Judged]) -> str:
    """A word in a coloured box: the one outcome of the rows, of those with several seeds where there are any."""
    spoken = [row for row in rows if row.seeds > 1] or list(rows)
    outcomes = {row.outcome for row in spoken}
    word = outcomes.pop() if len(outcomes) == 1 else "mixed"
    kind = {BETTER: "better", WORSE: "worse", NOT_SHOWN: "open"}.get(word, "mixed")
    return f'<span class="chip {kind}">{escape(word)}</span>'


def _count(number: int, one: str) -> str:
    return f"{number} {one if number == 1 else PLURAL.get(one, f'{one}s')}"


def _list(values: list) -> str:
    return ", ".join(map(str, values))


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
