"""The boosted loss with the call of open_clip's `ClipLoss`, for any training loop that uses that one."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from hnclip.losses.boosts import captions
from hnclip.losses.contrastive import info_nce
from hnclip.losses.own_rows import EVERY, pair_of


class BoostedClipLoss(nn.Module):
    """InfoNCE whose negatives are raised by γ times the cosine of their captions (arXiv 2608.18521, Eq. 2).

    Takes the place of `open_clip.ClipLoss`: unit rows in, the inverse temperature as `logit_scale`, and the same
    options for several processes. γ = 0 is `ClipLoss`.
    """

    def __init__(
        self,
        local_loss: bool = False,
        gather_with_grad: bool = False,
        cache_labels: bool = False,
        rank: int = 0,
        world_size: int = 1,
        use_horovod: bool = False,
        *,
        gamma: float = 0.5,
    ):
        super().__init__()
        self.local_loss = local_loss
        self.gather_with_grad = gather_with_grad
        self.rank = rank
        self.world_size = world_size
        self.use_horovod = use_horovod
        self.gamma = gamma

    def forward(self, image_features, text_features, logit_scale, logit_bias=None, output_dict=False):
        """The loss of paired unit rows [N, D]; with `output_dict`, under the key `contrastive_loss`."""
        image_ND, text_ND = image_features, text_features
        if self.world_size > 1:
            image_ND, text_ND = self._gather(image_ND, text_ND)
        own = self._own(len(image_features))
        offset_QN = captions(image_ND, text_ND, torch.empty(0), torch.default_generator, gamma=self.gamma, own=own)
        if logit_bias is not None:
            offset_QN = offset_QN + logit_bias / logit_scale
        if own == EVERY:
            loss = info_nce(image_ND, text_ND, logit_scale, offset_QN)
        else:
            pair_Q = pair_of(own, len(text_ND), text_ND.device)
            by_image_QN = logit_scale * (image_features @ text_ND.T + offset_QN)
            by_text_QN = logit_scale * (text_features @ image_ND.T + offset_QN)
            loss = (cross_entropy(by_image_QN, pair_Q) + cross_entropy(by_text_QN, pair_Q)) / 2
        return {"contrastive_loss": loss} if output_dict else loss

    def _gather(self, image_ND, text_ND):
        from hnclip.models.openclip import open_clip

        return open_clip().loss.gather_features(
            image_ND, text_ND, self.local_loss, self.gather_with_grad, self.rank, self.world_size, self.use_horovod
        )

    def _own(self, rows: int) -> slice:
        """The queries scored here: every one, or under `local_loss` this process's own."""
        return slice(rows * self.rank, rows * (self.rank + 1)) if self.world_size > 1 and self.local_loss else EVERY
