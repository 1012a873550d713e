"""Late interaction of FineLIP: images and captions compared token by token (arXiv 2504.01916)."""

import torch
from torch.nn.functional import leaky_relu

from hnclip.losses.shared import rows_shared

SLOPE = 0.1
BLOCK = 1 << 24  # token pairs compared at once


def late_similarity(image_IKD: torch.Tensor, text_CKD: torch.Tensor, block: int = BLOCK) -> torch.Tensor:
    """R of images and captions from their unit tokens, [I, C], between -0.2 and 2.

    R = mean over the caption's tokens of the best cosine with the image's + mean over the image's tokens of the best
    cosine with the caption's, each best cosine through a LeakyReLU. A sum of the two, not their mean. Computed for as
    many captions at once as `block` token pairs allow; only the place of each best pair is kept for the gradient, so
    that a batch takes the memory of a block. In fp32 at least and outside autocast.
    """
    kind = torch.promote_types(image_IKD.dtype, torch.float32)
    image_IKD, text_CKD = image_IKD.to(kind), text_CKD.to(kind)
    captions = max(1, block // max(1, image_IKD.shape[0] * image_IKD.shape[1] * text_CKD.shape[1]))
    with torch.autocast(image_IKD.device.type, enabled=False):
        return torch.cat([_block(image_IKD, part_CKD) for part_CKD in text_CKD.split(captions)], dim=1)


def shared_similarity(image_NKD: torch.Tensor, text_NKD: torch.Tensor) -> torch.Tensor:
    """`late_similarity` of a batch's images and captions, [N, N]; several processes each compare their own images."""

    def compared(own, image_NKD, text_NKD):
        return late_similarity(image_NKD[own], text_NKD)

    return rows_shared(compared, len(image_NKD), image_NKD, text_NKD)


def _block(image_IKD: torch.Tensor, text_CKD: torch.Tensor) -> torch.Tensor:
    """R of all images and these captions. LeakyReLU rises, so the best cosine is the same before and after it."""
    cosine_IKCK = (image_IKD.flatten(0, 1) @ text_CKD.flatten(0, 1).T).view(*image_IKD.shape[:2], *text_CKD.shape[:2])
    # `max` over one axis saves its places for the gradient, `amax` would save all cosines
    by_text_ICK = leaky_relu(cosine_IKCK.max(1).values, SLOPE)
    by_image_IKC = leaky_relu(cosine_IKCK.max(3).values, SLOPE)
    return by_text_ICK.mean(2) + by_image_IKC.mean(1)
