"""Diagnoses made without a model: captions with embeddings that are given."""

import numpy

from hnclip.doctor.alike import Alike, measure
from hnclip.doctor.lengths import Lengths


def unit(rows: numpy.ndarray) -> numpy.ndarray:
    return (rows / numpy.linalg.norm(rows, axis=1, keepdims=True)).astype(numpy.float32)


def lengths(words: int = 60, count: int = 200, context: int = 248) -> Lengths:
    return Lengths(numpy.full(count, words), numpy.full(count, words + 2), 2, "clip", context)


def alike(common: float = 1.0, own: float = 1.0, count: int = 200, **said) -> Alike:
    """Captions whose embeddings share one direction; the less of it, the further apart they are."""
    random = numpy.random.default_rng(0)
    text = random.normal(size=(count, 32))
    text /= numpy.linalg.norm(text, axis=1, keepdims=True)
    text_MD = unit(own * text + common * numpy.eye(32)[0])
    ids = [f"{row}.jpg" for row in range(count)]
    about = {"encoder": "given", "scale": 100.0, "own_scale": True, "trained": True, "toy": False, "cut": 0.0} | said
    geometry, batches = measure(ids, text_MD)
    return Alike(**about, rows_M=numpy.arange(count), ids_M=ids, text_MD=text_MD, geometry=geometry, batches=batches)
