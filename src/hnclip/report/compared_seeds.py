"""Whether the runs of two methods have the same seeds, and what is to be said where they do not."""

from collections.abc import Sequence

Seeds = Sequence[int | None]  # of a method's runs; None of a model that none trained


def distinct(seeds: Seeds) -> tuple[int, ...]:
    return tuple(sorted({seed for seed in seeds if seed is not None}))


def same_seeds(a: Seeds, b: Seeds) -> bool:
    """False where each side is one run, of a seed of its own; several runs are compared on shared seeds alone."""
    return len(a) + len(b) > 2 or len(distinct([*a, *b])) < 2


def seeds_note(a: tuple[str, Seeds], b: tuple[str, Seeds]) -> str | None:
    """What is to be said of two methods, each its name and its seeds; None where both have the same ones."""
    sides = [(name, distinct(seeds)) for name, seeds in (a, b)]
    if not same_seeds(a[1], b[1]):
        said = " and ".join(f"{name} has seed {seeds[0]}" for name, seeds in sides)
        return (
            f"Different seeds: {said}. Their difference is of the methods and of the seeds together, which no p-value "
            "here tells apart; compare runs of the same seed."
        )
    if not all(seeds for _, seeds in sides):
        return None  # a model that none trained stands beside every seed
    shared = set(sides[0][1]) & set(sides[1][1])
    alone = [(name, [str(seed) for seed in seeds if seed not in shared]) for name, seeds in sides]
    left_out = "; ".join(f"{', '.join(seeds)} of {name}" for name, seeds in alone if seeds)
    return f"Seeds that only one side has are left out of {a[0]} against {b[0]}: {left_out}." if left_out else None
