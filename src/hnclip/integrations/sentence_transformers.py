"""The boost in the shape of sentence-transformers' `MultipleNegativesRankingLoss`, for its trainer.

Needs the package sentence-transformers: `pip install 'hnclip[sentence-transformers]'`.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize, pad

from hnclip.losses import boosts
from hnclip.options import unknown

try:
    from sentence_transformers import util
except ImportError as error:
    raise ImportError(
        f"this loss needs sentence-transformers: pip install 'hnclip[sentence-transformers]' ({error})"
    ) from error

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

SIDES = ("positives", "anchors")


class BoostedMultipleNegativesRankingLoss(nn.Module):
    """InfoNCE whose negatives are raised by γ times a cosine within one column (arXiv 2608.18521, Eq. 2).

    Columns are those of `MultipleNegativesRankingLoss`: anchor, positive and any number of hard negatives. `boost`
    names the column whose likeness counts, the one that holds the captions where the other holds pictures:

    * `positives`: candidate j is raised for anchor i by γ times the cosine of j with i's own positive; hard negatives
      are candidates, and are raised alike.
    * `anchors`: by γ times the cosine of the anchors of i and j. Hard negatives have no anchor and are not raised.

    The raise has no gradient, is nothing at the pair itself and is in units of cosine, so it is multiplied by `scale`.
    `symmetric` averages the loss with that of the other direction, in which positives look for their anchors.
    γ = 0 is `MultipleNegativesRankingLoss`. Raises ValueError for a scale that is not above 0 and an unknown `boost`.
    """

    def __init__(
        self,
        model: "SentenceTransformer",
        scale: float = 20.0,
        similarity_fct: Callable[[Tensor, Tensor], Tensor] = util.cos_sim,
        gamma: float = 0.5,
        boost: str = "positives",
        symmetric: bool = False,
        gather_across_devices: bool = False,
    ):
        super().__init__()
        if not scale > 0:
            raise ValueError(f"scale must be above 0, got {scale}")
        if boost not in SIDES:
            raise ValueError(unknown("boost", boost, SIDES))
        self.model = model
        self.scale = scale
        self.similarity_fct = similarity_fct
        self.gamma = gamma
        self.boost = boost
        self.symmetric = symmetric
        self.gather_across_devices = gather_across_devices

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor | None = None) -> Tensor:
        """The loss of a batch as the trainer hands it over, one dict a column; labels are not read."""
        columns = [self.model(features)["sentence_embedding"] for features in sentence_features]
        return self.compute_loss_from_embeddings(columns, labels)

    def compute_loss_from_embeddings(self, embeddings: list[Tensor], labels: Tensor | None = None) -> Tensor:
        """The loss of embedded columns, each [N, D]: anchors, positives, hard negatives."""
        if len(embeddings) < 2:
            raise ValueError(
                f"the data has {len(embeddings)} column: an anchor and a positive are needed, hard negatives may follow"
            )
        rows, first = len(embeddings[0]), 0
        if self.gather_across_devices:
            embeddings = [util.all_gather_with_grad(column) for column in embeddings]
            first = rows * (torch.distributed.get_rank() if torch.distributed.is_initialized() else 0)
        own = slice(first, first + rows)
        anchor_ND, positive_ND = embeddings[:2]
        candidate_CD = torch.cat(embeddings[1:])
        by_anchor_QC = self.similarity_fct(anchor_ND[own], candidate_CD)
        raised_QC = self._raise(candidate_CD if self.boost == "positives" else anchor_ND, own)
        losses = [self._loss(by_anchor_QC, pad(raised_QC, (0, len(candidate_CD) - raised_QC.shape[1])), first)]
        if self.symmetric:
            by_positive_QN = self.similarity_fct(anchor_ND, positive_ND[own]).T
            losses.append(self._loss(by_positive_QN, raised_QC[:, : len(anchor_ND)], first))
        return sum(losses) / len(losses)

    def _raise(self, column_CD: Tensor, own: slice) -> Tensor:
        """γ times the cosines of own rows with all rows; nothing at the own row itself."""
        unit_CD = normalize(column_CD.detach(), dim=-1)
        return boosts.captions(unit_CD, unit_CD, torch.empty(0), torch.default_generator, gamma=self.gamma, own=own)

    def _loss(self, similar_QC: Tensor, raised_QC: Tensor, first: int) -> Tensor:
        logits_QC = (similar_QC + raised_QC) * self.scale
        return (logits_QC.logsumexp(1) - logits_QC.diagonal(first)).mean()

    def get_config_dict(self) -> dict[str, Any]:
        """What sentence-transformers writes into the card of the model."""
        return {
            "scale": self.scale,
            "similarity_fct": getattr(self.similarity_fct, "__name__", str(self.similarity_fct)),
            "gamma": self.gamma,
            "boost": self.boost,
            "symmetric": self.symmetric,
            "gather_across_devices": self.gather_across_devices,
        }

    @property
    def temperature(self) -> float:
        """1 / scale, as the library's own losses have it."""
        return 1.0 / self.scale

    @property
    def citation(self) -> str:
        """BibTeX for the card of the model."""
        return """
@misc{hnclip2608,
      title={HN-CLIP},
      author={{The authors of arXiv 2608.18521}},
      year={2026},
      eprint={2608.18521},
      archivePrefix={arXiv},
}
"""
