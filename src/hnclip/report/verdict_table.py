"""The study's questions with their answers and the comparisons behind them."""

import pandas

from hnclip.report.data_notes import data_notes, mark
from hnclip.report.difference_table import COLUMNS as DIFFERENCE
from hnclip.report.difference_table import difference_cells, difference_header, difference_record
from hnclip.report.format import name_columns, names
from hnclip.report.judged import Judged
from hnclip.report.load import Study
from hnclip.report.notes import difference_notes, tuned_notes
from hnclip.report.verdicts import Question, questions
from hnclip.report.writer import Table

FAMILY_NOTE = (
    "The adjusted p-value counts every comparison that the study makes on a test split (table `differences`), not "
    "only those shown here; the verdict follows from it."
)
COLUMNS = ["question", "answer", *DIFFERENCE]


def verdict_table(study: Study) -> tuple[list[Table], pandas.DataFrame]:
    """A table a question, its answer beneath; in the CSV a row a comparison, or one without where there is none."""
    asked = questions(study)
    tables = [_table(study, number, question) for number, question in enumerate(asked, start=1)]
    records = []
    for question in asked:
        base = {"question": question.words, "answer": question.short}
        records += [base | difference_record(study, row) for row in question.details] or [base]
    return tables, pandas.DataFrame(records, columns=COLUMNS)


def _table(study: Study, number: int, question: Question) -> Table:
    title = f"{number}. {question.words}"
    rows = question.details
    if not rows:
        return Table(title, [], [], [question.answer])
    columns = name_columns(study, [row.a for row in rows])
    cells = [
        [*names(row.a, columns, mark(study, row.a.train, row.target)), row.target, *difference_cells(row)]
        for row in rows
    ]
    notes = [question.answer, *difference_notes(study), FAMILY_NOTE, *tuned_notes(study)]
    targets = dict.fromkeys(row.target for row in rows)
    notes += dict.fromkeys(note for target in targets for note in data_notes(study, target, _trains(rows, target)))
    return Table(title, [*columns, "test split", *difference_header(study)], cells, notes, words=len(columns) + 3)


def _trains(rows: tuple[Judged, ...], target: str) -> list[str]:
    return [row.a.train for row in rows if row.target == target]
