"""Chunks of a caption find crops of their own image's edge map: the local term of StructXLIP (arXiv 2602.20089)."""

import torch

from hnclip.losses.kept import kept_mean
from hnclip.losses.own_rows import pair_of
from hnclip.losses.regions import span_mask
from hnclip.losses.shared import rows_shared


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
    then over the captions that have a chunk and a crop; captions only seek crops, not the other way round. Several
    processes each score their own captions.
    """
    keep_NC = has_chunk_NC & has_crop_NK.any(1, keepdim=True)

    def sought(own, chunks_NCD, crops_NKD, sharpness):
        logits_QCNK = sharpness * torch.einsum("qcd,nkd->qcnk", chunks_NCD[own], crops_NKD)
        logits_QCNK = logits_QCNK.masked_fill(~has_crop_NK, torch.finfo(logits_QCNK.dtype).min)
        pair_Q = pair_of(own, len(chunks_NCD), chunks_NCD.device)
        own_QC = logits_QCNK[torch.arange(len(pair_Q), device=pair_Q.device), :, pair_Q].logsumexp(-1)
        loss_QC = (logits_QCNK.flatten(2).logsumexp(-1) - own_QC).masked_fill(~keep_NC[own], 0)
        return loss_QC.sum(1) / keep_NC[own].sum(1).clamp_min(1)

    loss_N = rows_shared(sought, len(chunks_NCD), chunks_NCD, crops_NKD, (scale / tau).clamp(max=cap))
    return kept_mean(loss_N, keep_NC.any(1))
