"""Any CLIP of open_clip's beyond OpenAI's layout, its towers taken as a whole: embeddings, no states of single tokens.

SigLIP, text towers of transformers, vision towers of timm, ResNets. What open_clip's own `encode_image` and
`encode_text` compute is what comes out, at unit length.
"""

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import nn
from torch.nn.functional import normalize, pad

from hnclip.architecture import fault
from hnclip.models.backbone import Backbone, Preprocess
from hnclip.models.openclip import open_clip

OFFSET = ("roberta", "xlm-roberta", "xlm-roberta-xl", "camembert")  # whose positions begin after that of padding


class WholeTowers(Backbone):
    """A CLIP whose towers give embeddings alone.

    It is always in evaluation mode: without dropout and with the statistics of batch norms as they came, so that a
    row is encoded alone and twice the same, in parts of a batch as in the whole. Captions are filled up with the
    tokenizer's own padding, to the full context where the text tower reads it.
    """

    offers: frozenset[str] = frozenset()

    def __init__(self, clip: nn.Module, architecture: dict, preprocess: Preprocess):
        super().__init__(clip, architecture, preprocess)
        # Convolutions of fp32 numbers are fp32, as products are (hnclip.encode.device), in backward passes too.
        torch.backends.cudnn.allow_tf32 = False
        if getattr(clip, "logit_bias", None) is not None:
            clip.logit_bias.requires_grad_(False)  # one for all pairs: no rank depends on it, no loss here reads it
        self.eval()

    def _lean(self) -> tuple[bool, bool]:
        return False, False

    def train(self, mode: bool = True) -> "WholeTowers":
        super().train(mode)
        self.clip.eval()
        return self

    @property
    def _words(self) -> dict[str, Any]:
        return self.architecture["text_cfg"]

    @property
    def masks_padding(self) -> bool:
        """True of text towers of transformers: what padding is there is is not looked at."""
        return "hf_model_name" in self._words

    @property
    def context(self) -> int:
        """Text positions, special tokens included."""
        if self.masks_padding:
            return self._words.get("context_length") or _positions(self._words["hf_config"])
        return self._words.get("context_length", 77)

    @property
    def pad_id(self) -> int | None:
        """The token that captions are filled up with; None where nothing has told it yet."""
        return self._words["hf_config"].get("pad_token_id") if self.masks_padding else self._words.get("pad_id")

    def pad_with(self, token: int) -> None:
        """Fill captions up with this token, which the model's tokenizer tells; weights files keep it."""
        if not self.masks_padding:
            self.architecture = {**self.architecture, "text_cfg": {**self._words, "pad_id": token}}
        elif token != self.pad_id:
            raise ValueError(f"the text tower takes token {self.pad_id} for padding, its tokenizer {token}")

    def weights(self) -> dict[str, torch.Tensor]:
        """The weights in open_clip's layout."""
        return dict(self.clip.state_dict())

    def scale(self) -> torch.Tensor:
        return self.clip.logit_scale.exp().reshape(())

    def image(self, pixels_NHWC, states=None):
        """Unit embeddings [N, D] of uint8 pictures, and no states: `states` must be 0."""
        _none_asked(states)
        pixels_NCHW = pixels_NHWC.permute(0, 3, 1, 2).expand(-1, 3, -1, -1).float().div(255)
        embedding_ND = self.clip.encode_image((pixels_NCHW - self.mean) / self.std)
        return normalize(embedding_ND.float(), dim=-1), embedding_ND.new_zeros(0)

    def text(self, ids_NT, length_N, states=None):
        """Unit embeddings [N, D] of captions, of which `length_N` tokens count, and no states: `states` must be 0."""
        _none_asked(states)
        place_T = torch.arange(ids_NT.shape[1], device=ids_NT.device)
        ids_NT = torch.where(place_T < length_N[:, None], ids_NT, self.pad_id)
        if not self.masks_padding:
            ids_NT = pad(ids_NT, (0, self.context - ids_NT.shape[1]), value=self.pad_id)
        embedding_ND = self.clip.encode_text(ids_NT)
        return normalize(embedding_ND.float(), dim=-1), embedding_ND.new_zeros(0)

    def stretch_text(self, context: int) -> None:
        """Nothing but the model's own context will do; where padding is masked, up to its table of positions."""
        if not self.masks_padding and context == self.context:
            return
        if self.masks_padding and context <= _positions(self._words["hf_config"]):
            self.architecture = {**self.architecture, "text_cfg": {**self._words, "context_length": context}}
            return
        own = _positions(self._words["hf_config"]) if self.masks_padding else self.context
        raise ValueError(
            f"this text tower has {own} positions, which are not stretched to {context}: set `context` of this "
            f"backbone to {'at most ' if self.masks_padding else ''}{own}"
        )

    def _refused(self, *_: Any, **__: Any) -> Any:
        raise ValueError(
            "the towers of this backbone are taken as a whole and have no states of single patches, words or "
            "positions: take a framework that needs none (docs/backbones.md), such as longclip"
        )

    freeze_first_positions = project_patches = project_words = positions = _refused
    patch_size = patch_grid = property(_refused)


