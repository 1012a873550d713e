"""A scene of stamps in the quadrants of a picture, as pixels, as words and as near-twins."""

from dataclasses import dataclass, replace
from random import Random

import numpy as np
from PIL import Image

from hnclip.data.composed import Box
from hnclip.data.stamps import Stamp, fitted, ground

COLOURS = {
    "white": (250, 250, 248),
    "sand-coloured": (232, 218, 186),
    "pale blue": (198, 220, 240),
    "light green": (205, 230, 200),
    "rose": (244, 212, 214),
    "grey": (196, 198, 202),
}
TEXTURES = ("plain", "striped", "checked", "speckled")
PLACES = ("top left", "top right", "bottom left", "bottom right")
PLACE_WORDS = {
    "top left": ("in the top left corner", "at the upper left"),
    "top right": ("in the top right corner", "at the upper right"),
    "bottom left": ("in the bottom left corner", "at the lower left"),
    "bottom right": ("in the bottom right corner", "at the lower right"),
}
SIZES = {"large": 0.94, "small": 0.5}  # share of a quadrant's side
SIZE_WORDS = {
    "large": ("large", "big", "filling its quarter"),
    "small": ("small", "little", "with much room around it"),
}
NUMBERS = ("no", "one", "two", "three", "four")
SUMMARIES = (
    "{Number} pictures are arranged on a {texture} {colour} ground.",
    "This is a collage of {number} pictures on {texture} {colour} paper.",
    "One sees {number} pictures pasted on a {texture} background, {colour} in tone.",
)
THINGS = (  # around a phrase such as "a cow"
    "{Place} there is {phrase}, {size}.",
    "{Place} one sees {phrase}, shown {size}.",
    "{Phrase} has been placed {place}, {size}.",
    "The picture {place} is {size} and shows {phrase}.",
)
SAYINGS = (  # around a phrase such as "School ahead!"
    "{Place} there is a picture titled “{Phrase}”, {size}.",
    "The picture {place} is {size} and bears the title “{Phrase}”.",
)
_ARTICLES = ("a", "an", "the", "some", "our", "two", "three", "several")
_THING_WORDS = 5  # a longer phrase tends to be a whole sentence


@dataclass(frozen=True)
class Item:
    """One stamp: which of the split's, how large, in which quadrant."""

    stamp: int
    size: str
    place: str


@dataclass(frozen=True)
class StampScene:
    colour: str
    texture: str
    items: tuple[Item, ...]


def random_scene(random: Random, stamps: list[Stamp], objects: int) -> StampScene:
    """A scene of so many stamps, no two with the same phrase, each in a quadrant of its own."""
    places = random.sample(PLACES, objects)
    items: list[Item] = []
    for place in places:
        items.append(Item(_other_stamp(random, stamps, items), random.choice(list(SIZES)), place))
    return StampScene(random.choice(list(COLOURS)), random.choice(TEXTURES), tuple(items))


def near_twin(scene: StampScene, random: Random, stamps: list[Stamp]) -> StampScene:
    """The scene with one stamp replaced, one moved (or two exchanged), or one in the other size."""
    items = list(scene.items)
    index = random.randrange(len(items))
    change = random.choice(("stamp", "place", "size"))
    if change == "stamp":
        items[index] = replace(items[index], stamp=_other_stamp(random, stamps, items))
    elif change == "size":
        items[index] = replace(items[index], size="small" if items[index].size == "large" else "large")
    else:
        place = random.choice([place for place in PLACES if place != items[index].place])
        items = [replace(item, place=items[index].place) if item.place == place else item for item in items]
        items[index] = replace(items[index], place=place)
    return replace(scene, items=tuple(items))


def _other_stamp(random: Random, stamps: list[Stamp], items: list[Item]) -> int:
    """A stamp whose phrase is none of the items'."""
    taken = {stamps[item.stamp].phrase.casefold() for item in items}
    while True:
        number = random.randrange(len(stamps))
        if stamps[number].phrase.casefold() not in taken:
            return number


def compose(scene: StampScene, stamps: list[Stamp], pixels: int, seed: str) -> tuple[np.ndarray, list[Box]]:
    """The picture, uint8 [pixels, pixels, 3], and the box of each item in it."""
    canvas = Image.fromarray(ground(COLOURS[scene.colour], scene.texture, pixels, seed)).convert("RGBA")
    boxes = []
    for item in scene.items:
        picture = fitted(stamps[item.stamp].picture, round(pixels / 2 * SIZES[item.size]))
        row, column = divmod(PLACES.index(item.place), 2)
        left, top = (
            round(pixels / 4 * (1 + 2 * field) - length / 2)
            for field, length in zip((column, row), picture.size, strict=True)
        )
        canvas.alpha_composite(picture, (left, top))
        boxes.append((left, top, left + picture.width, top + picture.height))
    return np.asarray(canvas.convert("RGB")), boxes


def stamp_sentences(scene: StampScene, stamps: list[Stamp], seed: str) -> list[str]:
    """A summary sentence, then one an item; the wording hangs on `seed` and the position alone."""
    number = NUMBERS[len(scene.items)]
    summary = Random(f"{seed}:summary").choice(SUMMARIES)
    first = summary.format(Number=number.capitalize(), number=number, texture=scene.texture, colour=scene.colour)
    return [first] + [_sentence(item, stamps, f"{seed}:{index}") for index, item in enumerate(scene.items)]


def _sentence(item: Item, stamps: list[Stamp], seed: str) -> str:
    phrase = stamps[item.stamp].phrase
    words = phrase.split()
    is_thing = words[0].casefold() in _ARTICLES and len(words) <= _THING_WORDS and phrase[-1] not in "!?"
    bare = phrase.rstrip(".") if is_thing else phrase.removesuffix(".")
    place = Random(f"{seed}:place").choice(PLACE_WORDS[item.place])
    return (
        Random(f"{seed}:template")
        .choice(THINGS if is_thing else SAYINGS)
        .format(
            phrase=bare[0].lower() + bare[1:],
            Phrase=bare[0].upper() + bare[1:],
            place=place,
            Place=place[0].upper() + place[1:],
            size=Random(f"{seed}:size").choice(SIZE_WORDS[item.size]),
        )
    )
