"""Retrieval on a split: which captions answer which images, and every query's rank, ties counted against the model."""

import numpy as np
import pandas as pd
import torch

from hnclip.data.split import Split
from hnclip.encode import device
from hnclip.rank_counts import best_of, both_ranks, relevant_at_best

BLOCK = 1024  # rows of given scores that are compared at once


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
    return table(split, *ranks_of(split, image_ID, text_CD), "cosine")


def ranks_of(split: Split, image_ID: torch.Tensor, text_CD: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Ranks of images [I] and captions [C] as queries by the cosine."""
    return both_ranks(image_ID, text_CD, split.relevant, device())


def retrieval_by_scores(split: Split, score_IC: torch.Tensor, scoring: str) -> pd.DataFrame:
    """The rows of `retrieval` by another score than the cosine, which `scoring` names."""
    return table(split, *ranks_by_scores(score_IC, split.relevant), scoring)


def table(split: Split, image_rank_I: torch.Tensor, caption_rank_C: torch.Tensor, scoring: str) -> pd.DataFrame:
    """The rows of `retrieval` from the ranks of images [I] and captions [C] as queries."""
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


def recall_at_1(split: Split, image_rank_I: torch.Tensor, caption_rank_C: torch.Tensor) -> dict[str, float | int | str]:
    """R@1 of both directions as shares, with the number of queries and the gallery, for the log."""
    return {
        "target": split.name,
        "t2i_r1": float((caption_rank_C < 1).double().mean()),
        "i2t_r1": float((image_rank_I < 1).double().mean()),
        "queries": len(caption_rank_C),
        "gallery": len(image_rank_I),
    }
