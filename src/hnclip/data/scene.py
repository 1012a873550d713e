"""A drawn scene: objects with shape, colour, size and surface at named places, as pixels and as near-twins."""

from dataclasses import dataclass, replace
from functools import cache
from random import Random

import numpy as np
from PIL import Image, ImageDraw

SHAPES = ("circle", "square", "triangle", "diamond", "star", "ring", "cross", "heart")
COLOURS = {
    "red": (214, 39, 40),
    "orange": (255, 140, 20),
    "yellow": (245, 215, 40),
    "green": (40, 150, 60),
    "turquoise": (40, 190, 185),
    "blue": (35, 80, 200),
    "purple": (125, 50, 160),
    "pink": (250, 130, 190),
    "brown": (120, 72, 40),
    "black": (25, 25, 25),
}
SIZES = {"small": 0.5, "medium": 0.72, "large": 0.97}
SURFACES = ("plain", "striped", "dotted", "framed")
PLACES = (
    "top left", "top", "top right",
    "left", "centre", "right",
    "bottom left", "bottom", "bottom right",
)  # fmt: skip
GROUNDS = {"white": (250, 250, 250), "grey": (190, 190, 195), "beige": (235, 222, 190), "pale blue": (195, 220, 245)}
_OVERSAMPLE = 4


@dataclass(frozen=True)
class Thing:
    """One object of a scene; its place is one of the nine fields of the picture."""

    shape: str
    colour: str
    size: str
    surface: str
    place: str


@dataclass(frozen=True)
class Scene:
    ground: str
    things: tuple[Thing, ...]


def unseen(shape: str, colour: str) -> bool:
    """True for the fifth of shape-colour combinations that no training scene and no starter scene contains."""
    return (3 * SHAPES.index(shape) + list(COLOURS).index(colour)) % 5 == 0


def combinations(held_out: bool) -> list[tuple[str, str]]:
    """The (shape, colour) pairs of the ordinary scenes, or those held out for the `unseen` split."""
    return [(shape, colour) for shape in SHAPES for colour in COLOURS if unseen(shape, colour) == held_out]


def random_scene(random: Random, objects: int, held_out: bool = False) -> Scene:
    """A scene of so many objects, each at a place of its own, no two of the same shape and colour."""
    looks = random.sample(combinations(held_out), objects)
    places = random.sample(PLACES, objects)
    things = tuple(
        Thing(shape, colour, random.choice(list(SIZES)), random.choice(SURFACES), place)
        for (shape, colour), place in zip(looks, places, strict=True)
    )
    return Scene(random.choice(list(GROUNDS)), things)


def near_twin(scene: Scene, random: Random, edits: int, held_out: bool = False) -> Scene:
    """The scene with so many attributes changed, each of another object where there are enough."""
    things = list(scene.things)
    changed = random.sample(range(len(things)), min(edits, len(things)))
    for index in changed:
        attribute = random.choice(("shape", "colour", "size", "surface", "place"))
        things[index] = _edited(things, index, attribute, random, held_out)
    return replace(scene, things=tuple(things))


def _edited(things: list[Thing], index: int, attribute: str, random: Random, held_out: bool) -> Thing:
    thing = things[index]
    taken = {(other.shape, other.colour) for other in things}
    allowed = [look for look in combinations(held_out) if look not in taken]
    if attribute == "shape":
        options = [replace(thing, shape=shape) for shape, colour in allowed if colour == thing.colour]
    elif attribute == "colour":
        options = [replace(thing, colour=colour) for shape, colour in allowed if shape == thing.shape]
    elif attribute == "size":
        options = [replace(thing, size=size) for size in SIZES if size != thing.size]
    elif attribute == "surface":
        options = [replace(thing, surface=surface) for surface in SURFACES if surface != thing.surface]
    else:
        full = {other.place for other in things}
        options = [replace(thing, place=place) for place in PLACES if place not in full]
    if not options:  # every other look is taken: a size can always change
        return _edited(things, index, "size", random, held_out)
    return random.choice(options)


