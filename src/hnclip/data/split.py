"""One split as the trainer and the evaluator read it: manifest, pixels and tokens, opened once."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from hnclip.data.inputs import Input, open_inputs
from hnclip.data.manifest import images, read_manifest
from hnclip.data.pixels import open_pixels
from hnclip.data.text_vectors import TextVectors
from hnclip.data.tokens import Tokens, read_tokens
from hnclip.data.vectors import read_vectors


@dataclass(frozen=True)
class Split:
    """Captions (rows of `frame`) and images (`pixels`) of a split; captions of one image are adjacent.

    Of a split of cached embeddings `pixels` are those of the images, float32 [I, D], `tokens` those of the captions,
    and `scale` is the inverse temperature of the model that made them.
    """

    name: str
    frame: pd.DataFrame
    pixels: np.ndarray
    tokens: Tokens | TextVectors
    caption_start: np.ndarray  # int64 [images + 1]: each image's first caption
    inputs: list[Input] = field(default_factory=list)  # what a framework trains on beside images and captions
    scale: float | None = None

    @property
    def image_ids(self) -> list[str]:
        return list(self.frame["id"].iloc[self.caption_start[:-1]])

    @cached_property
    def relevant(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The image and the caption, [P] each, of every relevant pair, in order of image and caption.

        An image's own captions are relevant to it, and so are all captions of the very same words: no model can tell
        them apart.
        """
        words = pd.factorize(self.frame["caption"])[0]
        image = np.repeat(np.arange(len(self.caption_start) - 1), np.diff(self.caption_start))
        said = pd.DataFrame({"image": image, "words": words}).drop_duplicates()
        pairs = said.merge(pd.DataFrame({"words": words, "caption": np.arange(len(words))}), on="words")
        pairs = pairs.sort_values(["image", "caption"])
        return torch.tensor(pairs["image"].to_numpy()), torch.tensor(pairs["caption"].to_numpy())

    def image_batch(self, images: np.ndarray) -> torch.Tensor:
        """Pixels of these images, uint8 [N, size, size, 3], or their cached embeddings, float32 [N, D]."""
        return torch.from_numpy(np.ascontiguousarray(self.pixels[images]))

    def pair_batch(self, images: np.ndarray, captions: np.ndarray) -> dict[str, torch.Tensor]:
        """The tensors of a training batch: images with one caption each."""
        ids_NT, length_N = self.tokens.batch(captions)
        if self.scale is not None:
            return {"image_vector": self.image_batch(images), "text_vector": ids_NT}
        batch = {"image": self.image_batch(images), "text": ids_NT, "text_length": length_N}
        for further in self.inputs:
            batch |= further.batch(images, captions)
        return batch


def open_split(record: dict[str, str], framework: dict[str, Any] | None = None, transform: Any = None) -> Split:
    """The split that a cell's record names, with pixels and tokens, or without these by cached embeddings.

    Files that do not belong together are refused. With the entry of a framework and the backbone's transform, the
    further inputs that the framework trains on.
    """
    frame = read_manifest(Path(record["manifest"]))
    if "pixels" not in record:
        return _cached(record, frame)
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


def _cached(record: dict[str, str], frame: pd.DataFrame) -> Split:
    """The split by cached embeddings alone."""
    vectors = read_vectors(Path(record["embeddings"]))
    if vectors.ids != list(frame["id"]):
        raise ValueError(
            f"{record['name']}: {record['embeddings']} does not list the captions of {record['manifest']}; "
            "delete it and run again"
        )
    first = images(frame).index.to_numpy()
    text = TextVectors(vectors.text_CD, vectors.truncated)
    start = np.append(first, len(frame)).astype(np.int64)
    return Split(record["name"], frame, vectors.image_CD[first], text, start, [], vectors.scale)
