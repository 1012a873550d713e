"""Every span of tokens decodes to the words that it stands for, however the text is cleaned and cut."""

import re

import pytest

from hnclip.data.offsets import cut_span, locate, span_in_caption
from hnclip.data.tokens import tokenizer

WORDS = tokenizer("clip", 248)
TEXTS = [
    "A café at the Müller's Übersee, naïve œuvre: \u201ccurly\u201d \u2018quotes\u2019 — 3.5 m, 1,000 kg!!",
    "Tom &amp; Jerry &lt;3 &quot;cheese&quot; &#233;t&eacute;",
    "  tabs\tand\r\nlines \n\n end  ",
    "日本語の看板 says 寿司 and 🍣🍣🏳️‍🌈, İstanbul ﬁne ﬂat",
    "x_y snake_case it's close-up rock'n'roll they'll",
    "broken encoding: dÃ©jÃ vu and â€œquotesâ€\x9d",
    "<b>bold &amp; tag</b> <start_of_text> inside",
    "",
]


def squeezed(text: str) -> str:
    """A text without spaces, which tokens do not keep."""
    return re.sub(r"\s", "", text)


def words_of(ids) -> str:
    return squeezed(WORDS.decode([int(token) for token in ids]))


@pytest.mark.parametrize("text", TEXTS)
def test_ids_are_the_tokenizers_and_each_token_covers_its_characters(text):
    located = locate(text, WORDS)
    assert located.text == WORDS.clean_fn(text) and located.ids_T.tolist() == WORDS.encode(text)
    covered = set()
    for token, begin, end in zip(located.ids_T, located.begin_T, located.end_T, strict=True):
        assert 0 <= begin < end <= len(located.text)
        piece = WORDS.decode([int(token)]).strip()
        assert piece in located.text[begin:end] or "\ufffd" in piece
        covered |= set(range(begin, end))
    assert covered == {i for i, letter in enumerate(located.text) if not letter.isspace()}
    assert sorted(located.begin_T) == list(located.begin_T) and sorted(located.end_T) == list(located.end_T)


def test_a_character_split_over_tokens_is_covered_by_each_of_them():
    located = locate("a 🍣🍣", WORDS)
    first, last = located.tokens_of(2, 3)
    assert last - first > 1 and WORDS.decode(located.ids_T[first:last].tolist()).startswith("🍣")


@pytest.mark.parametrize(
    ("before", "sentence", "after"),
    [
        ("", "A red Café.", " It is open."),
        ("It is 3.5 m tall. ", "It weighs 2.75 kg.", " The end."),
        ("A dog. ", "A dog.", " A dog. A cat."),
        ("A dog. A dog. ", "A dog.", ""),
        ("Tom &amp; Jerry. ", "Salt &amp; pepper &quot;here&quot;.", " &lt;3"),
        ("A \u201csign\u201d. ", "It reads \u2018OPEN\u2019 \u2014 naïve, œuvre.", " \u201cSo.\u201d"),
        ("Zwölf Boxkämpfer.\n\n", "  Über den Deich\t jagen\r\nViktor. ", "\nEnde."),
        ("İstanbul, İzmir. ", "İt is İn Turkey.", " Yes."),
        ("寿司 is food. ", "日本語 🍣 sign.", " End."),
        ("A <b>tag</b> &amp; more. ", "Black &amp; white.", " &amp; Black & white."),
        ("One two. ", "three", " four."),
        ("one.", "two", ".three"),
    ],
)
def test_a_sentences_span_decodes_to_its_words(before, sentence, after):
    caption = before + sentence + after
    ids = WORDS.encode(caption)
    start, end = span_in_caption(caption, len(before), len(before) + len(sentence), WORDS)
    assert words_of(ids[start - 1 : end - 1]) == words_of(WORDS.encode(sentence))
    assert words_of(ids[: start - 1]) == words_of(WORDS.encode(before))


@pytest.mark.parametrize(
    "caption", ["It is dÃ©jÃ\xa0vu here. Oh dÃ©jÃ\xa0vu!", "x < y &amp;amp; z. Oh &amp;amp; dÃ©jÃ vu"]
)
def test_a_sentence_that_is_cleaned_otherwise_in_its_caption_is_found_nearby(caption):
    ids = WORDS.encode(caption)
    start, end = span_in_caption(caption, caption.index("Oh"), len(caption), WORDS)
    assert words_of(ids[start - 1 : end - 1]) == squeezed(
        WORDS.clean_fn(caption)[WORDS.clean_fn(caption).index("oh") :]
    )


def test_a_stretch_that_cuts_an_entity_is_aligned_by_what_both_texts_share():
    caption = "A cat &amp; a dog. A bird &amp; a fish."
    start, end = span_in_caption(caption, 0, caption.index("amp; a dog"), WORDS)
    assert words_of(WORDS.encode(caption)[start - 1 : end - 1]) == "acat&"
    start, end = span_in_caption(caption, caption.index("mp; a dog"), caption.index(" A bird"), WORDS)
    assert words_of(WORDS.encode(caption)[start - 1 : end - 1]).endswith("adog.")


@pytest.mark.parametrize(
    ("context", "span"), [(12, (5, 9)), (10, (5, 9)), (9, (5, 8)), (7, (5, 6)), (6, (0, 0)), (3, (0, 0))]
)
def test_a_span_ends_before_the_end_token_and_is_empty_when_cut_off(context, span):
    caption = "A dog runs. A cat sleeps."  # four tokens a sentence
    assert cut_span(span_in_caption(caption, 12, len(caption), WORDS), context) == span


@pytest.mark.parametrize(("start", "end"), [(5, 5), (6, 7), (0, 0)])
def test_a_stretch_without_words_has_no_span(start, end):
    assert span_in_caption("A dog.  A cat.", start, end, WORDS) == (0, 0)
