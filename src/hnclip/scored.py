"""A framework's ranks on a split, by the cosine and by whatever else the method scores with."""

import pandas as pd

from hnclip.data.split import Split
from hnclip.encode import encode_split
from hnclip.frameworks.base import Framework
from hnclip.ranks import ranks_of, recall_at_1, retrieval_by_scores, table


def scored(framework: Framework, split: Split, batch: int, kept: bool) -> tuple[dict, list[pd.DataFrame]]:
    """R@1 of both directions for the log, and where they are `kept` the ranks of all queries.

    These are by the cosine, then by each other score of the framework. `batch` rows are encoded at once.
    """
    embeddings = encode_split(framework.backbone, split, batch)
    image_rank_I, caption_rank_C = ranks_of(split, *embeddings)
    score = recall_at_1(split, image_rank_I, caption_rank_C)
    if not kept:
        return score, []
    rescored = framework.rescored(split, *embeddings, batch)
    further = [retrieval_by_scores(split, score_IC, name) for name, score_IC in rescored.items()]
    return score, [table(split, image_rank_I, caption_rank_C, "cosine"), *further]


def line(epoch: int, score: dict) -> str:
    """An epoch's scores on a split, for people."""
    return (
        f"epoch {epoch} {score['target']}: R@1 t2i {100 * score['t2i_r1']:.2f} i2t {100 * score['i2t_r1']:.2f} "
        f"(N={score['queries']}, gallery {score['gallery']})"
    )
