"""EfficientNet-Lite0 and a sentence encoder as one CLIP, without training: a backbone of real weights from packages.

The text tower is the encoder as it is (mean of its token states). The image tower's projection is made from the
class names: an image's embedding is the vector whose products with the names' embeddings come nearest to the
classifier's logits.
"""

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import nn

from hnclip.architecture import joined
from hnclip.joined_files import image_file
from hnclip.models.backbone import Preprocess
from hnclip.models.sentence_encoder import load_sentence_encoder
from hnclip.models.state_file import load_strictly, read_state
from hnclip.models.whole_towers import WholeTowers, build_whole
from hnclip.models.zero_shot_head import zero_shot_head
from hnclip.text_encoder import encoder_folder

MEAN = STD = (0.5, 0.5, 0.5)  # timm's of this model, which was trained so
NAME_CONTEXT = 64


def load_joined(entry: dict[str, Any]) -> WholeTowers:
    """The CLIP of the image model `image` and the sentence encoder `text` of a config's entry, in fp32.

    Raises ValueError where a file lacks or holds other weights.
    """
    size = entry["transform"]["size"]
    backbone = build_whole(joined(entry), Preprocess(size, MEAN, STD))
    folder = encoder_folder(entry["text"])
    weight_CF, bias_C = _fill_image(backbone.clip.visual.trunk, image_file(entry["image"]))
    _fill_text(backbone.clip.text.transformer, folder)
    names_CD = class_names(folder)
    weight_DF, bias_D = zero_shot_head(weight_CF, bias_C, names_CD)
    projection = backbone.clip.visual.head.proj
    with torch.no_grad():
        projection.weight.copy_(weight_DF)
        projection.bias.copy_(bias_D)
    return backbone


def class_names(folder: Path) -> torch.Tensor:
    """Unit embeddings of ImageNet's 1,000 class names, the first of each class's, by the sentence encoder, [C, D]."""
    from timm.data import ImageNetInfo

    info = ImageNetInfo()
    names = [info.index_to_description(number).split(",")[0] for number in range(info.num_classes())]
    return load_sentence_encoder(folder, NAME_CONTEXT).encode(names, 64)[0]


def _fill_image(trunk: nn.Module, path: Path) -> tuple[torch.Tensor, torch.Tensor]:
    """Fill the trunk with the file's weights, which have other names in the same order; the classifier's come back."""
    *values, weight_CF, bias_C = read_state(path).values()
    own = trunk.state_dict()
    differ = [name for name, value in zip(own, values, strict=False) if own[name].shape != value.shape]
    if len(values) != len(own) or differ:
        raise ValueError(
            f"{path} holds no weights of EfficientNet-Lite0 in their order: {len(values)} beside the classifier's, "
            f"{len(own)} expected; of another shape: {', '.join(differ[:5]) or 'none'}"
        )
    trunk.load_state_dict(dict(zip(own, values, strict=True)), strict=True)
    return weight_CF, bias_C


def _fill_text(transformer: nn.Module, folder: Path) -> None:
    """Fill the text tower with the encoder's weights; a pooler, which the mean of its states replaces, is left out."""
    own = transformer.state_dict()
    state = {}
    for path in sorted(folder.glob("*.safetensors")):
        state |= {name.removeprefix("bert."): value.float() for name, value in load_file(path).items()}
    state = {
        name: value
        for name, value in state.items()
        if name in own or not name.startswith(("pooler.", "embeddings.position_ids"))
    }
    load_strictly(transformer, state, f"the weights of {folder} do not fit their config.json")
