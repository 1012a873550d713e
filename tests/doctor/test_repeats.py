import itertools
import random

import numpy
import pytest

from hnclip.doctor.repeats import find_repeats, in_batches
from hnclip.doctor.shingles import joined, near_pairs, shingles
from hnclip.doctor.words import count_words, folded, is_placeholder


def test_words_are_folded_and_counted():
    assert folded("A  Dog's house, near—the SEA.") == ["a", "dog", "s", "house", "near", "the", "sea"]
    assert folded("…!!") == ["...!!"] and folded("一只狗 runs") == ["一", "只", "狗", "runs"]
    assert count_words("two words") == 2 and count_words("一只狗 runs") == 4


@pytest.mark.parametrize("text", ["None", " n/a", "NaN", "no  caption", "-"])
def test_placeholders_are_told(text):
    assert is_placeholder(text) and not is_placeholder(f"{text} of this")


def test_jaccard_index_is_that_of_the_sets_of_runs():
    texts = [["a", "b", "c", "d", "e"], ["a", "b", "c", "d", "f"], ["a", "b"], ["a", "b"], ["c"]]
    found = shingles(texts)
    sets = [{tuple(t[i : i + min(3, len(t))]) for i in range(max(1, len(t) - 2))} for t in texts]
    for one, other in itertools.combinations(range(5), 2):
        expected = len(sets[one] & sets[other]) / len(sets[one] | sets[other])
        assert found.jaccard(one, other) == pytest.approx(expected)


def test_near_captions_are_joined_as_by_comparing_all_pairs():
    random.seed(3)
    vocabulary = [f"w{number}" for number in range(400)]
    texts = []
    for _ in range(12):
        text = random.choices(vocabulary, k=60)
        for changes in (0, 1, 2, 3, 12, 30):
            copy = list(text)
            for place in random.sample(range(60), changes):
                copy[place] = random.choice(vocabulary)
            texts.append(copy)
    found = shingles(texts)
    every = [
        (one, other, found.jaccard(one, other))
        for one, other in itertools.combinations(range(len(texts)), 2)
        if found.jaccard(one, other) >= 0.7
    ]
    assert len(every) > 20
    pairs = near_pairs(found, 0.7)
    assert {pair for pair in pairs} <= set(every)
    assert len(set(joined(len(texts), pairs))) == len(set(joined(len(texts), every)))


LONG = "a red barn stands by the lake and three boats lie on the sand in front of it under a pale morning sky"


def test_clusters_hold_captions_of_several_images():
    captions = [LONG, LONG.upper() + "!", LONG, LONG.replace("three", "four"), "quite another thing", LONG]
    ids = ["1", "2", "3", "4", "5", "1"]
    found = find_repeats(ids, captions)
    assert found.exact == [[0, 1, 2, 5]] and found.literal == 3
    assert found.near == [[0, 1, 2, 3, 5]] and 0.6 <= found.least[0] < 1


def test_copies_within_one_image_are_no_cluster():
    found = find_repeats(["1", "1", "2"], [LONG, LONG, "something else"])
    assert found.exact == [] and found.near == [] and found.literal == 0


def test_a_batch_of_all_images_meets_every_copy():
    image_N, cluster_N = numpy.array([0, 1, 2, 3]), numpy.array([7, 7, 7, 1])
    assert in_batches(image_N, cluster_N, 4) == (6 / 4, 1.0)
    others, some = in_batches(image_N, cluster_N, 2)
    assert others == pytest.approx(some) and 0.3 < some < 0.7  # a pair of copies in half of all pairs
