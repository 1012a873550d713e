"""A backbone with what a run on its cached embeddings learned: pictures and captions to mapped embeddings."""

from torch import nn

from hnclip.models.backbone import Backbone
from hnclip.models.cached import CachedTowers


class AdaptedTowers(nn.Module):
    """Embeds as the backbone does and maps what comes; everything else of it is the backbone's own.

    Raises ValueError where the maps are for embeddings of other widths.
    """

    def __init__(self, backbone: Backbone, maps: CachedTowers):
        super().__init__()
        width = backbone.architecture["embed_dim"]
        if maps.widths != (width, width):
            raise ValueError(f"the maps are for embeddings of {maps.widths} numbers (image, text), not of {width}")
        self.backbone, self.maps = backbone, maps

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("backbone"), name)

    def scale(self):
        """The inverse temperature that the maps were trained with."""
        return self.maps.scale()

    def image(self, pixels_NHWC, states=0):
        """Mapped unit embeddings [N, D] of uint8 pictures; no states."""
        return self.maps.image(self.backbone.image(pixels_NHWC, states=0)[0])

    def text(self, ids_NT, length_N, states=0):
        """Mapped unit embeddings [N, D] of captions; no states."""
        return self.maps.text(self.backbone.text(ids_NT, length_N, states=0)[0])
