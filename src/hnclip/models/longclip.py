"""Released Long-CLIP weights (arXiv 2403.15378): two text position tables become one, the rest is open_clip's ViT."""

from pathlib import Path
from typing import Any

import torch

from hnclip.data.hub import had
from hnclip.models.backbone import Backbone, Preprocess
from hnclip.models.checkpoints import OPENAI_MEAN, OPENAI_STD, build
from hnclip.models.state_file import State, load_strictly, read_state, say_contents
from hnclip.models.stretch import FACTOR, KEPT, stretch_positions

CONTEXT = 248
HUB = "hub:"
SECOND = "positional_embedding_res"
HEAD_WIDTH = 64  # of every released model, in both towers; no tensor's shape tells it
NEEDED = ("positional_embedding", "token_embedding.weight", "text_projection", "visual.positional_embedding")


def load_longclip(weights: str) -> Backbone:
    """The backbone of a released file, in fp32 with 248 text positions.

    `weights` is a .pt or .safetensors file, or `hub:OWNER/REPO/FILE`. Raises FileNotFoundError, or ValueError for a
    file of another layout or with an untrained position table.
    """
    path = weights_file(weights)
    state = merge_positions(read_state(path), str(path))
    architecture = architecture_of(state, str(path))
    size = architecture["vision_cfg"]["image_size"]
    backbone = build(architecture, Preprocess(size, OPENAI_MEAN, OPENAI_STD))
    load_strictly(backbone.clip, state, f"{path} is no released Long-CLIP file")
    return backbone


def weights_file(weights: str) -> Path:
    """The local file; one on the hub is fetched once and then found in the hub's cache, without network."""
    if not weights.startswith(HUB):
        if not Path(weights).is_file():
            raise FileNotFoundError(
                f"no Long-CLIP weights at {weights}: set `weights` of the backbone to the released file, "
                f"or to {HUB}OWNER/REPO/FILE"
            )
        return Path(weights)
    owner, _, rest = weights.removeprefix(HUB).partition("/")
    repository, _, name = rest.partition("/")
    if not (owner and repository and name):
        raise ValueError(f"{weights!r} names no file on the hub; expected {HUB}OWNER/REPO/FILE")
    from huggingface_hub import hf_hub_download

    try:
        return had(weights, lambda: hf_hub_download(f"{owner}/{repository}", name))
    except OSError as error:
        raise FileNotFoundError(
            f"{weights} is not in the hub's cache and could not be fetched ({error}); "
            "fetch it where there is a network and set `weights` of the backbone to the file"
        ) from error


def merge_positions(state: Any, where: str = "these weights") -> State:
    """The state with one position table: rows 0 to 19 of the first, the others of the second, as its forward adds them.

    Raises ValueError, with `where` in the message, for what is no released layout, and for a table whose long tail
    is still the interpolation that training starts from.
    """
    _check_layout(state, where)
    table_LW = state["positional_embedding"]
    if SECOND not in state:
        why = "its long tail is the untrained interpolation" if untrained_tail(table_LW) else "the other is lacking"
        raise ValueError(
            f"{where} has one text position table of {len(table_LW)} rows where released Long-CLIP files have two "
            f"(the second is {SECOND!r}): {why}. Captions over {KEPT} tokens would go wrong; take the file as "
            f"released, or kind `open_clip` with context {CONTEXT} for a CLIP of 77 positions"
        )
    second_LW = state[SECOND]
    if table_LW.shape != second_LW.shape or len(table_LW) != CONTEXT:
        raise ValueError(
            f"{where}: text position tables of {list(table_LW.shape)} and {list(second_LW.shape)}; "
            f"released Long-CLIP files have two of {CONTEXT} rows"
        )
    merged_LW = torch.cat([table_LW[:KEPT], second_LW[KEPT:]])
    if untrained_tail(merged_LW):
        raise ValueError(
            f"{where}: text positions {KEPT} to {CONTEXT - 1} are the untrained interpolation of "
            f"{(CONTEXT - KEPT) // FACTOR} rows, so captions over {KEPT} tokens would go wrong. Take the file as "
            f"released; to start from stretched CLIP weights, use kind `open_clip` with context {CONTEXT}"
        )
    return {name: value for name, value in state.items() if name != SECOND} | {"positional_embedding": merged_LW}


def untrained_tail(table_LW: torch.Tensor) -> bool:
    """True where the rows after the kept ones are just what `stretch_positions` makes of every fourth of them."""
    if len(table_LW) != CONTEXT:
        return False
    short_LW = torch.cat([table_LW[:KEPT], table_LW[KEPT::FACTOR]]).float()
    error = (stretch_positions(short_LW) - table_LW.float())[KEPT:].abs().max()
    return bool(error <= 4 * torch.finfo(table_LW.dtype).eps * table_LW[KEPT:].abs().max())


def architecture_of(state: State, where: str = "these weights") -> dict[str, Any]:
    """open_clip's configuration of a merged state, from its shapes; all releases use QuickGELU."""
    text_width, width = (state[name].shape[-1] for name in ("positional_embedding", "visual.positional_embedding"))
    patch = state["visual.conv1.weight"].shape[-1]
    grid = round((len(state["visual.positional_embedding"]) - 1) ** 0.5)
    if text_width % HEAD_WIDTH or width % HEAD_WIDTH or grid**2 + 1 != len(state["visual.positional_embedding"]):
        raise ValueError(
            f"{where} is no released Long-CLIP file: widths {text_width} and {width} (heads are {HEAD_WIDTH} wide), "
            f"{len(state['visual.positional_embedding'])} image positions (a square and one)"
        )
    return {
        "embed_dim": state["text_projection"].shape[1],
        "quick_gelu": True,
        "vision_cfg": {
            "image_size": grid * patch,
            "layers": _layers(state, "visual.transformer.resblocks."),
            "width": width,
            "patch_size": patch,
        },
        "text_cfg": {
            "context_length": len(state["positional_embedding"]),
            "vocab_size": len(state["token_embedding.weight"]),
            "width": text_width,
            "heads": text_width // HEAD_WIDTH,
            "layers": _layers(state, "transformer.resblocks."),
        },
    }


def _layers(state: State, prefix: str) -> int:
    return len({name.removeprefix(prefix).split(".")[0] for name in state if name.startswith(prefix)})


def _check_layout(state: Any, where: str) -> None:
    """A bare dictionary of tensors under OpenAI CLIP's names; wrappers and prefixes are never in released files."""
    expected = (*NEEDED, "visual.conv1.weight")
    bare = isinstance(state, dict) and all(isinstance(value, torch.Tensor) for value in state.values())
    if not bare or any(name not in state for name in expected):
        raise ValueError(
            f"{where} is no released Long-CLIP file: expected tensors named {', '.join(expected)} and so on, "
            f"got {say_contents(state)}"
        )
