"""InfoNCE for batches whose N x N matrix does not fit: tiles of its rows, made again for the gradient."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch.autograd.function import once_differentiable

from hnclip import processes
from hnclip.losses.factored import Factored
from hnclip.losses.left_out import LEFT_OUT, same_words
from hnclip.losses.own_rows import EVERY

LEAST = -60.0  # beside a sum of 1 or more e^-60 is nothing in fp64 either; smaller powers slow a CPU down a hundredfold


def tiled_info_nce(
    image_ND: torch.Tensor,
    text_ND: torch.Tensor,
    scale: torch.Tensor | float,
    boosted: Factored,
    label_smoothing: float = 0.0,
    class_N: torch.Tensor | None = None,
    *,
    tile: int,
    own: slice = EVERY,
) -> torch.Tensor:
    """`info_nce` of unit rows and a boost, a scalar, in the memory of three tiles of `tile` rows x N.

    Value and gradients are those of the whole matrix; the boost gets none. Both directions are read off one pass over
    the tiles, the gradient off another. Captions of one class are no negatives of each other. Rows in fp32 or fp64.
    With `own`, several processes must call it together, each with its share of the rows (none is a share too): they
    exchange the columns' sums, and the parts and their gradients add up to the whole loss and its gradient.
    """
    if tile < 1:
        raise ValueError(f"a tile has at least 1 row, not {tile}")
    scale = torch.as_tensor(scale, dtype=image_ND.dtype, device=image_ND.device)
    with torch.no_grad():
        pair_N = (image_ND * text_ND).sum(1) - boosted.shift_N
    tiles = Tiles(boosted.left_NE, boosted.right_NE, pair_N, class_N, label_smoothing, tile, own)
    return _TiledInfoNce.apply(image_ND, text_ND, scale, tiles)


class Tiles(NamedTuple):
    """What the tiles of a matrix are made from; see `tiled_info_nce`. `pair_N`: the pairs' scores before scaling."""

    left_NE: torch.Tensor
    right_NE: torch.Tensor
    pair_N: torch.Tensor
    class_N: torch.Tensor | None
    smoothing: float
    size: int
    own: slice

    def each(self, scale: torch.Tensor) -> Iterator[tuple[slice, torch.Tensor]]:
        """The rows and logits [Q, N] of each tile; the memory of the logits is used again by the next."""
        count = len(self.pair_N)
        held = range(count)[self.own]
        memory_QN = self.left_NE.new_empty(min(self.size, len(held)), count)
        for start in range(held.start, held.stop, self.size):
            rows = slice(start, min(start + self.size, held.stop))
            logits_QN = memory_QN[: rows.stop - start]
            torch.mm(self.left_NE[rows] * scale, self.right_NE.T, out=logits_QN)
            if self.class_N is not None:
                logits_QN.masked_fill_(same_words(self.class_N, rows), LEFT_OUT)
            logits_QN.diagonal(start).copy_(self.pair_N[rows] * scale)
            yield rows, logits_QN

    def room(self) -> torch.Tensor:
        """Memory of one more tile, [size, N]."""
        count = len(self.pair_N)
        return self.left_NE.new_empty(min(self.size, len(range(count)[self.own])), count)

    def even_N(self) -> torch.Tensor:
        """The target that label smoothing gives to each column of a row, which all that are left in share alike."""
        count = len(self.pair_N)
        if self.class_N is None:
            return self.pair_N.new_full((count,), self.smoothing / count)
        _, number_N, size_K = self.class_N.unique(return_inverse=True, return_counts=True)
        return self.smoothing / (count + 1 - size_K[number_N]).to(self.pair_N)

    def evened(self, rows: slice, even_N: torch.Tensor, out_QN: torch.Tensor) -> torch.Tensor:
        """The even targets of both directions together, [Q, N]."""
        torch.add(even_N[rows, None], even_N, out=out_QN)
        if self.class_N is not None:
            out_QN.masked_fill_(same_words(self.class_N, rows), 0)
        return out_QN


