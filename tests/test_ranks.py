"""Ranks on splits: several captions an image, identical captions, ties, given scores."""

import numpy as np
import pandas as pd
import pytest
import torch
from torch.nn.functional import normalize

from hnclip.data.split import Split
from hnclip.ranks import ranks_by_scores, ranks_of, recall_at_1, retrieval, retrieval_by_scores


def split_of(captions_by_image):
    """A split with these captions an image; pixels and tokens are not read here."""
    rows = [
        {"id": f"i{number}", "family": f"f{number}", "caption": caption}
        for number, captions in enumerate(captions_by_image)
        for caption in captions
    ]
    start = np.cumsum([0] + [len(captions) for captions in captions_by_image])
    return Split("toy/test", pd.DataFrame(rows), np.zeros((len(captions_by_image), 1)), None, start)


@pytest.mark.parametrize("pairs", [2, 21, 1000])
def test_constant_embeddings_find_nothing(pairs):
    split = split_of([[f"caption {number}"] for number in range(pairs)])
    same = normalize(torch.ones(pairs, 64), dim=-1)
    found = retrieval(split, same, same)
    assert (found["rank"] == pairs - 1).all()
    assert recall_at_1(split, *ranks_of(split, same, same))["t2i_r1"] == 0.0


def test_known_scores():
    split = split_of([["a"], ["b"], ["c"]])
    image = torch.eye(3)
    text = torch.tensor([[0.9, 0.1, 0.0], [0.8, 0.7, 0.0], [0.5, 0.5, 0.5]])
    found = retrieval(split, image, text)
    assert found[found["direction"] == "t2i"]["rank"].tolist() == [0, 1, 2]  # the last is a tie of all three
    assert found[found["direction"] == "i2t"]["rank"].tolist() == [0, 0, 0]
    score = recall_at_1(split, *ranks_of(split, image, text))
    assert score == {
        "target": "toy/test",
        "t2i_r1": pytest.approx(1 / 3),
        "i2t_r1": 1.0,
        "queries": 3,
        "gallery": 3,
    }


def test_any_of_an_images_captions_is_a_hit_and_each_caption_is_a_query():
    split = split_of([["a", "b"], ["c"]])
    image = torch.eye(2)
    text = torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.1, 0.9]])  # the first caption points at the wrong image
    found = retrieval(split, image, text)
    assert found[found["direction"] == "i2t"]["rank"].tolist() == [0, 1]
    assert found[found["direction"] == "t2i"][["query", "rank"]].values.tolist() == [
        ["i0#0", 1],
        ["i0#1", 0],
        ["i1#0", 0],
    ]
    assert found.groupby("direction")["gallery"].first().to_dict() == {"i2t": 3, "t2i": 2}


def test_identical_captions_are_relevant_to_each_others_images():
    split = split_of([["a frog"], ["a toad"], ["a frog"]])
    image_P, caption_P = split.relevant
    assert list(zip(image_P.tolist(), caption_P.tolist(), strict=True)) == [(0, 0), (0, 2), (1, 1), (2, 0), (2, 2)]
    image = torch.eye(3)
    text = torch.tensor([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    found = retrieval(split, image, text)
    assert found[found["direction"] == "t2i"]["rank"].tolist() == [0, 0, 0]  # the first by the third's image
    assert found[found["direction"] == "i2t"]["rank"].tolist() == [1, 0, 0]  # the first ties with "a toad" at 0


def test_an_image_that_says_the_same_twice_has_each_pair_once():
    image_P, caption_P = split_of([["a frog", "a frog"], ["a toad"]]).relevant
    assert list(zip(image_P.tolist(), caption_P.tolist(), strict=True)) == [(0, 0), (0, 1), (1, 2)]


def test_given_scores_rank_as_embeddings_do():
    split = split_of([["a", "b"], ["c"], ["d", "e", "a"]])
    generator = torch.Generator().manual_seed(0)
    image, text = (normalize(torch.randn(rows, 5, generator=generator), dim=-1) for rows in (3, 6))
    by_scores = retrieval_by_scores(split, image @ text.T, "tokens")
    assert set(by_scores["scoring"]) == {"tokens"}
    pd.testing.assert_frame_equal(by_scores.assign(scoring="cosine"), retrieval(split, image, text))


def test_scores_that_are_not_finite_are_refused():
    score = torch.eye(3)
    score[1, 2] = float("nan")
    with pytest.raises(ValueError, match="scores that are not finite"):
        ranks_by_scores(score, (torch.arange(3), torch.arange(3)))
