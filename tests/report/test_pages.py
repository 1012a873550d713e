"""Tables and figures as pages, the first page, and the page of what a study was made with."""

import base64
import dataclasses
import re

import pandas

from hnclip.report.contents import COSTS, TABLES, Entry
from hnclip.report.figure_page import figure_page
from hnclip.report.first_page import first_page
from hnclip.report.load import OVERLAP
from hnclip.report.notes import count_words
from hnclip.report.page import prose
from hnclip.report.run_record import record_page
from hnclip.report.table_page import table_page
from hnclip.report.verdicts import questions
from hnclip.report.writer import Table

ENTRY = Entry("Table 1", "recall of <all>", COSTS)


def held(page: str, name: str) -> bytes:
    """What a download link of the page holds."""
    return base64.b64decode(re.search(rf'download="{re.escape(name)}" href="data:[a-z/]+;base64,([^"]*)"', page)[1])


def test_a_table_has_its_title_spans_rules_notes_and_its_csv():
    table = Table(
        "On <b>x</b>", ["loss", "R@1", "R@5"], [["a<1", "2", "3"], ["b", "4", "5"]], ["See `main` & more."],
        spans=[("", 1), ("caption → image", 2)], rules=[1],
    )  # fmt: skip
    text = table_page("main", ENTRY, [table], "loss,R@1\na<1,2\n")
    assert "<title>Recall of &lt;all&gt; (Table 1 of the paper)</title>" in text
    assert "<h2>On &lt;b&gt;x&lt;/b&gt;</h2>" in text and '<th colspan="2" class="span">caption → image</th>' in text
    assert '<td class="words short">a&lt;1</td><td class="number short">2</td>' in text
    assert text.count('<tr class="rule">') == 1 and "<li>See <code>main</code> &amp; more.</li>" in text
    assert held(text, "main.csv") == b"loss,R@1\na<1,2\n"


def test_a_column_that_holds_sentences_is_set_to_the_left_and_broken_over_lines():
    rows = [["a", "1.0", "no difference shown at N = 512"], ["b", "2.0", "better"]]
    text = table_page("main", ENTRY, [Table("T", ["loss", "R@1", "verdict"], rows)], "")
    assert '<td class="words">no difference shown at N = 512</td>' in text and '<td class="words short">better' in text
    assert '<td class="number short">1.0</td>' in text


def test_a_table_without_rows_is_its_notes():
    text = table_page("main", ENTRY, [Table("Empty", [], [], ["No cell of this study."])], "")
    assert "<table>" not in text and "No cell of this study." in text


def test_a_figure_holds_the_file_for_print():
    text = figure_page("epochs", ENTRY, b"png", b"pdf")
    assert f'src="data:image/png;base64,{base64.b64encode(b"png").decode()}"' in text
    assert held(text, "epochs.pdf") == b"pdf"


def test_names_between_backticks_are_code_and_nothing_else_is_marked_up():
    assert prose("a `b` <c> `d") == "a <code>b</code> &lt;c&gt; `d"


def test_the_first_page_has_every_question_with_every_side(study):
    text = first_page(study)
    for number, question in enumerate(questions(study), start=1):
        assert f"<h3>{number}. {question.words}</h3>" in text
    filled = sum(bool(group.rows) for question in questions(study) for group in question.groups)
    assert filled and text.count('<li><span class="chip') == filled
    assert f"{len(study.runs)} training runs, and 3 that tried settings: 1 backbone (tiny)" in text
    assert "3 seeds (1, 2, 3)" in text and "N on scenes/unseen: 64 captions search 64 images" in text


def test_the_first_page_warns_of_images_that_were_trained_on(study):
    assert 'class="warning"' not in first_page(study)
    seen = pandas.DataFrame([("scenes", "scenes/test", 64, 32, 0.5, 0)], columns=list(OVERLAP))
    said = first_page(dataclasses.replace(study, overlap=seen))
    assert 'class="warning">Trained on images that it is tested on: 32 of the 64 images of scenes/test (50.0%)' in said


def test_several_captions_an_image_make_no_more_images(study):
    ranks = study.ranks[study.ranks["id"] < "00020"]
    more = ranks[ranks["direction"] == "t2i"].assign(query=lambda rows: rows["query"].str.replace("#0", "#1"))
    ranks = pandas.concat([ranks, more], ignore_index=True)
    ranks["gallery"] = ranks["direction"].map({"t2i": 20, "i2t": 40})
    found = dataclasses.replace(study, ranks=ranks)
    assert count_words(found, "scenes/test") == "N = 40 captions, 20 images"
    assert "so few images say little: scenes/test (20), scenes/unseen (20)" in first_page(found)


def test_the_record_has_config_versions_hardware_and_costs(study):
    config = study.config | {"note": "<script>alert(1)</script>"}
    text = record_page(dataclasses.replace(study, config=config))
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text and "<script" not in text
    for words in ("a" * 40, "torch 2.14.1", "bootstrap: 400", "<td>cpu</td>", "settings tried on validation"):
        assert words in text
    runs = len(study.runs)
    assert f"<td>all cells</td><td>{runs}</td><td>{12.5 * runs / 60:.1f} min</td><td>{1000 * runs:,}</td>" in text


def test_titles_say_the_number_in_the_paper():
    assert TABLES["main"].title == "Recall of every method (Table 1 of the paper)"
    assert Entry("", "paired differences", COSTS).title == "Paired differences"
