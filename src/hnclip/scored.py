"""A framework's ranks on a split, by the cosine and by whatever else the method scores with."""

import pandas as pd

from hnclip.data.split import Split
from hnclip.encode import encode_split
from hnclip.frameworks.base import Framework
from hnclip.ranks import recall_at_1, retrieval, retrieval_by_scores


def scored(framework: Framework, split: Split, batch: int, further: bool) -> tuple[dict, list[pd.DataFrame]]:
    """R@1 of both directions for the log, and the ranks by the cosine.

    With `further`, the ranks by each other score of the framework follow. `batch` rows are encoded at once.
    """
    embeddings = encode_split(framework.backbone, split, batch)
    ranks = [retrieval(split, *embeddings)]
    if further:
        rescored = framework.rescored(split, *embeddings, batch)
        ranks += [retrieval_by_scores(split, score_IC, name) for name, score_IC in rescored.items()]
    return recall_at_1(ranks[0]), ranks


def line(epoch: int, score: dict) -> str:
    """An epoch's scores on a split, for people."""
    return (
        f"epoch {epoch} {score['target']}: R@1 t2i {100 * score['t2i_r1']:.2f} i2t {100 * score['i2t_r1']:.2f} "
        f"(N={score['queries']}, gallery {score['gallery']})"
    )
