"""How much plain InfoNCE has left to learn before training: shares of random batches that it counts as solved."""

from dataclasses import dataclass, replace
from typing import Any

import numpy

from hnclip.doctor.alike import BATCHES
from hnclip.report.model_embeddings import Embedded
from hnclip.report.solved import Point, curve

SOFTER = (33.0, 17.0, 10.0)  # fixed scales beside the model's own


@dataclass(frozen=True)
class Start:
    """Points of `hnclip.report.solved` by scale, the model's own first; images drawn, and the model's name."""

    model: str
    toy: bool
    images: int
    by_scale: dict[float, list[Point]]

    @property
    def own(self) -> list[Point]:
        return next(iter(self.by_scale.values()))

    @property
    def record(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "toy": self.toy,
            "images": self.images,
            "solved": [
                {"scale": scale, **point._asdict()} for scale, points in self.by_scale.items() for point in points
            ],
        }


def at_start(
    model: str, toy: bool, scale: float, ids_C: numpy.ndarray, image_CD: numpy.ndarray, text_CD: numpy.ndarray
) -> Start:
    """Batches of each size that there are enough images for, at the model's scale and at softer ones.

    Rows are captions with their image's embedding, those of one image adjacent.
    """
    found = Embedded(None, None, "", scale, ids_C, image_CD, text_CD)  # type: ignore[arg-type]  # no method of a study
    scales = [scale, *(softer for softer in SOFTER if softer < scale - 1)]
    by_scale = {one: curve(replace(found, scale=one), contrasts=BATCHES) for one in scales}
    return Start(model, toy, len(found.caption_start) - 1, by_scale)
