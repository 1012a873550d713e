"""Each region of an image gets the sentence that a backbone finds most like it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from hnclip.data.derive.region import Region
from hnclip.data.tokens import tokenize
from hnclip.encode import device, encode_texts
from hnclip.models.load import backbone_from

BATCH = 128


class Embedder:
    """The frozen towers of a backbone record, for crops and sentences; both come back as unit rows [N, D]."""

    def __init__(self, record: dict[str, Any]):
        self._backbone = backbone_from(record).eval().to(device())
        self._tokenizer, self._context = record.get("tokenizer", "clip"), record["context"]

    @torch.no_grad()
    def crops(self, pixels: Sequence[np.ndarray]) -> np.ndarray:
        """Embeddings of pictures uint8 [size, size, 3], in batches."""
        starts = range(0, len(pixels), BATCH)
        batches = (torch.from_numpy(np.stack(pixels[start : start + BATCH])).to(device()) for start in starts)
        parts = [self._backbone.image(batch_NHWC, states=0)[0].cpu() for batch_NHWC in batches]
        return torch.cat(parts).numpy()

    def sentences(self, sentences: list[str]) -> np.ndarray:
        """Embeddings of sentences, in batches of like length."""
        return encode_texts(self._backbone, tokenize(sentences, self._tokenizer, self._context), BATCH).numpy()


def match(
    regions: list[Region], crop_RD: np.ndarray, sentence_SD: dict[int, np.ndarray]
) -> list[tuple[int, Region, int, float]]:
    """(caption, region, number of its sentence, cosine) for every region and every caption of its image.

    `sentence_SD` has the embedded sentences of each caption, by its row in the manifest. A region gets the sentence
    of the best cosine, the first where several are equal; one that belongs to a sentence keeps it.
    """
    matched = []
    for caption, text_SD in sentence_SD.items():
        cosine_RS = crop_RD @ text_SD.T
        for region, cosine_S in zip(regions, cosine_RS, strict=True):
            if region.sentence is None:
                number = int(cosine_S.argmax())
            elif region.sentence[0] == caption:
                number = region.sentence[1]
            else:
                continue
            matched.append((caption, region, number, float(cosine_S[number])))
    return matched
