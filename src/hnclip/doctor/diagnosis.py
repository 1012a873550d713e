"""The diagnosis whole: captions read and checked, measured, and judged."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

from hnclip.data.captions_of import Source
from hnclip.doctor import captions as reading
from hnclip.doctor import lengths as measuring
from hnclip.doctor.alike import BATCHES, Alike, measure
from hnclip.doctor.captions import Captions
from hnclip.doctor.lengths import Lengths
from hnclip.doctor.repeats import NEAR, Repeats, find_repeats, in_batches
from hnclip.doctor.sample import rows_of_images
from hnclip.doctor.start import Start, at_start
from hnclip.doctor.verdict import Verdict, judge
from hnclip.model_spec import backbone_entry
from hnclip.report.geometry import number_images

TOY = "tiny"
SAMPLE, IMAGES = 5000, 2048  # captions and images embedded at most, unless asked for otherwise
SCALE = 100.0  # what released CLIP models have learned; goes with the cosines of an encoder that has no scale
LEAST = 16  # images that a simulated batch needs


@dataclass(frozen=True)
class Asked:
    """What is to be diagnosed, and by which models.

    source: the captions, with their images or alone, and how they are read. split: the one to look at.
    model: the model to be trained (`hnclip.model_spec`).
    text_model: a sentence transformer's folder or package:NAME for the cosines of captions, in place of the model's
    text tower. sample: captions embedded at most, of whole images drawn by chance; 0 embeds all.
    """

    source: Source
    model: str = TOY
    text_model: str | None = None
    split: str | None = None
    sample: int = SAMPLE

    def __post_init__(self):
        if self.sample < 0 or 0 < self.sample < 2:
            raise ValueError(f"--sample is a number of captions, 2 or more, or 0 for all; got {self.sample}")


@dataclass(frozen=True)
class Repeated:
    """Random batches of `batch` images: the mean number of others that repeat a caption, share of batches with any."""

    batch: int
    exact: float
    batches_exact: float
    near: float
    batches_near: float


@dataclass(frozen=True)
class Diagnosis:
    """All that was found; `alike` is None where one image has all captions, `start` without images or with few."""

    asked: Asked
    captions: Captions
    lengths: Lengths
    repeats: Repeats
    repeated: list[Repeated]
    alike: Alike | None
    start: Start | None
    verdict: Verdict

    @property
    def faulty(self) -> bool:
        return bool(self.captions.problems.kinds())


def diagnose(
    asked: Asked, unpack_to: Path, told: Callable[[str, int, int], None] = lambda what, done, of: None
) -> Diagnosis:
    """Everything in its order; what needs no model comes first, so that a fault of the data is found early.

    `unpack_to`: a folder for the images within the data's own files that a page shows; it must last until then.
    Faults of rows and images are kept in the diagnosis. Raises ValueError or OSError where nothing can be read at all
    or a model cannot be had.
    """
    entry = backbone_entry(asked.model)
    if "tokenizer" not in entry:
        raise ValueError(f"{asked.model} maps embeddings and reads no captions; name the model they came from")
    captions = reading.read(asked.source, unpack_to, asked.split)
    told("looking for duplicates", 0, 1)
    repeats = find_repeats(captions.ids_N, captions.captions_N)
    told("looking for duplicates", 1, 1)
    lengths = _lengths(captions, entry, told)
    alike, start = _embedded(asked, captions, lengths, told)
    verdict = judge(captions.images, lengths, repeats, alike, start)
    return Diagnosis(asked, captions, lengths, repeats, _repeated(captions, repeats), alike, start, verdict)


def _lengths(captions: Captions, entry: dict[str, Any], told) -> Lengths:
    from hnclip.doctor import towers

    rows = numpy.arange(len(captions.rows))
    if len(rows) > measuring.MOST:
        rows = numpy.sort(numpy.random.default_rng(0).choice(rows, measuring.MOST, replace=False))
    chosen = [captions.rows[row].caption for row in rows]
    tokens_M, special = towers.token_lengths(chosen, entry, told)
    words_N = measuring.words(captions.captions_N)
    return Lengths(words_N, tokens_M, special, entry["tokenizer"], entry["context"])


def _embedded(asked: Asked, captions: Captions, lengths: Lengths, told) -> tuple[Alike | None, Start | None]:
    """Cosines of captions by one encoder, and batches at the start by the model."""
    if captions.images < 2:
        return None, None
    from hnclip.doctor import towers

    rows_M = rows_of_images(captions.ids_N, asked.sample or None)
    sampled = [captions.rows[row] for row in rows_M]
    readable = [place for place, row in enumerate(sampled) if row.path in captions.facts]
    encoder = towers.Encoder(asked.model) if readable or not asked.text_model else None
    texts = [row.caption for row in sampled]
    if asked.text_model:
        text_MD, cut = towers.sentence_texts(asked.text_model, texts, told)
        about = {"encoder": asked.text_model, "scale": SCALE, "own_scale": False, "trained": False, "toy": False}
    else:
        text_MD, cut = towers.clip_texts(encoder, texts, told), lengths.cut(lengths.context).captions
        toy = asked.model == TOY
        about = {"encoder": asked.model, "scale": encoder.scale, "own_scale": True, "trained": not toy, "toy": toy}
    ids_M = [row.id for row in sampled]
    geometry, batches = measure(ids_M, text_MD)
    alike = Alike(**about, cut=cut, rows_M=rows_M, ids_M=ids_M, text_MD=text_MD, geometry=geometry, batches=batches)
    own_MD = None if asked.text_model else text_MD
    return alike, _start(asked, encoder, captions.held, sampled, readable, own_MD, told)


def _start(asked: Asked, encoder, held, sampled: list, readable: list[int], text_MD, told) -> Start | None:
    """Simulated batches of the sample's readable images; `text_MD` are the model's captions, None if not made."""
    if len({sampled[place].id for place in readable}) < LEAST:
        return None
    from hnclip.doctor import towers

    drawn = rows_of_images([sampled[place].id for place in readable], None, IMAGES if asked.sample else None)
    places = [readable[row] for row in drawn]
    rows = [sampled[place] for place in places]
    if text_MD is None:
        text_CD = towers.clip_texts(encoder, [row.caption for row in rows], told)
    else:
        text_CD = text_MD[places]
    path_of = {row.id: row.path for row in rows}
    image_ID = towers.clip_images(encoder, list(path_of.values()), held, told)
    ids_C = numpy.array([row.id for row in rows])
    number = {name: nth for nth, name in enumerate(path_of)}
    image_CD = image_ID[[number[row.id] for row in rows]]
    return at_start(asked.model, asked.model == TOY, encoder.scale, ids_C, image_CD, text_CD)


def _repeated(captions: Captions, repeats: Repeats) -> list[Repeated]:
    image_N = number_images(captions.ids_N)
    sizes = [size for size in BATCHES if size <= captions.images]
    return [
        Repeated(size, *in_batches(image_N, repeats.exact_N, size), *in_batches(image_N, repeats.near_N, size))
        for size in sizes
    ]


def record(found: Diagnosis) -> dict[str, Any]:
    """The diagnosis as one JSON document."""
    asked, captions, repeats = found.asked, found.captions, found.repeats

    def clusters(rows_of: list[list[int]]) -> list[list[str]]:
        return [[captions.rows[row].id for row in rows] for rows in rows_of]

    return {
        "captions_file": asked.source.captions,
        "images_folder": asked.source.images,
        "split": asked.split,
        "model": asked.model,
        "text_model": asked.text_model,
        "verdict": found.verdict.record,
        "data": reading.record(captions),
        "lengths": found.lengths.record,
        "cosines": found.alike.record if found.alike else None,
        "duplicates": {
            "captions_exact": repeats.rows(repeats.exact),
            "captions_letter_for_letter": repeats.literal,
            "captions_near": repeats.rows(repeats.near),
            "near_jaccard_from": NEAR,
            "clusters_exact": clusters(repeats.exact),
            "clusters_near": clusters(repeats.near),
            "random_batches": [vars(one) for one in found.repeated],
        },
        "start": found.start.record if found.start else None,
    }
