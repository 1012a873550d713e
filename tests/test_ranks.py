"""Ranks against loops, ties, several captions, identical captions."""

import numpy as np
import pandas as pd
import pytest
import torch
from torch.nn.functional import normalize

from hnclip.data.split import Split
from hnclip.ranks import ranks, recall_at_1, relevance, retrieval


def split_of(captions_by_image):
    """A split with these captions an image; pixels and tokens are not read here."""
    rows = [
        {"id": f"i{number}", "family": f"f{number}", "caption": caption}
        for number, captions in enumerate(captions_by_image)
        for caption in captions
    ]
    start = np.cumsum([0] + [len(captions) for captions in captions_by_image])
    return Split("toy/test", pd.DataFrame(rows), np.zeros((len(captions_by_image), 1)), None, start)


def rank_by_loops(score_G, relevant):
    best = max(score_G[item] for item in relevant)
    return sum(score_G[item] >= best for item in range(len(score_G)) if item not in set(relevant))


@pytest.mark.parametrize("block", [1, 3, 1000])
def test_against_loops_with_several_captions_an_image(block):
    generator = torch.Generator().manual_seed(3)
    split = split_of([["a"], ["b", "c"], ["d", "e", "f", "g", "h"], ["i", "j"]])
    image = normalize(torch.randn(4, 3, generator=generator), dim=-1)
    text = normalize(torch.randn(10, 3, generator=generator), dim=-1)
    by_image, by_caption = relevance(split)
    score = (image @ text.T).numpy()
    assert ranks(image, text, by_image, block).tolist() == [rank_by_loops(score[i], by_image[i]) for i in range(4)]
    assert ranks(text, image, by_caption, block).tolist() == [
        rank_by_loops(score.T[c], by_caption[c]) for c in range(10)
    ]


@pytest.mark.parametrize("pairs", [2, 21, 1000])
def test_constant_embeddings_find_nothing(pairs):
    split = split_of([[f"caption {number}"] for number in range(pairs)])
    same = normalize(torch.ones(pairs, 64), dim=-1)
    found = retrieval(split, same, same)
    assert (found["rank"] == pairs - 1).all()
    assert recall_at_1(found)["t2i_r1"] == 0.0


def test_known_scores():
    split = split_of([["a"], ["b"], ["c"]])
    image = torch.eye(3)
    text = torch.tensor([[0.9, 0.1, 0.0], [0.8, 0.7, 0.0], [0.5, 0.5, 0.5]])
    found = retrieval(split, image, text)
    assert found[found["direction"] == "t2i"]["rank"].tolist() == [0, 1, 2]  # the last is a tie of all three
    assert found[found["direction"] == "i2t"]["rank"].tolist() == [0, 0, 0]
    score = recall_at_1(found)
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
    by_image, by_caption = relevance(split)
    assert [list(rows) for rows in by_caption] == [[0, 2], [1], [0, 2]]
    assert [list(rows) for rows in by_image] == [[0, 2], [1], [0, 2]]
    image = torch.eye(3)
    text = torch.tensor([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    found = retrieval(split, image, text)
    assert found[found["direction"] == "t2i"]["rank"].tolist() == [0, 0, 0]  # the first by the third's image
    assert found[found["direction"] == "i2t"]["rank"].tolist() == [1, 0, 0]  # the first ties with "a toad" at 0


def test_embeddings_that_are_not_finite_are_refused():
    bad = torch.eye(3)
    bad[1, 1] = float("nan")
    with pytest.raises(ValueError, match=r"not finite: gallery rows \[1\]"):
        ranks(torch.eye(3), bad, [np.array([0])] * 3)
