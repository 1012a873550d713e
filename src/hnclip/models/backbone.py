"""The two towers of an open_clip CLIP, with pooled and token outputs and no work on padding."""

import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.functional import normalize, pad

from hnclip.models.groups import length_groups
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
    can be rebuilt without any other file.
    """

    def __init__(self, clip: nn.Module, architecture: dict, preprocess: Preprocess):
        super().__init__()
        self.clip = clip
        self.architecture = architecture
        self.preprocess = preprocess
        self.position_tail: nn.Parameter | None = None
        self.register_buffer("mean", torch.tensor(preprocess.mean).view(3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(preprocess.std).view(3, 1, 1), persistent=False)

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

    def image(self, pixels_NHWC: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Unit embeddings [N, D] and token states [N, 1 + P, W] (class token first) of uint8 pictures.

        Pictures of one channel, such as edge maps, are seen as grey.
        """
        visual = self.clip.visual
        pixels = pixels_NHWC.permute(0, 3, 1, 2).float().div(255)
        states = visual.transformer(visual._embeds((pixels - self.mean) / self.std))
        return normalize(self.project_patches(states[:, 0]).float(), dim=-1), states

    def text(self, ids_NT: torch.Tensor, length_N: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Unit embeddings [N, D] and token states [N, T, W] of captions padded to T tokens.

        `length_N` counts start to end token. Rows are computed in groups of like length, so padding costs
        nothing; states after a caption's end token mean nothing and are to be left out by length.
        """
        lengths = length_N.tolist()
        order, groups = length_groups(lengths)
        states = []
        for rows in groups:
            width = max(lengths[row] for row in rows)
            states.append(pad(self._text_states(ids_NT[rows, :width]), (0, 0, 0, ids_NT.shape[1] - width)))
        states_NTW = torch.cat(states)[order]
        last = states_NTW[torch.arange(len(lengths), device=states_NTW.device), length_N - 1]
        return normalize(self.project_words(last).float(), dim=-1), states_NTW

    def _text_states(self, ids_NT: torch.Tensor) -> torch.Tensor:
        clip, width = self.clip, ids_NT.shape[1]
        states = clip.token_embedding(ids_NT) + self.positions()[:width]
        return clip.transformer(states, attn_mask=clip.attn_mask[:width, :width])

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