def box(thing: Thing, pixels: int) -> tuple[int, int, int, int]:
    """Left, top, right, bottom of the object in a square picture of so many pixels (end exclusive)."""
    field = pixels / 3
    side = round(field * SIZES[thing.size])
    row, column = divmod(PLACES.index(thing.place), 3)
    left = round(column * field + (field - side) / 2)
    top = round(row * field + (field - side) / 2)
    return left, top, left + side, top + side


def draw(scene: Scene, pixels: int) -> np.ndarray:
    """The picture of the scene, uint8 [pixels, pixels, 3]."""
    picture = np.empty((pixels, pixels, 3), np.float32)
    picture[:] = GROUNDS[scene.ground]
    for thing in scene.things:
        left, top, right, bottom = box(thing, pixels)
        alpha, light, dark = _stencil(thing.shape, thing.surface, right - left)
        paint = np.float32(COLOURS[thing.colour]) * (1 - light - dark) + 255 * light + 15 * dark
        field = picture[top:bottom, left:right]
        field += alpha * (paint - field)
    return picture.round().astype(np.uint8)


@cache
def _stencil(shape: str, surface: str, side: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cover, white share and dark share of each pixel of an object, anti-aliased, each [side, side, 1]."""
    big = side * _OVERSAMPLE
    cover = _outline(shape, big, 0.0)
    white = Image.new("L", (big, big))
    dark = Image.new("L", (big, big))
    if surface == "striped":
        for stripe in range(4):
            ImageDraw.Draw(white).rectangle((0, big * (2 * stripe + 1) // 8, big, big * (2 * stripe + 2) // 8 - 1), 255)
    elif surface == "dotted":
        for x in (1, 3, 5, 7):
            for y in (1, 3, 5, 7):
                centre, radius = (x * big / 8, y * big / 8), big / 14
                ImageDraw.Draw(dark).circle(centre, radius, 255)
    elif surface == "framed":
        inner = np.asarray(_outline(shape, big, 0.13))
        dark = Image.fromarray(np.asarray(cover) - np.minimum(np.asarray(cover), inner))
    return tuple(
        np.asarray(mask.resize((side, side), Image.Resampling.BOX), np.float32)[..., None] / 255
        for mask in (cover, white, dark)
    )


def _outline(shape: str, big: int, inset: float) -> Image.Image:
    """The filled shape in a square of `big` pixels, shrunk from its edge by the share `inset`."""
    mask = Image.new("L", (big, big))
    pen = ImageDraw.Draw(mask)
    centre = big / 2
    radius = centre * (1 - 2 * inset) - 1

    def polygon(points: list[tuple[float, float]]) -> None:
        pen.polygon([(centre + radius * x, centre + radius * y) for x, y in points], 255)

    if shape == "circle":
        pen.circle((centre, centre), radius, 255)
    elif shape == "ring":
        pen.circle((centre, centre), radius, 255)
        pen.circle((centre, centre), radius * (0.45 + inset), 0)
    elif shape == "square":
        polygon([(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)])
    elif shape == "diamond":
        polygon([(0, -1), (1, 0), (0, 1), (-1, 0)])
    elif shape == "triangle":
        polygon([(0, -0.95), (1, 0.85), (-1, 0.85)])
    elif shape == "cross":
        arm = 0.36
        polygon([(-arm, -1), (arm, -1), (arm, -arm), (1, -arm), (1, arm), (arm, arm),
                 (arm, 1), (-arm, 1), (-arm, arm), (-1, arm), (-1, -arm), (-arm, -arm)])  # fmt: skip
    elif shape == "star":
        angles = np.arange(10) * np.pi / 5 - np.pi / 2
        reach = np.where(np.arange(10) % 2, 0.42, 1.0)
        polygon(list(zip(reach * np.cos(angles), reach * np.sin(angles), strict=True)))
    else:  # heart
        t = np.linspace(0, 2 * np.pi, 60)
        x = 16 * np.sin(t) ** 3
        y = -(13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t))
        polygon(list(zip(x / 17, (y - 2.5) / 15, strict=True)))
    return mask
