"""Long-CLIP fine-tuning plus the token-level term: Eq. 3 of arXiv 2608.18521."""

from dataclasses import dataclass

from torch.nn.functional import normalize

from hnclip.frameworks.base import Batch, Framework
from hnclip.losses.token import token_term


@dataclass(frozen=True)
class Options:
    """Weight of the token-level term (λ of Eq. 3)."""

    token_weight: float = 1.0


class HnClip(Framework):
    """The global term, boosted by the study, and the plain late interaction of patches and words."""

    needs = ("token_states",)
    Options = Options

    def encode(self, batch: Batch) -> Batch:
        image_ND, patches = self.backbone.image(batch["image"])
        text_ND, words = self.backbone.text(batch["text"], batch["text_length"])
        return {
            "image": image_ND,
            "text": text_ND,
            "patches": normalize(self.backbone.project_patches(patches[:, 1:]).float(), dim=-1),
            "words": normalize(self.backbone.project_words(words[:, 1:-1]).float(), dim=-1),
            "word_count": batch["text_length"] - 2,
        }

    def losses(self, z, step, contrastive):
        scale = self.backbone.scale()
        return {
            "global": contrastive(z["image"], z["text"], scale, step.ids_N),
            "token": self.options.token_weight * token_term(z["patches"], z["words"], z["word_count"], scale),
        }
