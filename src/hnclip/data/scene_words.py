"""What is said of a drawn scene: dense captions of one sentence an object, and short partial ones."""

from random import Random

from hnclip.data.scene import Scene, Thing

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
SIZE_WORDS = {
    "small": ("small", "little", "tiny"),
    "medium": ("medium", "mid-sized", "medium-sized"),
    "large": ("large", "big", "huge"),
}
SURFACE_WORDS = {
    "plain": ("with a plain surface", "in one flat tone", "without any pattern"),
    "striped": ("with white stripes", "crossed by white stripes", "striped in white"),
    "dotted": ("with dark dots", "covered in dark dots", "dotted in black"),
    "framed": ("with a dark rim", "with a thick dark outline", "edged in black"),
}
PLACE_WORDS = {
    "top left": ("at the top left", "in the upper left corner"),
    "top": ("at the top", "in the middle of the upper edge"),
    "top right": ("at the top right", "in the upper right corner"),
    "left": ("on the left", "halfway down the left side"),
    "centre": ("in the centre", "right in the middle"),
    "right": ("on the right", "halfway down the right side"),
    "bottom left": ("at the bottom left", "in the lower left corner"),
    "bottom": ("at the bottom", "in the middle of the lower edge"),
    "bottom right": ("at the bottom right", "in the lower right corner"),
}
SENTENCES = (
    "A {size} {colour} {shape} {surface} sits {place}.",
    "{Place} there is a {size} {colour} {shape} {surface}.",
    "{Place} one sees a {size} {shape} in {colour}, {surface}.",
    "The {shape} {place} is {size} and {colour}, {surface}.",
    "There is also a {colour} {shape} {place}, {size} and {surface}.",
    "A {shape} {surface} can be found {place}, {size} and {colour}.",
)
SUMMARIES = (
    "{Number} shapes lie on a {ground} ground.",
    "A drawing of {number} shapes on a {ground} background.",
    "The picture shows {number} different shapes against {ground} paper.",
)


def dense_sentences(scene: Scene, seed: str) -> list[str]:
    """A summary sentence, then one sentence an object in the scene's order.

    The wording of each sentence hangs on `seed` and its position alone, so near-twins told with one seed
    differ only in the words of what differs.
    """
    number = NUMBERS[len(scene.things)]
    summary = Random(f"{seed}:summary").choice(SUMMARIES)
    first = summary.format(Number=number.capitalize(), number=number, ground=scene.ground)
    return [first] + [_sentence(thing, f"{seed}:{index}") for index, thing in enumerate(scene.things)]


def _sentence(thing: Thing, seed: str) -> str:
    template = Random(f"{seed}:template").choice(SENTENCES)
    place = Random(f"{seed}:place").choice(PLACE_WORDS[thing.place])
    return template.format(
        size=Random(f"{seed}:size").choice(SIZE_WORDS[thing.size]),
        colour=thing.colour,
        shape=thing.shape,
        surface=Random(f"{seed}:surface").choice(SURFACE_WORDS[thing.surface]),
        place=place,
        Place=place[0].upper() + place[1:],
    )


def short_caption(scene: Scene, random: Random, objects: int, keep: float = 0.6) -> str:
    """A partial caption of some of the objects; size, surface and place are each told with chance `keep`."""
    told = random.sample(scene.things, min(objects, len(scene.things)))
    return ", ".join(_phrase(thing, random, keep) for thing in told)


def _phrase(thing: Thing, random: Random, keep: float) -> str:
    words = ["a"]
    if random.random() < keep:
        words.append(random.choice(SIZE_WORDS[thing.size]))
    words += [thing.colour, thing.shape]
    if random.random() < keep:
        words.append(random.choice(SURFACE_WORDS[thing.surface]))
    if random.random() < keep:
        words.append(random.choice(PLACE_WORDS[thing.place]))
    return " ".join(words)