def build_whole(architecture: dict[str, Any], preprocess: Preprocess) -> WholeTowers:
    """A backbone of this architecture with fresh random weights; nothing is fetched where `hf_config` is in it.

    Raises ValueError for an architecture that cannot be one, or whose text tower's configuration cannot be had.
    """
    if why := fault(architecture):
        raise ValueError(f"this model is no backbone: {why}")
    package = open_clip(light=not other_packages(architecture))
    wanted = deepcopy(architecture)
    words, vision = wanted["text_cfg"], wanted["vision_cfg"]
    custom = wanted.pop("custom_text", False) or "hf_model_name" in words
    if "timm_model_name" in vision:
        vision["timm_model_pretrained"] = False
    with _config_folder(words):
        try:
            clip = (package.model.CustomTextCLIP if custom else package.model.CLIP)(**wanted)
        except OSError as error:
            reason = str(error).strip().split("\n")[0]
            raise ValueError(
                f"the configuration of the text tower {words['hf_model_name']!r} could not be had ({reason}); "
                "run this once where there is a network, or name its folder"
            ) from error
    return WholeTowers(clip, told(architecture, clip), preprocess)


def other_packages(architecture: dict[str, Any]) -> bool:
    """True where towers are made by timm or transformers, whose import costs seconds."""
    return "timm_model_name" in architecture["vision_cfg"] or "hf_model_name" in architecture["text_cfg"]


def told(architecture: dict[str, Any], clip: nn.Module) -> dict[str, Any]:
    """The architecture with the configuration of a text tower of transformers, so that no other file is needed."""
    words = architecture["text_cfg"]
    if "hf_model_name" not in words or "hf_config" in words:
        return architecture
    return {**architecture, "text_cfg": {**words, "hf_config": json.loads(clip.text.config.to_json_string(False))}}


@contextmanager
def _config_folder(words: dict[str, Any]) -> Iterator[None]:
    """open_clip reads a text tower's configuration from a folder or the hub: from one of its own, where it is known."""
    if "hf_model_name" not in words:
        yield
        return
    words["hf_model_pretrained"] = False
    config = words.pop("hf_config", None)
    with TemporaryDirectory() as folder:
        if config:
            (Path(folder) / "config.json").write_text(json.dumps(config), encoding="utf-8")
            words["hf_model_name"] = folder
        yield


def _positions(config: dict[str, Any]) -> int:
    """Tokens that a text tower of transformers can read; no bound where its positions are relative."""
    most = config.get("max_position_embeddings") or config.get("n_positions")
    if not most or config["model_type"] in ("t5", "mt5"):
        return math.inf if most is None else most
    return most - config.get("pad_token_id", 0) - 1 if config["model_type"] in OFFSET else most


def _none_asked(states: torch.Tensor | int | None) -> None:
    if not isinstance(states, int) or states:
        raise ValueError(
            "this backbone gives no states of single patches and words, only embeddings (`states=0`): take a "
            "framework that needs none (docs/backbones.md), such as longclip"
        )
