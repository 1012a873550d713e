"""Sentences are found in their caption, in order, once each."""

import pytest

from hnclip.data.derive.sentence_places import find, places


def test_each_sentence_is_found_after_the_one_before_it():
    caption = "A cat.  Two\n dogs (3.5 m)! A cat."
    found = places(caption, ["A cat.", "Two dogs (3.5 m)!", "A cat."])
    assert [caption[start:end] for start, end in found] == ["A cat.", "Two\n dogs (3.5 m)!", "A cat."]
    assert found[2][0] > found[1][1]


def test_a_place_that_cuts_no_word_comes_first():
    assert find("A catalogue, then A cat here", "A cat") == (18, 23)
    assert find("A catalogue", "A cat") == (0, 5)
    assert find("xA cat. A cat.", "A cat.", 1) == (8, 14)
    assert find("“Ü.” ü.", "ü.") == (5, 7)
    assert find("A cat", " ") is None and find("A cat", "A dog") is None


def test_a_sentence_out_of_order_is_refused():
    with pytest.raises(ValueError, match=r"'B\.' is not in the caption 'B\. A\.' \(from character 5 on\)"):
        places("B. A.", ["A.", "B."])
