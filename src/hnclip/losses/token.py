"""The token-level term: late interaction of image patches and caption words (FILIP, arXiv 2111.07783)."""

import torch
from torch.nn.functional import cross_entropy

from hnclip.losses.shared import rows_shared

BLOCK = 1 << 24  # token pairs compared at once


def late_interaction(
    patches_NPD: torch.Tensor, words_MWD: torch.Tensor, word_count_M: torch.Tensor, block: int = BLOCK
) -> tuple[torch.Tensor, torch.Tensor]:
    """Two image-caption similarity matrices [N, M] of unit tokens; only a caption's first `word_count` words count.

    The first is the mean over an image's patches of the best cosine with a caption's words, the second the mean over
    a caption's words of the best cosine with an image's patches. `block` token pairs are compared at once, whose
    cosines take 4 bytes each, three times over in backward. For the gradient only the place of each best one is kept,
    8 N M (P + W) bytes: 57 MB for 128 pairs of 196 patches and 240 words, where all cosines were 3.1 GB.
    """
    if int(word_count_M.min()) < 1:
        empty = (word_count_M < 1).nonzero().flatten().tolist()
        raise ValueError(f"captions {empty} of the batch have no words between start and end token")
    pairs = max(1, block // (patches_NPD.shape[1] * words_MWD.shape[1]))
    captions = min(pairs, len(words_MWD))
    columns = list(zip(words_MWD.split(captions), word_count_M.split(captions), strict=True))
    rows = [
        [_block(images_NPD, *column) for column in columns]
        for images_NPD in patches_NPD.split(max(1, pairs // captions))
    ]
    patches_to_words_NM, words_to_patches_NM = (
        torch.cat([torch.cat([block[side] for block in row], dim=1) for row in rows]) for side in (0, 1)
    )
    return patches_to_words_NM, words_to_patches_NM


def _block(
    patches_NPD: torch.Tensor, words_MWD: torch.Tensor, word_count_M: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    cosine_NMPW = torch.einsum("npd,mwd->nmpw", patches_NPD, words_MWD)
    word = torch.arange(words_MWD.shape[1], device=words_MWD.device)
    padding_MW = word >= word_count_M[:, None]
    # `max` over one axis saves its places for the gradient, `amax` would save all cosines
    best_word_NMP = cosine_NMPW.masked_fill(padding_MW[:, None], float("-inf")).max(-1).values
    best_patch_NMW = cosine_NMPW.max(-2).values.masked_fill(padding_MW, 0)
    return best_word_NMP.mean(-1), best_patch_NMW.sum(-1) / word_count_M


def token_term(
    patches_NPD: torch.Tensor, words_NWD: torch.Tensor, word_count_N: torch.Tensor, scale: torch.Tensor | float
) -> torch.Tensor:
    """L_tok of Eq. 3, arXiv 2608.18521: images find their captions by patches, captions their images by words.

    Several processes compare the tokens of their own images each; memory is that of `late_interaction`.
    """

    def compared(own, patches_NPD, words_NWD):
        return torch.stack(late_interaction(patches_NPD[own], words_NWD, word_count_N), dim=1)

    by_image_NN, by_text_NN = rows_shared(compared, len(patches_NPD), patches_NPD, words_NWD).unbind(1)
    target_N = torch.arange(len(by_image_NN), device=by_image_NN.device)
    return (cross_entropy(scale * by_image_NN, target_N) + cross_entropy(scale * by_text_NN.T, target_N)) / 2
