"""Exact retrieval ranks of every query, blockwise in fp32, ties counted against the model."""

from collections import defaultdict

import numpy as np
import pandas as pd
import torch

from hnclip.data.split import Split

BLOCK = 1024


def ranks(
    query_QD: torch.Tensor, gallery_GD: torch.Tensor, relevant: list[np.ndarray], block: int = BLOCK
) -> np.ndarray:
    """Rank of each query's best relevant item, 0 is best, [Q].

    It counts the irrelevant items that score at least as high. `relevant` lists each query's relevant gallery rows.
    Memory is `block` rows of scores.
    """
    for name, rows in (("query", query_QD), ("gallery", gallery_GD)):
        if not torch.isfinite(rows).all():
            bad = (~torch.isfinite(rows).all(-1)).nonzero().flatten().tolist()
            raise ValueError(f"embeddings that are not finite: {name} rows {bad[:20]} ({len(bad)} in all)")
    found = []
    for start in range(0, len(query_QD), block):
        score_QG = query_QD[start : start + block].float() @ gallery_GD.float().T
        found.append(ranks_by_scores(score_QG, relevant[start : start + block]))
    return np.concatenate(found)


def ranks_by_scores(score_QG: torch.Tensor, relevant: list[np.ndarray]) -> np.ndarray:
    """The same from the scores of all pairs of query and gallery."""
    if not torch.isfinite(score_QG).all():
        raise ValueError("scores that are not finite: look at the weights and the inputs of this evaluation")
    index_QR, filled_QR = _padded(relevant)
    own_QR = score_QG.gather(1, index_QR).masked_fill(~filled_QR, float("-inf"))
    best_Q = own_QR.amax(1, keepdim=True)
    return ((score_QG >= best_Q).sum(1) - (own_QR >= best_Q).sum(1)).numpy()


def _padded(lists: list[np.ndarray]) -> tuple[torch.Tensor, torch.Tensor]:
    width = max(len(rows) for rows in lists)
    index = np.zeros((len(lists), width), np.int64)
    filled = np.zeros((len(lists), width), bool)
    for row, values in enumerate(lists):
        index[row, : len(values)] = values
        filled[row, : len(values)] = True
    return torch.from_numpy(index), torch.from_numpy(filled)


def relevance(split: Split) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """For each image its relevant captions, and for each caption its relevant images.

    An image's own captions are relevant to it, and so are all captions of the very same words: no model can tell
    them apart.
    """
    captions = list(split.frame["caption"])
    image_of = np.repeat(np.arange(len(split.caption_start) - 1), np.diff(split.caption_start))
    same_words = defaultdict(list)
    for row, caption in enumerate(captions):
        same_words[caption].append(row)
    by_caption = [np.unique(image_of[same_words[caption]]) for caption in captions]
    by_image = [
        np.unique(np.concatenate([same_words[captions[row]] for row in range(start, end)]))
        for start, end in zip(split.caption_start, split.caption_start[1:], strict=False)
    ]
    return by_image, by_caption


def retrieval(split: Split, image_ID: torch.Tensor, text_CD: torch.Tensor) -> pd.DataFrame:
    """One row a query in both directions: target, direction, query, id, family, rank, gallery, scoring."""
    by_image, by_caption = relevance(split)
    return _table(split, ranks(image_ID, text_CD, by_image), ranks(text_CD, image_ID, by_caption), "cosine")


def retrieval_by_scores(split: Split, score_IC: torch.Tensor, scoring: str) -> pd.DataFrame:
    """The rows of `retrieval` by another score than the cosine, which `scoring` names."""
    by_image, by_caption = relevance(split)
    return _table(split, ranks_by_scores(score_IC, by_image), ranks_by_scores(score_IC.T, by_caption), scoring)


def _table(split: Split, image_rank: np.ndarray, caption_rank: np.ndarray, scoring: str) -> pd.DataFrame:
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
            "rank": image_rank,
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
            "rank": caption_rank,
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
