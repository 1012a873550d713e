"""A backbone's towers as two ONNX graphs, for onnxruntime in any language, and the files that feed them.

`image.onnx`: `pixel_values` float32 [N, 3, size, size], RGB from 0 to 1, to `image_embeds` [N, D]; mean and standard
deviation are applied inside. `text.onnx`: `input_ids` int64 [N, T], up to the context, to `text_embeds` [N, D]. Both
give unit rows. The towers are open_clip's own: ours pack captions end to end, and their shapes hang on the data.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.functional import normalize, pad

from hnclip.architecture import openai_layout
from hnclip.data.tokenizers import words
from hnclip.models.adapted import AdaptedTowers
from hnclip.models.backbone import Backbone
from hnclip.models.onnx_words import pad_id, write_words
from hnclip.store import write_json

PACKAGES = ("onnx", "onnxruntime", "onnxscript")
MOST_BYTES = 2**31 - 2**24  # of one ONNX file; larger weights lie beside their graph


class Mapped(nn.Module):
    """A graph whose embeddings go through a map of them."""

    def __init__(self, graph: nn.Module, mapping: nn.Module):
        super().__init__()
        self.towers, self.mapping = graph, mapping  # `graph` is a name of the exporter's own

    def forward(self, given):
        return self.mapping(self.towers(given))


class ImageGraph(nn.Module):
    """Pixels from 0 to 1, [N, 3, size, size], to unit embeddings."""

    def __init__(self, backbone: Backbone):
        super().__init__()
        self.clip, self.mean, self.std = backbone.clip, backbone.mean, backbone.std

    def forward(self, pixel_values):
        return normalize(self.clip.encode_image((pixel_values - self.mean) / self.std), dim=-1)


class TextGraph(nn.Module):
    """Token ids of any padding to unit embeddings: each caption is read up to its end token, the first there is."""

    def __init__(self, backbone: Backbone):
        super().__init__()
        self.clip = backbone.clip
        self.register_buffer("positions", backbone.positions().detach(), persistent=False)

    def forward(self, input_ids):
        clip, width = self.clip, input_ids.shape[1]
        states = clip.token_embedding(input_ids) + self.positions[:width]
        states = clip.transformer(states, attn_mask=clip.attn_mask[:width, :width])
        ends = input_ids if clip.text_pool_type == "argmax" else (input_ids == clip.text_eos_id).int()
        last = states[torch.arange(input_ids.shape[0], device=input_ids.device), ends.argmax(-1)]
        return normalize(clip.ln_final(last) @ clip.text_projection, dim=-1)


class WholeTextGraph(nn.Module):
    """The same of a text tower that is taken as a whole; filled up with its padding to what the tower reads."""

    def __init__(self, backbone: Backbone):
        super().__init__()
        self.clip, self.pad_id = backbone.clip, backbone.pad_id
        self.context = None if backbone.masks_padding else backbone.context

    def forward(self, input_ids):
        if self.context:
            input_ids = pad(input_ids, (0, self.context - input_ids.shape[1]), value=self.pad_id)
        return normalize(self.clip.encode_text(input_ids), dim=-1)


def check_packages() -> None:
    """Raises ValueError saying what to install."""
    if missing := [name for name in PACKAGES if find_spec(name) is None]:
        raise ValueError(f"export to ONNX needs {', '.join(missing)}: pip install 'hnclip[onnx]'")


def write_graphs(folder: Path, backbone: Backbone) -> None:
    """Write image.onnx and text.onnx of a backbone on the CPU in fp32."""
    image = ImageGraph(backbone)
    text = (TextGraph if openai_layout(backbone.architecture) else WholeTextGraph)(backbone)
    if isinstance(backbone, AdaptedTowers):
        image, text = Mapped(image, backbone.maps.image_map), Mapped(text, backbone.maps.text_map)
    rows = torch.export.Dim("N", min=1, max=2**16)
    tokens = torch.export.Dim("T", min=2, max=backbone.context)
    size = backbone.preprocess.size
    pixels, ids = torch.rand(2, 3, size, size), _some_ids(backbone)
    with _quiet():
        _write(folder / "image.onnx", image, pixels, "pixel_values", "image_embeds", {0: rows})
        _write(folder / "text.onnx", text, ids, "input_ids", "text_embeds", {0: rows, 1: tokens})


def _some_ids(backbone: Backbone) -> torch.Tensor:
    rows, _ = words(backbone.tokenizer, backbone.context).rows(["a red box", "two dogs in a park"], backbone.context)
    width = max(map(len, rows))
    return torch.tensor([ids + [0] * (width - len(ids)) for ids in rows])


def _write(path: Path, graph: nn.Module, given: torch.Tensor, takes: str, gives: str, dynamic: dict) -> None:
    size = sum(value.numel() * value.element_size() for value in graph.state_dict().values())
    torch.onnx.export(
        graph.eval(),
        (given,),
        path,
        input_names=[takes],
        output_names=[gives],
        dynamic_shapes=(dynamic,),
        external_data=size > MOST_BYTES,
        dynamo=True,
        verbose=False,
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """The exporter's warnings concern those who write models; and PyTorch's fused inference path has no graph."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


def write_feeding(folder: Path, backbone: Backbone, exif: str = "ignore") -> None:
    """Write preprocess.json, how pictures and captions come to the graphs, and the tokenizer. Raises as that does."""
    pictures: dict[str, Any] = asdict(backbone.preprocess)
    record = {
        "image": {
            **pictures,
            "exif": exif,
            "normalised_inside": True,
            "input": "pixel_values float32 [N, 3, size, size], RGB, 0 to 1",
        },
        "text": {
            "context": backbone.context,
            "tokenizer": "tokenizer.json",
            "pad_id": pad_id(backbone),
            "input": "input_ids int64 [N, T], T at most context",
        },
        "embedding": {"width": backbone.architecture["embed_dim"], "unit": True, "scale": backbone.scale().item()},
    }
    write_json(folder / "preprocess.json", record)
    write_words(folder, backbone)
