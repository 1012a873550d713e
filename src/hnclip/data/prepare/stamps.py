"""Real photographs and drawings with human phrases (Debian's tuxpaint-stamps-default), composed into dense scenes."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from hnclip.data.composed import Composed, check_counts, check_range, family_sizes, write_split
from hnclip.data.debian import find_package
from hnclip.data.families import Families
from hnclip.data.stamp_scene import PLACES, StampScene, compose, near_twin, random_scene, stamp_sentences
from hnclip.data.stamps import PACKAGE, Stamp, check_shares, read_stamps, share_out, write_source
from hnclip.options import from_dict

BOXES = True  # each sentence of an object has its box


@dataclass(frozen=True)
class Options:
    """What is composed.

    pairs: pictures in each split. shares: percent of the stamps for each split; no stamp is in two splits. family:
    near-twins in a family; they differ in one stamp, place or size. objects: [fewest, most] stamps in a scene. pixels:
    side of the pictures. deb: the package, where apt-get cannot fetch it. cache: where it is kept.
    """

    seed: int
    pairs: dict[str, int]
    shares: dict[str, int]
    family: int = 4
    objects: tuple[int, int] = (2, 4)
    pixels: int = 128
    deb: str | None = None
    cache: str = "results/downloads"

    def __post_init__(self):
        check_counts(self.pairs, self.family)
        check_range("objects", self.objects, 1, len(PLACES))
        if self.pixels < 32:
            raise ValueError(f"pixels must be at least 32, got {self.pixels}")
        if set(self.shares) != set(self.pairs):
            named = [", ".join(sorted(splits)) for splits in (self.shares, self.pairs)]
            raise ValueError(f"shares and pairs must name the same splits: shares has {named[0]}; pairs has {named[1]}")
        check_shares(self.shares)


def splits(options: dict[str, Any]) -> list[str]:
    """The splits that `prepare` would write."""
    return list(from_dict(Options, options, "stamps").pairs)


def prepare(options: dict[str, Any], folder: Path) -> None:
    """Write the pictures and manifests of all splits, and `source.json`: which package they were made from."""
    wanted = from_dict(Options, options, "stamps")
    deb = find_package(PACKAGE, wanted.deb, Path(wanted.cache))
    stamps = read_stamps(deb, wanted.pixels // 2)
    shared = share_out(stamps, wanted.shares, wanted.seed)
    few = [f"{split} ({len(own)})" for split, own in shared.items() if _phrases(own) <= wanted.objects[1]]
    if few:
        raise ValueError(
            f"too few of the {len(stamps)} stamps of {deb} for scenes of {wanted.objects[1]} in: {', '.join(few)}; "
            "change the option `shares`"
        )
    families: Families[StampScene] = Families(lambda scene, family: _keys(scene, family, wanted, shared))
    for split in sorted(wanted.pairs):
        write_split(Path(folder), split, _pictures(wanted, split, shared[split], families))
    write_source(Path(folder), deb, shared)


def _phrases(stamps: list[Stamp]) -> int:
    return len({stamp.phrase.casefold() for stamp in stamps})


def _pictures(options: Options, split: str, stamps: list[Stamp], families: Families[StampScene]) -> Iterator[Composed]:
    for number, size in enumerate(family_sizes(options.pairs[split], options.family)):
        family = f"{split}-{number:04d}"
        random = Random(f"stamps:{options.seed}:{family}")
        members = families.draw(
            family,
            lambda: random_scene(random, stamps, random.randint(*options.objects)),  # noqa: B023 (used at once)
            lambda scene: near_twin(scene, random, stamps),  # noqa: B023
            size,
        )
        for index, scene in enumerate(members):
            wording = f"{options.seed}:{family}"
            pixels, boxes = compose(scene, stamps, options.pixels, wording)
            yield Composed(
                name=f"{family}-{index}",
                family=family,
                pixels=pixels,
                sentences=stamp_sentences(scene, stamps, wording),
                boxes=[None, *boxes],
            )


def _keys(scene: StampScene, family: str, options: Options, shared: dict[str, list[Stamp]]) -> set:
    """What no two scenes of the benchmark share: the caption, and the picture whatever the order it is told in."""
    split = family.rsplit("-", 1)[0]
    caption = " ".join(stamp_sentences(scene, shared[split], f"{options.seed}:{family}"))
    return {caption, (split, scene.colour, scene.texture, frozenset(scene.items))}
