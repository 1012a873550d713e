"""Ranks in both directions from one pass over the blocks of the similarity matrix, shared by all processes.

Almost every score is farther from the ones it is compared with than a product in fp32 can be wrong, and is counted from
that product. The few others are computed as `exact_scores` has them. So ranks depend neither on the block nor on the
number of processes.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from hnclip import processes
from hnclip.exact_scores import Rows, margin, of_block, of_pairs, stepped

BLOCK = {"cpu": 1024, "cuda": 8192}  # rows and columns of scores that are computed at once
STRIP = {"cpu": 128, "cuda": 8192}  # rows of a block counted at once, whole groups: on a CPU they stay in its cache
CLOSE = 0.02  # share of close scores from which a whole block is computed exactly
GROUP = 64  # scores of a row or of a column that are counted together, and looked through if a close one is there


@dataclass(frozen=True)
class Best:
    """Each query's best relevant score, and where a score by a product in fp32 is surely below or above it, [N]."""

    score_N: torch.Tensor
    low_N: torch.Tensor
    high_N: torch.Tensor

    def part(self, rows: slice, device: torch.device) -> "Best":
        return Best(*(values[rows].to(device) for values in (self.score_N, self.low_N, self.high_N)))


def best_of(score_P: torch.Tensor, query_P: torch.Tensor, queries: int) -> torch.Tensor:
    """Each query's best score of its relevant pairs, [queries]. Raises ValueError for a query without any."""
    if missing := (torch.bincount(query_P, minlength=queries) == 0).nonzero().flatten().tolist():
        raise ValueError(f"queries without anything relevant: rows {missing[:20]} ({len(missing)} in all)")
    start = torch.full((queries,), float("-inf"), dtype=score_P.dtype)
    return start.scatter_reduce(0, query_P, score_P, "amax")


def relevant_at_best(score_P: torch.Tensor, query_P: torch.Tensor, best_N: torch.Tensor) -> torch.Tensor:
    """How many relevant items score as high as each query's best, int64 [N]."""
    return torch.bincount(query_P[score_P >= best_N[query_P]], minlength=len(best_N))


