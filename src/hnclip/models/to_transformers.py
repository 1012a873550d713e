"""A backbone as transformers' CLIPModel, and the files that its CLIPProcessor reads.

transformers is imported where it is used: it costs seconds, and nothing else needs it.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from hnclip.architecture import openai_layout
from hnclip.data.tokens import tokenizer
from hnclip.models.backbone import Backbone, Preprocess
from hnclip.models.state_file import State, load_strictly
from hnclip.store import write_json, write_text

if TYPE_CHECKING:
    from transformers import CLIPModel

ACTIVATIONS = {
    "QuickGELU()": "quick_gelu",
    "GELU(approximate='none')": "gelu",
    "GELU(approximate='tanh')": "gelu_pytorch_tanh",
}
SPECIAL = {"<start_of_text>": "<|startoftext|>", "<end_of_text>": "<|endoftext|>"}
RESAMPLE = {"bilinear": 2, "bicubic": 3}  # Pillow's numbers
OUTER = {
    "visual.class_embedding": "vision_model.embeddings.class_embedding",
    "visual.conv1.weight": "vision_model.embeddings.patch_embedding.weight",
    "visual.positional_embedding": "vision_model.embeddings.position_embedding.weight",
    "visual.ln_pre.weight": "vision_model.pre_layrnorm.weight",
    "visual.ln_pre.bias": "vision_model.pre_layrnorm.bias",
    "visual.ln_post.weight": "vision_model.post_layernorm.weight",
    "visual.ln_post.bias": "vision_model.post_layernorm.bias",
    "token_embedding.weight": "text_model.embeddings.token_embedding.weight",
    "positional_embedding": "text_model.embeddings.position_embedding.weight",
    "ln_final.weight": "text_model.final_layer_norm.weight",
    "ln_final.bias": "text_model.final_layer_norm.bias",
    "logit_scale": "logit_scale",
}
PROJECTIONS = {"visual.proj": "visual_projection.weight", "text_projection": "text_projection.weight"}  # transposed
TOWERS = {
    "visual.transformer.resblocks.": "vision_model.encoder.layers.",
    "transformer.resblocks.": "text_model.encoder.layers.",
}
BLOCK = {
    "ln_1": "layer_norm1",
    "ln_2": "layer_norm2",
    "attn.out_proj": "self_attn.out_proj",
    "mlp.c_fc": "mlp.fc1",
    "mlp.c_proj": "mlp.fc2",
}


def clip_model(backbone: Backbone) -> "CLIPModel":
    """transformers' CLIPModel with the same embeddings, on the CPU in fp32.

    Raises ValueError naming what transformers' CLIP has no place for.
    """
    from transformers import CLIPConfig, CLIPModel

    if not openai_layout(backbone.architecture):
        raise ValueError(
            "transformers' CLIPModel has OpenAI's two towers, and this backbone has others: take open_clip or onnx"
        )
    state = _renamed(backbone.weights())
    model = CLIPModel(CLIPConfig(**_config(backbone)))
    load_strictly(model, state, "transformers' CLIP does not fit this backbone")
    return model.eval()


def write_clip_model(folder: Path, backbone: Backbone) -> None:
    """Write config.json and model.safetensors, which `CLIPModel.from_pretrained` reads."""
    from transformers.utils import logging

    logging.disable_progress_bar()
    clip_model(backbone).save_pretrained(folder)


def write_processor(folder: Path, preprocess: Preprocess, context: int) -> None:
    """Write the tokenizer and the image preprocessing, which `CLIPProcessor.from_pretrained` reads."""
    words = tokenizer("clip", context)
    vocabulary = {SPECIAL.get(token, token): number for token, number in words.encoder.items()}
    start, end = SPECIAL.values()
    write_json(folder / "vocab.json", vocabulary)
    merges = [" ".join(pair) for pair in words.bpe_ranks]
    write_text(folder / "merges.txt", "\n".join(["#version: 0.2", *merges, ""]))
    write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "CLIPTokenizer",
            "model_max_length": context,
            "bos_token": start,
            "eos_token": end,
            "pad_token": end,
            "unk_token": end,
        },
    )
    write_json(folder / "preprocessor_config.json", _image_processing(preprocess))


def _image_processing(preprocess: Preprocess) -> dict[str, Any]:
    square = {"height": preprocess.size, "width": preprocess.size}
    shortest = preprocess.resize == "shortest"
    return {
        "image_processor_type": "CLIPImageProcessor",
        "do_convert_rgb": True,
        "do_resize": True,
        "size": {"shortest_edge": preprocess.size} if shortest else square,
        "resample": RESAMPLE[preprocess.interpolation],
        "do_center_crop": shortest,
        "crop_size": square,
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "image_mean": list(preprocess.mean),
        "image_std": list(preprocess.std),
    }


def _config(backbone: Backbone) -> dict[str, Any]:
    """What CLIPConfig takes: sizes, heads, activation and epsilon of the towers, and the token texts end with."""
    clip, visual = backbone.clip, backbone.clip.visual
    vocabulary = clip.token_embedding.num_embeddings
    end = vocabulary - 1 if clip.text_pool_type == "argmax" else clip.text_eos_id
    width = clip.text_projection.shape[1]
    return {
        "projection_dim": width,
        "text_config": {
            **_tower(clip.transformer, clip.ln_final, "text"),
            "projection_dim": width,
            "vocab_size": vocabulary,
            "max_position_embeddings": backbone.context,
            "bos_token_id": end - 1,
            "eos_token_id": end,
            "pad_token_id": end,
        },
        "vision_config": {
            **_tower(visual.transformer, visual.ln_post, "image"),
            "projection_dim": width,
            "image_size": backbone.preprocess.size,
            "patch_size": backbone.patch_size,
        },
    }


def _tower(transformer: nn.Module, last: nn.LayerNorm, tower: str) -> dict[str, Any]:
    """The part of a tower's configuration that both have; one activation and one epsilon are all transformers knows."""
    block = transformer.resblocks[0]
    norms = [module for module in (*transformer.modules(), last) if isinstance(module, nn.LayerNorm)]
    epsilons = {norm.eps for norm in norms}
    activation = ACTIVATIONS.get(repr(block.mlp.gelu))
    faults = [f"norms of different epsilon {sorted(epsilons)}"] if len(epsilons) > 1 else []
    faults += [f"activation {block.mlp.gelu}"] if activation is None else []
    if faults:
        raise ValueError(f"transformers' CLIP has no place for the {tower} tower's {' and '.join(faults)}")
    return {
        "hidden_size": block.mlp.c_fc.in_features,
        "intermediate_size": block.mlp.c_fc.out_features,
        "num_hidden_layers": len(transformer.resblocks),
        "num_attention_heads": block.attn.num_heads,
        "hidden_act": activation,
        "layer_norm_eps": last.eps,
    }


