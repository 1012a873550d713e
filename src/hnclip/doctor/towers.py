"""What a diagnosis asks of models: lengths in tokens, embeddings of captions and images. It alone loads torch."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy

from hnclip.data.bounded import grouped
from hnclip.data.held import Held
from hnclip.data.tokens import tokenize
from hnclip.encode import device
from hnclip.encoder import Encoder
from hnclip.models.sentence_encoder import load_sentence_encoder
from hnclip.store import read_json
from hnclip.text_encoder import TextEncoder, encoder_folder

Told = Callable[[str, int, int], None]  # what is done, how much of it, of how much
BLOCK = 512
HELD = 64  # images of the data's own files that are in memory at once
WHOLE = 2**20  # a context that no caption fills


def token_lengths(captions: Sequence[str], entry: dict[str, Any], told: Told) -> tuple[numpy.ndarray, int]:
    """(tokens of each caption, nothing cut; how many of them are start and end) by the tokenizer of a backbone."""
    name = entry["tokenizer"]
    special = int(tokenize(["a"], name, WHOLE).lengths()[0]) - 1
    parts = [tokenize(block, name, WHOLE).lengths() for block in _blocks(captions, "counting tokens", told, block=2048)]
    return numpy.concatenate(parts), special


def clip_texts(encoder: Encoder, captions: Sequence[str], told: Told) -> numpy.ndarray:
    """Unit embeddings by a model's own text tower, [C, D]."""
    blocks = _blocks(captions, f"embedding captions ({encoder.name})", told)
    return numpy.concatenate([encoder.texts(block) for block in blocks])


def clip_images(encoder: Encoder, paths: Sequence[Path], held: Held | None, told: Told) -> numpy.ndarray:
    """Unit embeddings of images that can be read, [I, D]: of files, or of those that `held` reads in the data's own.

    A path that comes twice, as images of the same bytes in one data set have it, is embedded once.
    """
    place = {path: number for number, path in enumerate(dict.fromkeys(paths))}
    found_ID, done = numpy.empty((len(place), encoder.width), numpy.float32), 0
    for group, image_ID in _images(encoder, list(place), held):
        found_ID[[place[path] for path in group]] = image_ID
        done += len(group)
        told(f"embedding images ({encoder.name})", done, len(place))
    return found_ID[[place[path] for path in paths]]


def _images(encoder: Encoder, paths: list[Path], held: Held | None) -> Iterator[tuple[list[Path], numpy.ndarray]]:
    """Some of these different paths at a time with their embeddings, first those that are files."""
    inside = {path for path in paths if held and path in held.looks}
    for group in grouped((path for path in paths if path not in inside), BLOCK):
        yield group, encoder.files(group)
    for read in grouped(held.read(inside) if held else (), HELD):
        yield [path for path, _ in read], encoder.images((path.name, data) for path, data in read)


def sentence_texts(name: str, captions: Sequence[str], told: Told) -> tuple[numpy.ndarray, float]:
    """(unit embeddings by a sentence transformer, folder or `package:NAME`, [C, D]; share of captions cut, 0..1)."""
    folder = encoder_folder(name)
    positions = read_json(folder / "config.json").get("max_position_embeddings", TextEncoder.context)
    model = load_sentence_encoder(folder, min(TextEncoder.context, positions))
    model.model.to(device())
    parts, cut = [], 0
    for block in _blocks(captions, f"embedding captions ({name})", told):
        text_CD, over = model.encode(list(block), 32)
        parts.append(text_CD.numpy())
        cut += over
    return numpy.concatenate(parts), cut / len(captions)


def _blocks(items: Sequence, what: str, told: Told, block: int = BLOCK) -> Iterator[Sequence]:
    for start in range(0, len(items), block):
        told(what, start, len(items))
        yield items[start : start + block]
    told(what, len(items), len(items))
