"""Stamps: cut-out photographs and drawings, each with the English phrase that a person gave it."""

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from random import Random

import numpy as np
from PIL import Image

from hnclip.data.debian import read_files
from hnclip.data.sentences import split_sentences
from hnclip.store import sha256_of, write_json

PACKAGE = "tuxpaint-stamps-default"
FOLDER = "usr/share/tuxpaint/stamps"
LEFT_OUT = "symbols"  # letters, money, mathematics


@dataclass(frozen=True)
class Stamp:
    """name: its path in the package. phrase: the first sentence of its caption. picture: RGBA, without empty rims."""

    name: str
    phrase: str
    picture: Image.Image


def read_stamps(deb: Path, side: int) -> list[Stamp]:
    """All PNG stamps that have a caption, by name, shrunk to at most `side` pixels; of two equal files the first."""
    pictures: dict[PurePosixPath, Image.Image] = {}
    phrases: dict[PurePosixPath, str] = {}
    first: dict[str, PurePosixPath] = {}
    for path, data in read_files(deb, FOLDER):
        stem = path.with_suffix("")
        if path.parts[0] == LEFT_OUT:
            continue
        if path.suffix == ".png":
            pictures[stem] = _picture(data, f"{path} in {deb}", side)
            content = hashlib.sha256(data).hexdigest()
            first[content] = min(stem, first.get(content, stem))
        elif path.suffix == ".txt":
            phrases[stem] = _phrase(data)
    stamps = [Stamp(str(stem), phrases[stem], pictures[stem]) for stem in sorted(first.values()) if phrases.get(stem)]
    if not stamps:
        raise ValueError(f"{deb} has no stamps under {FOLDER}: is it the package {PACKAGE}?")
    return stamps


def _picture(data: bytes, name: str, side: int) -> Image.Image:
    try:
        with Image.open(io.BytesIO(data), formats=("PNG",)) as image:
            picture = image.convert("RGBA")
    except Exception as error:  # Pillow's decoders raise many kinds; each means an unreadable file
        raise ValueError(f"{name} cannot be read as an image ({error})") from error
    picture = picture.crop(picture.getchannel("A").getbbox())
    picture.thumbnail((side, side), Image.Resampling.LANCZOS)
    return picture


def _phrase(data: bytes) -> str:
    """The first sentence of the first line, which is English; empty where there is none."""
    line = data.decode("utf-8", "replace").lstrip("\ufeff").split("\n", 1)[0]
    sentences = split_sentences(line.strip())
    return sentences[0] if sentences else ""


def write_source(folder: Path, deb: Path, shares: dict[str, list[Stamp]]) -> None:
    """Write `source.json`: the package, its hash, and which of its stamps each split has."""
    stamps = {split: [stamp.name for stamp in own] for split, own in shares.items()}
    record = {"package": deb.name, "sha256": sha256_of(deb), "stamps": stamps}
    write_json(folder / "source.json", record)


def share_out(stamps: list[Stamp], shares: dict[str, int], seed: int) -> dict[str, list[Stamp]]:
    """The stamps of each split, by percent, whatever order the splits come in; one phrase's stamps stay together."""
    by_phrase: dict[str, list[Stamp]] = {}
    for stamp in stamps:
        by_phrase.setdefault(stamp.phrase.casefold(), []).append(stamp)
    phrases = sorted(by_phrase)
    Random(f"stamps:{seed}:shares").shuffle(phrases)
    shared, start, percent = {}, 0, 0
    for split, share in sorted(shares.items()):
        percent += share
        end = round(len(phrases) * percent / 100)
        shared[split] = [stamp for phrase in phrases[start:end] for stamp in by_phrase[phrase]]
        start = end
    return shared


def check_shares(shares: dict[str, int]) -> None:
    """Refuse shares of the stamps that are no percents of the whole."""
    if min(shares.values(), default=0) < 1 or sum(shares.values()) != 100:
        raise ValueError(f"shares: whole percents that add up to 100, got {shares}")


def fitted(picture: Image.Image, side: int) -> Image.Image:
    """The picture scaled so that its longer side is `side` pixels."""
    scale = side / max(picture.size)
    width, height = (max(1, round(length * scale)) for length in picture.size)
    return picture.resize((width, height), Image.Resampling.LANCZOS)


def ground(colour: tuple[int, int, int], texture: str, pixels: int, seed: str) -> np.ndarray:
    """A plain or textured ground, uint8 [pixels, pixels, 3]; the texture darkens or lightens the colour a little."""
    y, x = np.mgrid[:pixels, :pixels]
    period = max(4, pixels // 8)
    if texture == "striped":
        shade = np.where((x + y) // (period // 2) % 2, 12.0, -12.0)
    elif texture == "checked":
        shade = np.where((x // period + y // period) % 2, 12.0, -12.0)
    elif texture == "speckled":
        shade = np.random.default_rng(list(seed.encode())).normal(0, 14, (pixels, pixels))
    else:
        shade = np.zeros((pixels, pixels))
    return (np.float64(colour) + shade[..., None]).round().clip(0, 255).astype(np.uint8)
