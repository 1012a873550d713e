"""Image embeddings reduced to the principal components of their batch, as Long-CLIP's short captions see them."""

import warnings
from functools import cache

import torch
from torch.autograd.function import once_differentiable

COMPONENTS = 32


def principal(image_ND: torch.Tensor, components: int = COMPONENTS) -> torch.Tensor:
    """The rows projected onto the first principal components of the batch, their mean added back, [N, D].

    Not normalised again. The gradient goes through the basis too. Computed in fp32 at least and outside autocast.
    N centred rows span at most N - 1 directions: with `components` + 1 rows or fewer, or a width D of `components`
    or less, the rows come back as they are, which is warned about. Raises ValueError for rows that are not finite or
    cannot be decomposed. The primary components of Long-CLIP (arXiv 2403.15378, released code).
    """
    _check_finite(image_ND)
    image_ND = image_ND.to(torch.promote_types(image_ND.dtype, torch.float32))
    if len(image_ND) <= components + 1 or image_ND.shape[1] <= components:
        _warn_unchanged(*image_ND.shape, components)
        return image_ND
    with torch.autocast(image_ND.device.type, enabled=False):
        mean_D = image_ND.mean(0)
        return _Truncated.apply(image_ND - mean_D, components) + mean_D


@cache  # once a run: the registry of `warnings` forgets what it has said whenever any code touches its filters
def _warn_unchanged(rows: int, width: int, components: int) -> None:
    warnings.warn(
        f"{components} principal components keep all of {rows} rows of width {width}, so the projection changes "
        f"nothing: it needs more than {components + 1} rows and a width above {components}, or fewer components",
        stacklevel=3,
    )


def _check_finite(image_ND: torch.Tensor) -> None:
    finite_N = torch.isfinite(image_ND).all(-1)
    if not finite_N.all():
        bad = (~finite_N).nonzero().flatten().tolist()
        raise ValueError(
            f"image embeddings that are not finite have no principal components: rows {bad[:20]} of the batch "
            f"({len(bad)} of {len(finite_N)}); lower `lr`, or use precision 32-true"
        )


class _Truncated(torch.autograd.Function):
    """The closest matrix of rank `rank`: the singular value decomposition cut after so many values.

    Its own backward, because only the gap between kept and dropped singular values matters to the result. The
    gradient of each singular vector also divides by the gaps among the kept and among the dropped ones, which are
    zero where two images are alike.
    """

    @staticmethod
    def forward(ctx, rows_ND, rank):
        try:
            u_NR, s_R, v_RD = torch.linalg.svd(rows_ND, full_matrices=False)
        except torch.linalg.LinAlgError as error:
            raise ValueError(
                f"the principal components of {rows_ND.shape[0]} image embeddings of width {rows_ND.shape[1]} could "
                f"not be computed ({error}); lower `lr`, or use precision 32-true"
            ) from error
        ctx.save_for_backward(u_NR, s_R, v_RD)
        ctx.rank = rank
        return u_NR[:, :rank] * s_R[:rank] @ v_RD[:rank]

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_ND):
        u_NR, s_R, v_RD = ctx.saved_tensors
        rank = ctx.rank
        noise = s_R[0] * max(grad_ND.shape) * torch.finfo(s_R.dtype).eps  # below it a value is a rounding error of zero
        s_R = torch.where(s_R > noise, s_R, 0)
        kept_K1, dropped_R = s_R[:rank, None], s_R[rank:]
        gap_KR = kept_K1.square() - dropped_R.square()
        share_KR = torch.where(gap_KR > 0, dropped_R / gap_KR, 0)
        with torch.autocast(grad_ND.device.type, enabled=False):
            inner_RR = u_NR.T @ grad_ND @ v_RD.T
            kept_dropped_KR, dropped_kept_KR = inner_RR[:rank, rank:], inner_RR[rank:, :rank].T
            change_RR = torch.zeros_like(inner_RR)
            change_RR[:rank, rank:] = share_KR * (dropped_R * kept_dropped_KR + kept_K1 * dropped_kept_KR)
            change_RR[rank:, :rank] = (share_KR * (dropped_R * dropped_kept_KR + kept_K1 * kept_dropped_KR)).T
            change_RR[:rank, :rank] = -inner_RR[:rank, :rank]
            left_ND = u_NR[:, :rank] @ (u_NR[:, :rank].T @ grad_ND)
            right_ND = grad_ND @ v_RD[:rank].T @ v_RD[:rank]
            return left_ND + right_ND + u_NR @ change_RR @ v_RD, None
