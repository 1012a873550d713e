"""Chunks of a caption find crops of their own image's edge map: the local term of StructXLIP (arXiv 2602.20089)."""

import torch

from hnclip.losses.kept import kept_mean
from hnclip.losses.regions import span_mask


def chunk_states(states_NTW: torch.Tensor, chunks_NC2: torch.Tensor) -> torch.Tensor:
    """One state a chunk, [N, C, W]: its tokens weighted by the softmax of their norms, which gets no gradient.

    Chunks are token spans (first, end exclusive); an empty one gives zeros.
    """
    mask_NCT = span_mask(chunks_NC2, states_NTW.shape[1])
    norm_N1T = states_NTW.detach().norm(dim=-1)[:, None]
    weight_NCT = norm_N1T.masked_fill(~mask_NCT, torch.finfo(norm_N1T.dtype).min).softmax(-1) * mask_NCT
    return weight_NCT @ states_NTW


def chunk_term(
    chunks_NCD: torch.Tensor,
    crops_NKD: torch.Tensor,
    has_chunk_NC: torch.Tensor,
    has_crop_NK: torch.Tensor,
    scale: torch.Tensor,
    *,
    tau: float,
    cap: float,
) -> torch.Tensor:
    """-log of the share that a chunk's own crops hold of the softmax over all crops of the batch.

    Rows are unit vectors, the inverse temperature is `scale / tau`, at most `cap`. The mean over a caption's chunks,
    then over the captions that have a chunk and a crop; captions only seek crops, not the other way round.
    """
    sharpness = (scale / tau).clamp(max=cap)
    logits_NCMK = sharpness * torch.einsum("ncd,mkd->ncmk", chunks_NCD, crops_NKD)
    logits_NCMK = logits_NCMK.masked_fill(~has_crop_NK, torch.finfo(logits_NCMK.dtype).min)
    row = torch.arange(len(chunks_NCD), device=chunks_NCD.device)
    own_NC = logits_NCMK[row, :, row].logsumexp(-1)
    keep_NC = has_chunk_NC & has_crop_NK.any(1, keepdim=True)
    loss_NC = (logits_NCMK.flatten(2).logsumexp(-1) - own_NC).masked_fill(~keep_NC, 0)
    return kept_mean(loss_NC.sum(1) / keep_NC.sum(1).clamp_min(1), keep_NC.any(1))
