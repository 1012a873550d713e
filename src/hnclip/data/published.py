"""The number of images that a published benchmark must have in each split."""

from collections.abc import Iterable
from typing import Literal

from hnclip.data.problems import Problems
from hnclip.options import unknown

Counts = Literal["published"] | dict[str, int] | None  # as published, these images in these splits, or unchecked
Protocols = dict[str, dict[str, int]]  # by protocol: the images of each of its splits


def check_names(counts: Counts, splits: Iterable[str]) -> None:
    """Refuse counts of splits that the benchmark does not have."""
    splits = list(splits)
    wrong = [name for name in counts or () if name not in splits] if isinstance(counts, dict) else []
    if wrong:
        raise ValueError("; ".join(f"counts: {unknown('split', name, splits)}" for name in wrong))


def check_counts(
    found: dict[str, int], counts: Counts, protocol: str, published: Protocols, problems: Problems, note: str = ""
) -> None:
    """Add the splits that have another number of images than they must; `note`: what else explains a difference."""
    wanted = published[protocol] if counts == "published" else counts or {}
    wrong = {split: count for split, count in wanted.items() if found.get(split, 0) != count}
    if not wrong:
        return
    if counts == "published":
        kind = f"splits whose number of images is not the published one (protocol {protocol!r})"
    else:
        kind = "splits whose number of images is not that of the option `counts`"
    for split, count in wrong.items():
        problems.add(kind, f"{split}: {found.get(split, 0):,} images instead of {count:,}")
    told = "what to do about the numbers"
    for name, numbers in published.items():
        problems.add(told, f"protocol {name!r} has {', '.join(f'{split} {n:,}' for split, n in numbers.items())}")
    if note:
        problems.add(told, note)
    problems.add(
        told,
        "if files are missing, fetch the source again; if the source was changed, results are no longer those of the "
        "protocol: option `counts: null` takes it as it is, `counts: {SPLIT: NUMBER}` checks other numbers",
    )
