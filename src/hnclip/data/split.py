"""One split as the trainer and the evaluator read it: manifest, pixels and tokens, opened once."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from hnclip.data.inputs import Input, open_inputs
from hnclip.data.manifest import images, read_manifest
from hnclip.data.pixels import open_pixels
from hnclip.data.tokens import Tokens, read_tokens


@dataclass(frozen=True)
class Split:
    """Captions (rows of `frame`) and images (`pixels`) of a split; captions of one image are adjacent."""

    name: str
    frame: pd.DataFrame
    pixels: np.ndarray
    tokens: Tokens
    caption_start: np.ndarray  # int64 [images + 1]: each image's first caption
    inputs: list[Input] = field(default_factory=list)  # what a framework trains on beside images and captions

    @property
    def image_ids(self) -> list[str]:
        return list(self.frame["id"].iloc[self.caption_start[:-1]])

    def image_batch(self, images: np.ndarray) -> torch.Tensor:
        """Pixels of these images, uint8 [N, size, size, 3]."""
        return torch.from_numpy(np.ascontiguousarray(self.pixels[images]))

    def pair_batch(self, images: np.ndarray, captions: np.ndarray) -> dict[str, torch.Tensor]:
        """The tensors of a training batch: images with one caption each."""
        ids_NT, length_N = self.tokens.batch(captions)
        batch = {"image": self.image_batch(images), "text": ids_NT, "text_length": length_N}
        for further in self.inputs:
            batch |= further.batch(images, captions)
        return batch


def open_split(record: dict[str, str], framework: dict[str, Any] | None = None, transform: Any = None) -> Split:
    """The split that a cell's record names; files that do not belong together are refused.

    With the entry of a framework and the backbone's transform, the further inputs that the framework trains on.
    """
    frame = read_manifest(Path(record["manifest"]))
    pixels = open_pixels(Path(record["pixels"]))
    tokens = read_tokens(Path(record["tokens"]))
    first = images(frame).index.to_numpy()
    if len(pixels) != len(first) or len(tokens) != len(frame):
        raise ValueError(
            f"{record['name']}: {len(first)} images and {len(frame)} captions in the manifest, but {len(pixels)} in "
            f"{record['pixels']} and {len(tokens)} in {record['tokens']}; delete these two and run again"
        )
    inputs = open_inputs(record, framework or {}, transform, frame)
    return Split(record["name"], frame, pixels, tokens, np.append(first, len(frame)).astype(np.int64), inputs)
