"""The two towers of an open_clip CLIP, with pooled and token outputs and no work on padding."""

import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.functional import embedding, linear, normalize

from hnclip.models import blocks
from hnclip.models.asked import Asked
from hnclip.models.packed import Packed
from hnclip.models.stretch import stretch_positions


@dataclass(frozen=True)
class Preprocess:
    """How pictures become pixels: decided by the checkpoint, applied once when the pixel cache is built."""

    size: int
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    interpolation: str = "bicubic"
    resize: str = "shortest"


class Backbone(nn.Module):
    """An open_clip CLIP whose towers return unit embeddings and the token states before the last norm.

    `architecture` is the configuration open_clip builds the model from; with it and the weights the model
    can be rebuilt without any other file. `offers` names what frameworks may need of it (hnclip.architecture.NEEDS).
    """

    offers: frozenset[str] = frozenset({"token_states", "clip_blocks", "text_positions"})

    def __init__(self, clip: nn.Module, architecture: dict, preprocess: Preprocess):
        super().__init__()
        self.clip = clip
        self.architecture = architecture
        self.preprocess = preprocess
        self.position_tail: nn.Parameter | None = None
        self.tokenizer = "clip"  # its name in a config
        self.lean_image, self.lean_text = self._lean()
        self.register_buffer("mean", torch.tensor(preprocess.mean).view(3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(preprocess.std).view(3, 1, 1), persistent=False)

    def _lean(self) -> tuple[bool, bool]:
        """Whether the blocks of image and text tower do less work (`hnclip.models.blocks`)."""
        return blocks.lean(self.clip.visual.transformer), blocks.lean(self.clip.transformer)

    @property
    def context(self) -> int:
        """Text positions, start and end token included."""
        return self.clip.positional_embedding.shape[0]

    @property
    def patch_size(self) -> int:
        """Pixels a side of a patch."""
        return self.clip.visual.conv1.kernel_size[0]

    @property
    def patch_grid(self) -> int:
        """Patches a side of the picture."""
        return self.preprocess.size // self.patch_size

    def positions(self) -> torch.Tensor:
        """The text tower's position table, [context, W]."""
        if self.position_tail is None:
            return self.clip.positional_embedding
        return torch.cat([self.clip.positional_embedding[: -len(self.position_tail)], self.position_tail])

    def freeze_first_positions(self, count: int) -> None:
        """Keep the first `count` text positions from training, weight decay included, and train the others."""
        table = self.clip.positional_embedding
        if not 0 < count < len(table):
            raise ValueError(f"of {len(table)} text positions 1 to {len(table) - 1} can be frozen, not {count}")
        table.requires_grad_(False)
        self.position_tail = nn.Parameter(table[count:].detach().clone())

    def weights(self) -> dict[str, torch.Tensor]:
        """The weights in open_clip's layout."""
        return {**self.clip.state_dict(), "positional_embedding": self.positions().detach()}

    def scale(self) -> torch.Tensor:
        """The inverse temperature s that multiplies cosines."""
        return self.clip.logit_scale.exp()

    def fix_scale(self, value: float) -> None:
        """Set the inverse temperature and keep it from training."""
        with torch.no_grad():
            self.clip.logit_scale.fill_(math.log(value))
        self.clip.logit_scale.requires_grad_(False)

    def image(
        self, pixels_NHWC: torch.Tensor, states: torch.Tensor | int | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Unit embeddings [N, D] and token states [N, 1 + P, W] (class token first) of uint8 pictures.

        `states` asks for the token states of the first so many pictures only, or for those that are true in it,
        [M, 1 + P], of the first M pictures, where other states mean nothing; it saves the others' work in the last
        block. Pictures of one channel, such as edge maps, are seen as grey.
        """
        visual = self.clip.visual
        embeds = self._embeds(pixels_NHWC)
        if not self.lean_image:
            states_NLW = visual.transformer(embeds)
            return self._unit_image(states_NLW[:, 0]), states_NLW[: _rows(states)]
        before = blocks.before_last(visual.transformer, embeds)
        if isinstance(states, torch.Tensor):
            asked_NL = torch.zeros(before.shape[:2], dtype=torch.bool, device=before.device)
            asked_NL[: len(states)], asked_NL[:, 0] = states, True
            asked = Asked([before.shape[1]] * len(before), asked_NL, causal=False)
            found = blocks.last(visual.transformer, before.flatten(0, 1)[None], asked, kept=asked.kept_K)[0]
            return self._unit_image(found[asked.first_N]), asked.spread(found, len(states))
        whole, rest = before[:states], before[len(before[:states]) :]
        states_NLW = blocks.last(visual.transformer, whole) if len(whole) else whole
        class_NW = states_NLW[:, 0]
        if len(rest):
            first = torch.zeros(1, dtype=torch.long, device=rest.device)
            class_NW = torch.cat([class_NW, blocks.last(visual.transformer, rest, kept=first)[:, 0]])
        return self._unit_image(class_NW), states_NLW

    def _embeds(self, pixels_NHWC: torch.Tensor) -> torch.Tensor:
        """What the image tower's blocks start from, [N, 1 + P, W].

        The convolution, whose patches do not overlap, is one product: on a GPU convolutions of fp32 numbers are rounded
        to TF32 unless a switch of the whole process forbids it, products are not.
        """
        visual, size = self.clip.visual, self.patch_size
        rows, columns = (side - side % size for side in pixels_NHWC.shape[1:3])
        cut = pixels_NHWC[:, :rows, :columns].unflatten(2, (-1, size)).unflatten(1, (-1, size))
        patches = cut.transpose(2, 3).float().div(255)
        patches = (patches - self.mean.flatten()) / self.std.flatten()
        weight_WX = visual.conv1.weight.permute(0, 2, 3, 1).flatten(1)
        states = linear(patches.flatten(3).flatten(1, 2), weight_WX, visual.conv1.bias)
        first = visual.class_embedding.to(states.dtype).expand(len(states), 1, -1)
        states = torch.cat([first, states], dim=1) + visual.positional_embedding.to(states.dtype)
        return visual.ln_pre(visual.patch_dropout(states))

    def text(
        self, ids_NT: torch.Tensor, length_N: torch.Tensor, states: torch.Tensor | int | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Unit embeddings [N, D] and token states [N, T, W] of captions padded to T tokens.

        `length_N` counts start to end token. Captions are computed end to end, so padding costs nothing; states after
        a caption's end token mean nothing and are to be left out by length. `states` asks for those of the first so
        many captions only, or for those that are true in it, [M, T], as in `image`.
        """
        if not self.lean_text:
            states_NTW = self._padded_text(ids_NT)
            last = states_NTW[torch.arange(len(ids_NT), device=ids_NT.device), length_N - 1]
            return self._unit_text(last), states_NTW[: _rows(states)]
        lengths, tower = length_N.tolist(), self.clip.transformer
        place_T = torch.arange(ids_NT.shape[1], device=ids_NT.device)
        there_NT = place_T < length_N[:, None]
        row, place = there_NT.nonzero(as_tuple=True)
        embeds = self.clip.token_embedding(ids_NT[row, place]) + embedding(place, self.positions())
        before = blocks.before_last(tower, embeds[None], Packed(lengths, ids_NT.device))
        if isinstance(states, torch.Tensor):
            asked_NT = place_T == length_N[:, None] - 1
            asked_NT[: len(states)] |= states & there_NT[: len(states)]
            asked = Asked(lengths, asked_NT, causal=True)
            found = blocks.last(tower, before, asked, kept=asked.kept_K)[0]
            return self._unit_text(found[asked.asking.last_N]), asked.spread(found, len(states))
        wanted, rest = (Packed(part, ids_NT.device) for part in (lengths[:states], lengths[len(lengths[:states]) :]))
        found, states_NTW = [], before.new_zeros(0, ids_NT.shape[1], before.shape[-1])
        if wanted.lengths:
            whole = blocks.last(tower, before[:, : wanted.tokens], wanted)[0]
            found.append(whole[wanted.last_N])
            states_NTW = wanted.filled(whole, ids_NT.shape[1])
        if rest.lengths:
            found.append(blocks.last(tower, before[:, wanted.tokens :], rest, kept=rest.last_N)[0])
        return self._unit_text(torch.cat(found)), states_NTW

    def _padded_text(self, ids_NT: torch.Tensor) -> torch.Tensor:
        """Token states [N, T, W] of a tower whose blocks are not CLIP's own."""
        clip, width = self.clip, ids_NT.shape[1]
        states = clip.token_embedding(ids_NT) + self.positions()[:width]
        return clip.transformer(states, attn_mask=clip.attn_mask[:width, :width])

    def _unit_image(self, class_NW: torch.Tensor) -> torch.Tensor:
        return normalize(self.project_patches(class_NW).float(), dim=-1)

    def _unit_text(self, last_NW: torch.Tensor) -> torch.Tensor:
        return normalize(self.project_words(last_NW).float(), dim=-1)

    def project_patches(self, states: torch.Tensor) -> torch.Tensor:
        """Image token states after the tower's last norm and projection."""
        return self.clip.visual.ln_post(states) @ self.clip.visual.proj

    def project_words(self, states: torch.Tensor) -> torch.Tensor:
        """Text token states after the tower's last norm and projection."""
        return self.clip.ln_final(states) @ self.clip.text_projection

    def stretch_text(self, context: int) -> None:
        """Lengthen the text positions as Long-CLIP does; the model must have the length this starts from."""
        if context == self.context:
            return
        table = stretch_positions(self.clip.positional_embedding.detach())
        if table.shape[0] != context:
            raise ValueError(
                f"a text tower of {self.context} positions stretches to {table.shape[0]}, not to {context}: "
                f"set `context` of this backbone to {table.shape[0]} or {self.context}"
            )
        self.clip.positional_embedding = nn.Parameter(table)
        mask = torch.full((context, context), float("-inf"), device=table.device).triu_(1)
        self.clip.register_buffer("attn_mask", mask, persistent=False)
        self.clip.context_length = context
        self.architecture = {
            **self.architecture,
            "text_cfg": {**self.architecture["text_cfg"], "context_length": context},
        }


def _rows(states: torch.Tensor | int | None) -> int | None:
    return len(states) if isinstance(states, torch.Tensor) else states
