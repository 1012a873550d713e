"""One split as the trainer and the evaluator read it: manifest, pixels and tokens, opened once."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch

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

    @property
    def image_ids(self) -> list[str]:
        return list(self.frame["id"].iloc[self.caption_start[:-1]])

    def image_batch(self, images: np.ndarray) -> torch.Tensor:
        """Pixels of these images, uint8 [N, size, size, 3]."""
        return torch.from_numpy(np.ascontiguousarray(self.pixels[images]))

    def pair_batch(self, images: np.ndarray, captions: np.ndarray) -> dict[str, torch.Tensor]:
        """The tensors of a training batch: images with one caption each."""
        ids_NT, length_N = self.tokens.batch(captions)
        return {"image": self.image_batch(images), "text": ids_NT, "text_length": length_N}


def open_split(record: dict[str, str]) -> Split:
    """The split that a cell's record names; files that do not belong together are refused."""
    frame = read_manifest(Path(record["manifest"]))
    pixels = open_pixels(Path(record["pixels"]))
    tokens = read_tokens(Path(record["tokens"]))
    first = images(frame).index.to_numpy()
    if len(pixels) != len(first) or len(tokens) != len(frame):
        raise ValueError(
            f"{record['name']}: {len(first)} images and {len(frame)} captions in the manifest, but {len(pixels)} in "
            f"{record['pixels']} and {len(tokens)} in {record['tokens']}; delete these two and run again"
        )
    return Split(record["name"], frame, pixels, tokens, np.append(first, len(frame)).astype(np.int64))
