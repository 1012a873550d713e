"""Text chunks are the reference's on real captions, and what their definition says on hand-made ones."""

import json
from pathlib import Path

import pytest

from hnclip.data.chunks import chunk_spans
from hnclip.data.tokens import tokenizer

WORDS = tokenizer("clip", 248)
GOLDEN = json.loads((Path(__file__).parents[1] / "golden/structxlip_chunk_spans.json").read_text(encoding="utf-8"))


def chunks(caption: str, context: int = 248) -> list[str]:
    """The chunks as text; tokens are parted by single spaces."""
    ids = [WORDS.sot_token_id, *WORDS.encode(caption)]
    return [WORDS.decode(ids[start:end]).strip() for start, end in chunk_spans(caption, WORDS, context)]


@pytest.mark.parametrize("row", range(22))
def test_golden_spans(row):
    assert [list(span) for span in chunk_spans(GOLDEN[row]["caption"], WORDS, 248)] == GOLDEN[row]["spans"]


def test_a_window_slides_over_each_clause_and_not_over_its_end():
    assert chunks("A red cat, alone; it sits!? one") == ["a red", "red cat", "it sits"]
    assert chunks("it's close-up") == ["it 's", "'s close", "close - up"]
    assert chunks("3.5 m") == ["5 m"]
    assert chunks("two: three - four") == ["two : three", "three - four"]  # neither a colon nor a dash ends a clause


@pytest.mark.parametrize(
    ("words", "size"), [(2, 2), (4, 2), (5, 3), (10, 3), (11, 4), (20, 4), (21, 5), (40, 5), (41, 6), (64, 6)]
)
def test_longer_clauses_have_longer_windows(words, size):
    spans = chunk_spans("go " * words, WORDS, 248)
    assert spans == [(start, start + size) for start in range(1, words - size + 2)]


def test_64_chunks_a_caption_at_most():
    assert len(chunk_spans("go " * 69, WORDS, 248)) == 64
    assert chunk_spans("go " * 90, WORDS, 248)[-1] == (64, 70)
    assert len(chunk_spans("go on. " * 80, WORDS, 248)) == 64


def test_a_chunk_that_the_context_cuts_is_left_out():
    caption = "a dog runs, a cat sleeps"
    whole = chunk_spans(caption, WORDS, 9)  # seven tokens, start and end
    assert whole == [(1, 3), (2, 4), (5, 7), (6, 8)] == chunk_spans(caption, WORDS, 248)
    assert chunk_spans(caption, WORDS, 8) == whole[:3]
    assert chunk_spans(caption, WORDS, 4) == whole[:1]


@pytest.mark.parametrize("caption", ["", "...", "one", "one. two, three!", "--- !"])
def test_captions_without_two_words_in_a_clause_have_none(caption):
    assert chunk_spans(caption, WORDS, 248) == []


def test_words_of_several_bytes_a_letter_and_cleaned_text():
    assert chunks("Café Müller &amp; Söhne") == ["café müller", "müller & söhne"]
    assert chunks("日本 寿司") == [WORDS.decode(WORDS.encode("日本 寿司")).strip()]
