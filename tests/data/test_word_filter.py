"""Words of a kind go, whole and in any case, and what is left reads as a caption."""

import re

import pytest

from hnclip.data.word_filter import KINDS, Filtered, WordFilter, word_list

COLOURS = WordFilter(["colours"])


@pytest.mark.parametrize(
    ("caption", "filtered", "removed"),
    [
        ("A red car and a Dark Blue truck.", "A car and a truck.", 3),
        ("A dark-blue truck, DARK  BLUE sky", "A truck, sky", 4),
        ("Red, white, and green stripes run down.", "and stripes run down.", 3),
        ("The thin stripes are red, blue, green.", "The thin stripes are.", 3),
        ("A wall is white; a door, red, opens.", "A wall is; a door, opens.", 2),
        ("Red. Two dogs run. Blue, with dots.", "Two dogs run. with dots.", 2),
        ('A sign (red) reads "blue" and "Red wine" here.', 'A sign reads and "wine" here.', 3),
        ("Two cars of the “deep red” and one white!", "Two cars of the and one!", 3),
        ("A red-haired man, a reddened wall, a tired credit.", "A red-haired man, a reddened wall, a tired credit.", 0),
        ("Gold-colored cups, a red-and-white flag, black/white tiles", "cups, a flag, tiles", 7),
        ("A white .5 inch gap in the white's brick", "A .5 inch gap in the white's brick", 1),
        ("Two dogs  run , fast", "Two dogs  run , fast", 0),
        ("Rot\0 red dogs bark", "Rot dogs bark", 1),
        ("Café walls — white — face näve seats…", "Café walls — — face näve seats…", 1),
    ],
)
def test_whole_words_go_and_the_rest_is_tidy(caption, filtered, removed):
    found = COLOURS(caption)
    assert (found.text, found.removed, found.kept) == (filtered, removed, False)


@pytest.mark.parametrize(
    ("caption", "kept"),
    [("A red, white and blue one.", True), ("A red car.", True), ("A red car runs.", False), ("It is here.", False)],
)
def test_the_original_stands_where_fewer_than_two_content_words_would_be_left(caption, kept):
    found = COLOURS(caption)
    assert found.kept == kept
    assert found.removed == 0 or not kept
    assert (found.text == caption) == (found.removed == 0)


@pytest.mark.parametrize("kind", KINDS)
def test_lists_are_sorted_lower_case_and_every_phrase_goes(kind):
    phrases = word_list(kind)
    assert phrases == sorted(set(phrases)) and len(phrases) >= 60
    assert all(re.fullmatch(r"[a-z]+([ -][a-z]+)*", phrase) for phrase in phrases)
    remove = WordFilter([kind])
    for phrase in phrases:
        for spelling in (phrase, phrase.upper(), phrase.replace(" ", "-"), phrase.replace("-", " ")):
            found = remove(f"Two dogs, {spelling}, bark.")
            assert found.text == "Two dogs, bark." and found.removed == len(re.split("[ -]", phrase))


def test_kinds_join():
    caption = "A shiny red wooden table stands there."
    assert WordFilter(KINDS)(caption).text == "A table stands there."
    assert WordFilter(["textures"])(caption).text == "A red wooden table stands there."


def test_without_a_list_captions_stay_as_they_are():
    caption = "A shiny red , wooden table."
    assert WordFilter([])(caption) == Filtered(caption, 0, kept=False)


def test_an_unknown_list_is_refused():
    with pytest.raises(ValueError, match="unknown word list 'colors' .did you mean 'colours'.*materials, textures"):
        WordFilter(["colors"])
