"""The embedded benchmark: drawn scenes with dense captions, in families of near-twins."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from hnclip.data.composed import Composed, check_counts, check_range, family_sizes, write_split
from hnclip.data.families import Families
from hnclip.data.scene import PLACES, Scene, box, draw, near_twin, random_scene
from hnclip.data.scene_words import dense_sentences
from hnclip.options import from_dict, unknown

BOXES = True  # each sentence of an object has its box


@dataclass(frozen=True)
class Options:
    """What is drawn.

    pairs: pictures in each split. family: near-twins in a family. edits: [fewest, most] attributes in which a twin
    differs from its family's first. objects: [fewest, most] in a scene; 7 or more make captions over 77 tokens.
    pixels: side of the pictures. unseen: the splits whose objects all have the looks that no other split has.
    """

    seed: int
    pairs: dict[str, int]
    family: int = 8
    edits: tuple[int, int] = (1, 2)
    objects: tuple[int, int] = (3, 5)
    pixels: int = 96
    unseen: tuple[str, ...] | None = None

    def __post_init__(self):
        check_counts(self.pairs, self.family)
        check_range("edits", self.edits, 1, len(PLACES))
        check_range("objects", self.objects, 1, len(PLACES))
        if self.pixels < 24:
            raise ValueError(f"pixels must be at least 24, or the smallest object cannot be told; got {self.pixels}")
        for split in self.unseen or ():
            if split not in self.pairs:
                raise ValueError(f"unseen: {unknown('split', split, self.pairs)}")

    def held_out(self, split: str) -> bool:
        """True where the split's looks are the held-out ones; without a list, in the split named `unseen`."""
        return split in (self.unseen if self.unseen is not None else ("unseen",))


def splits(options: dict[str, Any]) -> list[str]:
    """The splits that `prepare` would write."""
    return list(from_dict(Options, options, "scenes").pairs)


def prepare(options: dict[str, Any], folder: Path) -> None:
    """Write the pictures and manifests of all splits; the same options give the same files."""
    wanted = from_dict(Options, options, "scenes")
    families: Families[Scene] = Families(lambda scene, family: _keys(scene, _wording(wanted, family)))
    for split in sorted(wanted.pairs):
        write_split(Path(folder), split, _pictures(wanted, split, families))


def _pictures(options: Options, split: str, families: Families[Scene]) -> Iterator[Composed]:
    held_out = options.held_out(split)
    for number, size in enumerate(family_sizes(options.pairs[split], options.family)):
        family = f"{split}-{number:04d}"
        random = Random(f"scenes:{options.seed}:{family}")
        members = families.draw(
            family,
            lambda: random_scene(random, random.randint(*options.objects), held_out),  # noqa: B023 (used at once)
            lambda scene: near_twin(scene, random, random.randint(*options.edits), held_out),  # noqa: B023
            size,
        )
        for index, scene in enumerate(members):
            yield Composed(
                name=f"{family}-{index}",
                family=family,
                pixels=draw(scene, options.pixels),
                sentences=dense_sentences(scene, _wording(options, family)),
                boxes=[None] + [box(thing, options.pixels) for thing in scene.things],
            )


def _wording(options: Options, family: str) -> str:
    """The seed of a family's words: its members are told alike, so that only what differs is told differently."""
    return f"{options.seed}:{family}"


def _keys(scene: Scene, wording: str) -> set:
    """What no two scenes of the benchmark share: the caption, and the picture whatever the order it is told in."""
    return {" ".join(dense_sentences(scene, wording)), (scene.ground, frozenset(scene.things))}