def both_ranks(
    image_ID: torch.Tensor,
    text_CD: torch.Tensor,
    relevant: tuple[torch.Tensor, torch.Tensor],
    device: torch.device,
    block: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Ranks of images [I] and of captions [C] as queries, int64, from embeddings on the CPU; 0 is best.

    `relevant` holds the image and the caption of every relevant pair. A rank is the number of irrelevant items that
    score at least as high as the best relevant one. The scores of `block` rows and columns at a time lie on `device`,
    and a copy of the embeddings on the CPU. Of several processes each takes its share of the images; all return alike.
    """
    image, text = stepped("image", image_ID), stepped("caption", text_CD)
    score_P = of_pairs(image.rows_ND, text.rows_ND, *relevant)
    best_I, best_C = (best_of(score_P, *side) for side in zip(relevant, (len(image), len(text)), strict=True))
    by_image, by_caption = _best(best_I, image, text), _best(best_C, text, image)
    block = block or BLOCK.get(device.type, BLOCK["cpu"])
    above = torch.zeros(len(image) + len(text), dtype=torch.int64, device=device)
    above_I, above_C = above.split([len(image), len(text)])
    own = processes.share(len(image), processes.rank(), processes.world())
    score_BB = torch.empty(_padded(block), _padded(block), device=device)
    for rows in _slices(own.start, own.stop, block):
        mine = image.rows_ND[rows].to(device), by_image.part(rows, device)
        for columns in _slices(0, len(text), block):
            given = text.rows_ND[columns].to(device), by_caption.part(columns, device)
            row_count, column_count = _count(*mine, *given, score_BB)
            above_I[rows] += row_count
            above_C[columns] += column_count
    above_I, above_C = processes.summed(above).cpu().split([len(image), len(text)])
    image_P, caption_P = relevant
    own_I, own_C = relevant_at_best(score_P, image_P, best_I), relevant_at_best(score_P, caption_P, best_C)
    return above_I - own_I, above_C - own_C


def _best(best_N: torch.Tensor, query: Rows, gallery: Rows) -> Best:
    room_N = margin(query.rows_ND.shape[1]) * query.length_N * gallery.length_N.max()
    best = Best(best_N, (best_N - room_N).float(), (best_N + room_N).float())
    if not (torch.isfinite(best.low_N) & torch.isfinite(best.high_N)).all():
        raise ValueError("embeddings whose scores fp32 cannot hold: retrieval compares unit rows")
    return best


def _slices(start: int, stop: int, size: int) -> Iterator[slice]:
    return (slice(first, min(first + size, stop)) for first in range(start, stop, size))


def _count(
    image_ID: torch.Tensor, by_image: Best, text_CD: torch.Tensor, by_caption: Best, score_BB: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """How many scores of a block are at least the best of their row [I], and of their column [C]."""
    images, captions = len(image_ID), len(text_CD)
    score_IC = score_BB[:images, :captions]
    torch.mm(image_ID, text_CD.T, out=score_IC)
    (low_IG, high_IG), (low_GC, high_GC) = _compared(score_IC, by_image, by_caption)
    close_IG, close_CG = low_IG - high_IG, (low_GC - high_GC).T
    if close_IG.sum() + close_CG.sum() > CLOSE * score_IC.numel():
        score_IC = of_block(image_ID, text_CD)
        return (score_IC >= by_image.score_N[:, None]).sum(1), (score_IC >= by_caption.score_N).sum(0)
    more_I = _close_above(score_BB, close_IG, by_image, image_ID, text_CD)
    more_C = _close_above(score_BB.T, close_CG, by_caption, text_CD, image_ID)
    return high_IG.sum(1).long() + more_I, high_GC.sum(0).long() + more_C


def _compared(score_IC: torch.Tensor, by_image: Best, by_caption: Best) -> tuple[torch.Tensor, torch.Tensor]:
    """How many scores are at least `low_N`, and above `high_N`: of each row in groups of columns, fp32 [2, I, groups],
    and of each column in groups of rows, [2, groups, C].

    Comparisons are written as 0 and 1 in fp32: these are computed and summed several times as fast as booleans.
    """
    images, captions = score_IC.shape
    strip = min(STRIP.get(score_IC.device.type, STRIP["cpu"]), _padded(images))
    true_SC = score_IC.new_zeros(strip, _padded(captions))
    of_rows, of_columns = true_SC.unflatten(1, (-1, GROUP)), true_SC.unflatten(0, (-1, GROUP))
    rows_2IG = score_IC.new_empty(2, -(-images // strip) * strip, of_rows.shape[1])
    columns_2GC = score_IC.new_empty(2, rows_2IG.shape[1] // GROUP, true_SC.shape[1])
    for start in range(0, images, strip):
        rows, groups = slice(start, start + strip), slice(start // GROUP, (start + strip) // GROUP)
        score_SC = score_IC[rows]
        true_SC[len(score_SC) :] = 0
        out = true_SC[: len(score_SC), :captions]
        for bound, compare in enumerate((torch.ge, torch.gt)):
            of_image, of_caption = ((by.low_N, by.high_N)[bound] for by in (by_image, by_caption))
            compare(score_SC, of_image[rows, None], out=out)
            torch.sum(of_rows, 2, out=rows_2IG[bound, rows])
            compare(score_SC, of_caption, out=out)
            torch.sum(of_columns, 1, out=columns_2GC[bound, groups])
    return rows_2IG[:, :images], columns_2GC[:, :, :captions]


def _padded(count: int) -> int:
    return -(-count // GROUP) * GROUP


def _close_above(
    score_BB: torch.Tensor, close_QG: torch.Tensor, best: Best, query_QD: torch.Tensor, gallery_GD: torch.Tensor
) -> torch.Tensor:
    """How many close scores are at least the best of their query once they are exact, int64 [Q].

    `close_QG` says how many there are in each group; rows of `score_BB` are queries, and it is padded to whole groups.
    """
    query, group = close_QG.nonzero(as_tuple=True)
    score = score_BB.unflatten(1, (-1, GROUP))[query, group]
    hit, place = ((score >= best.low_N[query, None]) & (score <= best.high_N[query, None])).nonzero(as_tuple=True)
    query, place = query[hit], group[hit] * GROUP + place
    there = place < len(gallery_GD)
    query, place = query[there], place[there]
    above = of_pairs(query_QD, gallery_GD, query, place) >= best.score_N[query]
    return torch.bincount(query[above], minlength=len(query_QD))
