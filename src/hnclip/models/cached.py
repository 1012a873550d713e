"""In the place of the towers of a backbone whose embeddings are cached: maps of embeddings to embeddings."""

import json
import math
from pathlib import Path

import torch
from safetensors import safe_open
from torch import nn
from torch.nn.functional import gelu, linear, normalize

from hnclip.model_spec import ADAPTER
from hnclip.models.backbone import Backbone
from hnclip.store import write_tensors


class Map(nn.Module):
    """Unit rows of `width` numbers to unit rows of `out`: the row itself, and what is learned of it added.

    The row itself is the row where both widths agree, so that an untrained map changes nothing, else a fixed random
    projection with orthonormal columns. What is learned is linear, or with `hidden` units a two-layer perceptron.
    """

    def __init__(self, width: int, out: int, hidden: int | None, learned: bool = True):
        super().__init__()
        self.projection: torch.Tensor | None
        self.register_buffer("projection", None if width == out else _orthonormal(width, out))
        self.learned = learned
        if learned and hidden:
            self.first = nn.Linear(width, hidden)
        if learned:
            self.last = nn.Linear(hidden or width, out)
            nn.init.zeros_(self.last.weight)
            nn.init.zeros_(self.last.bias)

    def forward(self, row_ND: torch.Tensor) -> torch.Tensor:
        row_ND = normalize(row_ND.to(self.last.weight.dtype if self.learned else torch.float32), dim=-1)
        kept_ND = row_ND if self.projection is None else linear(row_ND, self.projection.T)
        if not self.learned:
            return normalize(kept_ND, dim=-1)
        inner_ND = gelu(self.first(row_ND)) if hasattr(self, "first") else row_ND
        return normalize(kept_ND + self.last(inner_ND), dim=-1)


def _orthonormal(width: int, out: int) -> torch.Tensor:
    """The same random [width, out] with orthonormal columns every time."""
    return torch.linalg.qr(torch.randn(width, out, generator=torch.Generator().manual_seed(0)))[0]


class _Scale(nn.Module):
    """What a CLIP has beside its towers: the log of the inverse temperature."""

    def __init__(self, scale: float):
        super().__init__()
        self.logit_scale = nn.Parameter(torch.tensor(math.log(scale)))


class CachedTowers(Backbone):
    """Maps of cached embeddings, with what trainer and evaluator ask of a backbone.

    `widths` are those of the cached embeddings of images and texts; `hidden` and `sides` say what is learned
    (`Map`); both come out as wide as the narrower of the two.
    """

    offers: frozenset[str] = frozenset()

    def __init__(self, widths: tuple[int, int], scale: float, hidden: int | None = None, sides: tuple[str, ...] = ()):
        nn.Module.__init__(self)
        self.tokenizer = ""  # it reads no texts
        self.widths, self.hidden, self.sides = tuple(widths), hidden, tuple(sides)
        out = min(widths)
        self.clip = _Scale(scale)
        self.architecture = {"embed_dim": out}
        self.image_map = Map(widths[0], out, hidden, "image" in sides)
        self.text_map = Map(widths[1], out, hidden, "text" in sides)
        self.register_buffer("mean", torch.zeros(1), persistent=False)  # says where the model is

    def image(self, vector_ND, states=0):
        """Unit embeddings [N, D] of cached image embeddings; there are no token states."""
        return self.image_map(vector_ND), vector_ND.new_zeros(0, 0, 0)

    def text(self, vector_ND, length_N=None, states=0):
        """Unit embeddings [N, D] of cached caption embeddings; there are no token states."""
        return self.text_map(vector_ND), vector_ND.new_zeros(0, 0, 0)

    def weights(self) -> dict[str, torch.Tensor]:
        """The maps and the log of the inverse temperature."""
        return self.state_dict()


def adapter_file(towers: CachedTowers) -> dict[str, str]:
    """What an adapter's file says of itself, so that it can be built again."""
    shape = {"widths": list(towers.widths), "hidden": towers.hidden, "sides": list(towers.sides)}
    return {"format": ADAPTER, "adapter": json.dumps(shape)}


def save_adapter(path: Path, towers: CachedTowers, provenance: dict) -> None:
    """Write maps, their shape and origin as one safetensors file."""
    weights = {name: value.detach().cpu().contiguous() for name, value in towers.weights().items()}
    write_tensors(path, weights, {**adapter_file(towers), "provenance": json.dumps(provenance)})


def load_adapter(path: Path) -> CachedTowers:
    """The maps that `save_adapter` wrote."""
    with safe_open(path, framework="pt") as file:
        shape = json.loads(file.metadata()["adapter"])
        weights = {name: file.get_tensor(name) for name in file.keys()}
    towers = CachedTowers(tuple(shape["widths"]), 1.0, shape["hidden"], tuple(shape["sides"]))
    towers.load_state_dict(weights, strict=True)
    return towers