def _renamed(state: State) -> State:
    """open_clip's weights under transformers' names."""
    found, unknown = {}, []
    for name, value in state.items():
        value = value.detach().float().cpu()
        tower = next((prefix for prefix in TOWERS if name.startswith(prefix)), None)
        if name in OUTER:
            found[OUTER[name]] = value
        elif name in PROJECTIONS:
            found[PROJECTIONS[name]] = value.T.contiguous()
        elif tower and (named := _block(name.removeprefix(tower), value)):
            found |= {TOWERS[tower] + inner: part for inner, part in named.items()}
        else:
            unknown.append(name)
    if unknown:
        raise ValueError(f"transformers' CLIP has no place for {', '.join(unknown)}; export this cell as open_clip")
    return found


def _block(name: str, value: torch.Tensor) -> State:
    """One tensor of a block, `NUMBER.PART.KIND`; query, key and value are three tensors there."""
    number, part = name.split(".", 1)
    if part.startswith("attn.in_proj_"):
        kind = part.removeprefix("attn.in_proj_")
        return {
            f"{number}.self_attn.{letter}_proj.{kind}": piece.contiguous()
            for letter, piece in zip("qkv", value.chunk(3), strict=True)
        }
    module, kind = part.rsplit(".", 1)
    return {f"{number}.{BLOCK[module]}.{kind}": value} if module in BLOCK else {}
