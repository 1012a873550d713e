"""Weight-decomposed adapters (DoRA, arXiv 2402.09353): LoRA whose projections also train their outputs' norms."""

from hnclip.frameworks.lora import Lora
from hnclip.models.adapters import add_adapters
from hnclip.models.backbone import Backbone


class Dora(Lora):
    """The same projections, rank and objective as `lora`, with a magnitude for each output of a projection."""

    needs = ("clip_blocks",)

    def adapt(self, backbone: Backbone) -> Backbone:
        return add_adapters(backbone, self.options.rank, self.options.alpha, dora=True)
