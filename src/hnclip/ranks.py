"""Retrieval on a split: which captions answer which images, and every query's rank, ties counted against the model."""

import numpy as np
import pandas as pd
import torch

from hnclip.data.split import Split
from hnclip.encode import device
from hnclip.rank_counts import best_of, both_ranks, relevant_at_best

BLOCK = 1024  # rows of given scores that are compared at once


def relevance(split: Split) -> tuple[torch.Tensor, torch.Tensor]:
    """The image and the caption, [P] each, of every relevant pair, in order of image and caption.

    An image's own captions are relevant to it, and so are all captions of the very same words: no model can tell
    them apart.
    """
    words = pd.factorize(split.frame["caption"])[0]
    image = np.repeat(np.arange(len(split.caption_start) - 1), np.diff(split.caption_start))
    said = pd.DataFrame({"image": image, "words": words}).drop_duplicates()
    pairs = said.merge(pd.DataFrame({"words": words, "caption": np.arange(len(words))}), on="words")
    pairs = pairs.sort_values(["image", "caption"])
    return torch.tensor(pairs["image"].to_numpy()), torch.tensor(pairs["caption"].to_numpy())


def ranks_by_scores(
    score_IC: torch.Tensor, relevant: tuple[torch.Tensor, torch.Tensor]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Ranks of images [I] and captions [C] as queries by given scores, as `both_ranks` has them by the cosine."""
    image_P, caption_P = relevant
    score_P = score_IC[image_P, caption_P]
    best_I, best_C = (best_of(score_P, *side) for side in zip(relevant, score_IC.shape, strict=True))
    above_I, above_C = torch.zeros(len(best_I), dtype=torch.int64), torch.zeros(len(best_C), dtype=torch.int64)
    for start in range(0, len(score_IC), BLOCK):
        rows = slice(start, start + BLOCK)
        if not torch.isfinite(score_IC[rows]).all():
            raise ValueError("scores that are not finite: look at the weights and the inputs of this evaluation")
        above_I[rows] = (score_IC[rows] >= best_I[rows, None]).sum(1)
        above_C += (score_IC[rows] >= best_C).sum(0)
    return (
        above_I - relevant_at_best(score_P, image_P, best_I),
        above_C - relevant_at_best(score_P, caption_P, best_C),
    )


def retrieval(split: Split, image_ID: torch.Tensor, text_CD: torch.Tensor) -> pd.DataFrame:
    """One row a query in both directions: target, direction, query, id, family, rank, gallery, scoring."""
    return _table(split, *both_ranks(image_ID, text_CD, relevance(split), device()), "cosine")


def retrieval_by_scores(split: Split, score_IC: torch.Tensor, scoring: str) -> pd.DataFrame:
    """The rows of `retrieval` by another score than the cosine, which `scoring` names."""
    return _table(split, *ranks_by_scores(score_IC, relevance(split)), scoring)


def _table(split: Split, image_rank_I: torch.Tensor, caption_rank_C: torch.Tensor, scoring: str) -> pd.DataFrame:
    frame, first = split.frame, split.caption_start[:-1]
    nth = np.arange(len(frame)) - np.repeat(first, np.diff(split.caption_start))
    ids = frame["id"].to_numpy()
    i2t = pd.DataFrame(
        {
            "target": split.name,
            "direction": "i2t",
            "query": ids[first],
            "id": ids[first],
            "family": frame["family"].to_numpy()[first],
            "rank": image_rank_I.numpy(),
            "gallery": len(frame),
        }
    )
    t2i = pd.DataFrame(
        {
            "target": split.name,
            "direction": "t2i",
            "query": [f"{name}#{number}" for name, number in zip(ids, nth, strict=True)],
            "id": ids,
            "family": frame["family"].to_numpy(),
            "rank": caption_rank_C.numpy(),
            "gallery": len(first),
        }
    )
    rows = pd.concat([t2i, i2t], ignore_index=True).astype({"rank": "int32", "gallery": "int32"})
    return rows.assign(scoring=scoring)


def recall_at_1(rows: pd.DataFrame) -> dict[str, float | int | str]:
    """R@1 of both directions as shares, with the number of queries and the gallery, for the log."""
    share = (rows["rank"] < 1).groupby(rows["direction"]).mean()
    count = rows.groupby("direction").size()
    return {
        "target": rows["target"].iloc[0],
        "t2i_r1": float(share["t2i"]),
        "i2t_r1": float(share["i2t"]),
        "queries": int(count["t2i"]),
        "gallery": int(count["i2t"]),
    }
