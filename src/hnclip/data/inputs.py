"""The further inputs of a framework as a training batch holds them, read from the files that were made once a split."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
import torch

from hnclip.data.chunks import Chunks
from hnclip.data.derive.boxes import boxes_in_input
from hnclip.data.derive.filtered import read_filtered
from hnclip.data.derive.segment_table import best, read_segments_of
from hnclip.data.derive.sentences import read_sentences
from hnclip.data.images import Transform
from hnclip.data.pixels import open_pixels
from hnclip.data.tokens import Tokens, read_tokens
from hnclip.inputs import wanted
from hnclip.options import from_dict

Batch = dict[str, torch.Tensor]


class Input(Protocol):
    """Tensors for the images and captions of a batch, given by their numbers in the split."""

    def batch(self, images: np.ndarray, captions: np.ndarray) -> Batch: ...


def open_inputs(record: dict[str, str], framework: dict[str, Any], transform: Any, frame: pd.DataFrame) -> list[Input]:
    """What a framework's entry asks for beside images and captions.

    `record` names the split's files and `frame` is its manifest. Raises ValueError where files do not belong together.
    """
    opened: list[Input] = []
    for name, value in wanted(framework).items():
        if name == "first_sentence":
            tokens = read_tokens(Path(record["first_sentence"]))
            _check(record["first_sentence"], len(tokens), len(frame), "captions")
            opened.append(FirstSentence(tokens))
        elif name == "crops":
            opened.append(_open_crops(record, from_dict(Transform, transform, "transform of the backbone"), frame))
        elif name == "edges":
            pixels = open_pixels(Path(record["edges"]))
            _check(record["edges"], len(pixels), frame["id"].nunique(), "images")
            opened.append(Edges(pixels))
        elif name == "embeddings":
            raise ValueError(f"{record['name']}: cached embeddings stand alone, beside no other input and no pixels")
        elif name == "edge_crops":
            regions = best(read_segments_of(Path(record["segments"]), frame), value)
            pixels = open_pixels(Path(record["edge_crops"]))
            _check(record["edge_crops"], len(pixels), len(regions), "regions")
            opened.append(EdgeCrops(pixels, _rows(regions["caption"].to_numpy(), len(frame), value)))
        else:
            tokens, chunks = read_filtered(Path(record["filtered"]))
            _check(record["filtered"], len(tokens), len(frame), "captions")
            opened.append(Lexicon(tokens, chunks))
    return opened


@dataclass(frozen=True)
class FirstSentence:
    tokens: Tokens

    def batch(self, images: np.ndarray, captions: np.ndarray) -> Batch:
        ids_NT, length_N = self.tokens.batch(captions)
        return {"short_text": ids_NT, "short_length": length_N}


@dataclass(frozen=True)
class Crops:
    """The best region of each caption that has one, with its sentence."""

    pixels: np.ndarray
    row: np.ndarray  # int64 [captions, 1]: the row of a caption's region, -1 where it has none
    box_R4: np.ndarray  # float32, in pixels of the input
    image_box_R4: np.ndarray  # float32, in pixels of the image
    tokens: Tokens
    span_R2: np.ndarray

    def batch(self, images: np.ndarray, captions: np.ndarray) -> Batch:
        rows = self.row[captions, 0]
        has = rows >= 0
        count, size = len(rows), self.pixels.shape[1]
        crop = np.zeros((count, size, size, 3), np.uint8)
        box, span = np.zeros((2, count, 4), np.float32), np.zeros((count, 2), np.int64)
        ids_NT, length_N = torch.zeros(count, 2, dtype=torch.long), torch.full((count,), 2)
        if has.any():
            crop[has], span[has] = self.pixels[rows[has]], self.span_R2[rows[has]]
            box[:, has] = self.box_R4[rows[has]], self.image_box_R4[rows[has]]
            given_MT, given_M = self.tokens.batch(rows[has])
            kept = torch.from_numpy(has)
            ids_NT = torch.zeros(count, given_MT.shape[1], dtype=torch.long)
            ids_NT[:, :2] = given_MT[0, [0, given_M[0] - 1]]  # start and end token, for rows without a region
            ids_NT[kept], length_N[kept] = given_MT, given_M
        return {
            "crop": torch.from_numpy(crop),
            "crop_box": torch.from_numpy(box[0]),
            "image_box": torch.from_numpy(box[1]),
            "crop_text": ids_NT,
            "crop_text_length": length_N,
            "has_crop": torch.from_numpy(has),
            "span": torch.from_numpy(span),
        }


@dataclass(frozen=True)
class Edges:
    """Edge maps; one without any edge is none."""

    pixels: np.ndarray

    def batch(self, images: np.ndarray, captions: np.ndarray) -> Batch:
        edge_NHW1 = torch.from_numpy(np.ascontiguousarray(self.pixels[images]))
        return {"edge": edge_NHW1, "has_edge": edge_NHW1.flatten(1).any(1).bool()}


@dataclass(frozen=True)
class EdgeCrops:
    """Crops of the edge maps along a caption's best regions; one without any edge is none."""

    pixels: np.ndarray
    rows: np.ndarray  # int64 [captions, K], -1 where a caption has fewer regions

    def batch(self, images: np.ndarray, captions: np.ndarray) -> Batch:
        rows_NK = self.rows[captions]
        has_NK = rows_NK >= 0
        size = self.pixels.shape[1]
        crops = np.zeros((*rows_NK.shape, size, size, 1), np.uint8)
        crops[has_NK] = self.pixels[rows_NK[has_NK]]
        has_NK &= crops.any((2, 3, 4))
        return {"edge_crops": torch.from_numpy(crops), "has_edge_crop": torch.from_numpy(has_NK)}


@dataclass(frozen=True)
class Lexicon:
    """Filtered captions and their text chunks."""

    tokens: Tokens
    chunks: Chunks

    def batch(self, images: np.ndarray, captions: np.ndarray) -> Batch:
        ids_NT, length_N = self.tokens.batch(captions)
        return {"filtered_text": ids_NT, "filtered_length": length_N, "chunks": self.chunks.batch(captions)}


def _open_crops(record: dict[str, str], transform: Transform, frame: pd.DataFrame) -> Crops:
    regions = best(read_segments_of(Path(record["segments"]), frame), 1)
    pixels = open_pixels(Path(record["crops"]))
    tokens, span_R2 = read_sentences(Path(record["sentences"]))
    _check(record["crops"], len(pixels), len(regions), "regions")
    _check(record["sentences"], len(tokens), len(regions), "regions")
    captions = regions["caption"].to_numpy()
    box = regions[["left", "top", "right", "bottom"]].to_numpy(np.float64)
    size = frame[["width", "height"]].to_numpy()[captions]
    mapped = boxes_in_input(box, size, transform).astype(np.float32)
    return Crops(pixels, _rows(captions, len(frame), 1), mapped, box.astype(np.float32), tokens, span_R2)


def _rows(captions: np.ndarray, count: int, width: int) -> np.ndarray:
    """For each caption the rows, at most `width`, of a table that lists captions in order; -1 where there are fewer."""
    start = np.searchsorted(captions, np.arange(count))
    end = np.searchsorted(captions, np.arange(count), side="right")
    rows = start[:, None] + np.arange(width)
    return np.where(rows < end[:, None], rows, -1)


def _check(path: str, found: int, expected: int, what: str) -> None:
    if found != expected:
        raise ValueError(f"{path} has {found} rows for {expected} {what}; delete it and run again")
