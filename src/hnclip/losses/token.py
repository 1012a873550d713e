"""The token-level term: late interaction of image patches and caption words (FILIP, arXiv 2111.07783)."""

import torch
from torch.nn.functional import cross_entropy


def late_interaction(
    patches_NPD: torch.Tensor, words_MWD: torch.Tensor, word_count_M: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Two image-caption similarity matrices [N, M] of unit tokens; only a caption's first `word_count` words count.

    The first is the mean over an image's patches of the best cosine with a caption's words, the second the mean over
    a caption's words of the best cosine with an image's patches.
    """
    if int(word_count_M.min()) < 1:
        empty = (word_count_M < 1).nonzero().flatten().tolist()
        raise ValueError(f"captions {empty} of the batch have no words between start and end token")
    cosine_NMPW = torch.einsum("npd,mwd->nmpw", patches_NPD, words_MWD)
    word = torch.arange(words_MWD.shape[1], device=words_MWD.device)
    padding_MW = word >= word_count_M[:, None]
    patches_to_words_NM = cosine_NMPW.masked_fill(padding_MW[:, None], float("-inf")).amax(-1).mean(-1)
    best_patch_NMW = cosine_NMPW.amax(-2).masked_fill(padding_MW, 0)
    words_to_patches_NM = best_patch_NMW.sum(-1) / word_count_M
    return patches_to_words_NM, words_to_patches_NM


def token_term(
    patches_NPD: torch.Tensor, words_NWD: torch.Tensor, word_count_N: torch.Tensor, scale: torch.Tensor | float
) -> torch.Tensor:
    """L_tok of Eq. 3, arXiv 2608.18521: images find their captions by patches, captions their images by words."""
    by_image_NN, by_text_NN = late_interaction(patches_NPD, words_NWD, word_count_N)
    target_N = torch.arange(len(by_image_NN), device=by_image_NN.device)
    return (cross_entropy(scale * by_image_NN, target_N) + cross_entropy(scale * by_text_NN.T, target_N)) / 2