class _TiledInfoNce(torch.autograd.Function):
    """Forward keeps the maximum and the sum of each row and column; backward makes each tile once more.

    Sums are kept beside their maxima, not as one logarithm, whose rounding grows with the logits.
    """

    @staticmethod
    def forward(ctx, image_ND, text_ND, scale, tiles):
        count, spare_QN = len(image_ND), tiles.room()
        row_top_N, column_top_N = image_ND.new_full((2, count), -torch.inf)
        row_sum_N, column_sum_N = image_ND.new_zeros(2, count)
        even_N, smoothed = tiles.even_N(), image_ND.new_zeros((), dtype=torch.float64)
        for rows, logits_QN in tiles.each(scale):
            room_QN = spare_QN[: len(logits_QN)]
            if tiles.smoothing:
                smoothed += torch.dot(tiles.evened(rows, even_N, room_QN).view(-1), logits_QN.view(-1))
            torch.amax(logits_QN, 1, out=row_top_N[rows])
            torch.sum(_powers(logits_QN, row_top_N[rows, None], room_QN), 1, out=row_sum_N[rows])
            top_N = torch.maximum(column_top_N, logits_QN.amax(0))
            column_sum_N *= (column_top_N - top_N).exp_()
            column_sum_N += _powers(logits_QN, top_N, logits_QN).sum(0)
            column_top_N = top_N
        if tiles.own != EVERY and processes.world() > 1:
            column_top_N, column_sum_N = _of_all(column_top_N, column_sum_N)
        ctx.tiles = tiles
        ctx.save_for_backward(image_ND, text_ND, scale, row_top_N, row_sum_N, column_top_N, column_sum_N)
        pair_N = tiles.pair_N * scale
        loss_N = (row_top_N - pair_N) + row_sum_N.log() + (column_top_N - pair_N) + column_sum_N.log()
        loss_N += 2 * tiles.smoothing * pair_N
        return ((loss_N[tiles.own].sum() - smoothed) / (2 * count)).to(image_ND.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        image_ND, text_ND, scale, row_top_N, row_sum_N, column_top_N, column_sum_N = ctx.saved_tensors
        tiles, count = ctx.tiles, len(image_ND)
        error_memory_QN, spare_QN = tiles.room(), tiles.room()
        row_share_N, column_share_N, even_N = 1 / row_sum_N, 1 / column_sum_N, tiles.even_N()
        to_image_ND, to_text_ND = torch.zeros_like(image_ND), torch.zeros_like(text_ND)
        to_scale = scale.new_zeros((), dtype=torch.float64)
        for rows, logits_QN in tiles.each(scale):
            error_QN, room_QN = error_memory_QN[: len(logits_QN)], spare_QN[: len(logits_QN)]
            _powers(logits_QN, row_top_N[rows, None], error_QN).mul_(row_share_N[rows, None])
            error_QN.addcmul_(_powers(logits_QN, column_top_N, room_QN), column_share_N)
            if tiles.smoothing:
                error_QN -= tiles.evened(rows, even_N, room_QN)
            error_QN.diagonal(rows.start).sub_(2 * (1 - tiles.smoothing))
            torch.mm(error_QN, text_ND, out=to_image_ND[rows])
            to_text_ND.addmm_(error_QN.T, image_ND[rows])
            if ctx.needs_input_grad[2]:
                to_scale += torch.dot(error_QN.view(-1), logits_QN.view(-1))
        factor = grad / (2 * count)
        to_scale = (factor * to_scale / scale).to(scale.dtype) if ctx.needs_input_grad[2] else None
        return to_image_ND.mul_(factor * scale), to_text_ND.mul_(factor * scale), to_scale, None


def _powers(logits_QN: torch.Tensor, top: torch.Tensor, out_QN: torch.Tensor) -> torch.Tensor:
    """e^(logits - top), at least e^LEAST, in place of `out_QN`."""
    return torch.sub(logits_QN, top, out=out_QN).clamp_min_(LEAST).exp_()


def _of_all(top_N: torch.Tensor, sum_N: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Maxima and sums of the columns over the rows of all processes."""
    parts_P2N = top_N.new_zeros(processes.world(), 2, len(top_N))
    parts_P2N[processes.rank()] = torch.stack([top_N, sum_N])
    tops_PN, sums_PN = processes.summed(parts_P2N).unbind(1)
    top_N = tops_PN.amax(0)
    return top_N, (sums_PN * (tops_PN - top_N).exp()).sum(0)
