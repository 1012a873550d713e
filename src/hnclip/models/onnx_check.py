"""Exported ONNX graphs against the backbone that they were made from: the same inputs, by onnxruntime and by torch."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from hnclip.data.tokens import tokenize
from hnclip.models.backbone import Backbone
from hnclip.models.onnx_words import pad_id

TOLERANCE = 1e-4  # of a number of a unit row
BATCHES = (1, 2, 5)
SENTENCE = "a small red box stands beside two large blue boxes on a wooden table in front of an open window, and "


def check_graphs(folder: Path, backbone: Backbone) -> dict[str, Any]:
    """The largest difference of an embedding's number, over several batch sizes and caption lengths.

    Raises ValueError where it is above 1e-4, or not a number.
    """
    import onnxruntime

    found = {"image": _images(_session(folder / "image.onnx"), backbone)}
    found["text"] = _texts(_session(folder / "text.onnx"), backbone)
    largest = {tower: max(row["difference"] for row in rows) for tower, rows in found.items()}
    record = {
        "largest_difference": largest,
        "tolerance": TOLERANCE,
        **found,
        "onnxruntime": onnxruntime.__version__,
        "torch": torch.__version__,
    }
    for tower, difference in largest.items():
        if not difference <= TOLERANCE:
            raise ValueError(
                f"{tower}.onnx gives other embeddings than torch: they differ by {difference:.2g} where at most "
                f"{TOLERANCE} is rounding; nothing was written. Take --to open_clip, and tell the maintainers"
            )
    return record


def _session(path: Path) -> Any:
    import onnxruntime

    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def _images(session: Any, backbone: Backbone) -> list[dict[str, Any]]:
    random, size, rows = torch.Generator().manual_seed(0), backbone.preprocess.size, []
    for count in BATCHES:
        pixels_NHWC = torch.randint(0, 256, (count, size, size, 3), dtype=torch.uint8, generator=random)
        given = pixels_NHWC.permute(0, 3, 1, 2).float().div(255).numpy()
        with torch.no_grad():
            wanted_ND = backbone.image(pixels_NHWC, states=0)[0].numpy()
        found_ND = session.run(["image_embeds"], {"pixel_values": given})[0]
        rows.append({"batch": count, "difference": _difference(found_ND, wanted_ND)})
    return rows


def _texts(session: Any, backbone: Backbone) -> list[dict[str, Any]]:
    """Captions of few words up to more than the context, by themselves, together, and filled up to the context."""
    context, rows, filling = backbone.context, [], pad_id(backbone)
    many = [SENTENCE * times + end for times, end in ((0, "box"), (1, "a dog"), (2, "a cat"), (context // 10, ""))]
    tokens = tokenize([many[0], many[1], many[3], many[2], many[1] + "no"], backbone.tokenizer, context)
    for captions in ([0], [1], [2], [1, 3], [0, 1, 2, 3, 4]):
        ids_NT, length_N = tokens.batch(np.array(captions))
        with torch.no_grad():
            wanted_ND = backbone.text(ids_NT, length_N, states=0)[0].numpy()
        inside_NT = torch.arange(ids_NT.shape[1]) < length_N[:, None]
        ids_NT = torch.where(inside_NT, ids_NT, filling)
        for width in sorted({ids_NT.shape[1], context if context < 2**14 else ids_NT.shape[1]}):
            given = torch.nn.functional.pad(ids_NT, (0, width - ids_NT.shape[1]), value=filling).numpy()
            found_ND = session.run(["text_embeds"], {"input_ids": given})[0]
            difference = _difference(found_ND, wanted_ND)
            rows.append({"batch": len(captions), "tokens": width, "difference": difference})
    return rows


def _difference(found_ND: np.ndarray, wanted_ND: np.ndarray) -> float:
    if found_ND.shape != wanted_ND.shape:
        raise ValueError(f"the ONNX graph gives embeddings {found_ND.shape} where torch gives {wanted_ND.shape}")
    return float(np.abs(found_ND - wanted_ND).max())
