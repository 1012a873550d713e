"""Which split an image belongs to: by a column, by lists of ids, or by a hash of its id."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from hnclip.data.problems import FEW_IMAGES, Problems, few_images
from hnclip.data.rows import Row
from hnclip.options import nearest

WAYS = ("split_column", "split_lists", "split_hash")


def check_splitting(options: Any) -> None:
    """Raises ValueError where options give not just one of the three ways to split, or percents that are none."""
    given = [name for name in WAYS if getattr(options, name)]
    if len(given) != 1:
        raise ValueError(
            f"give exactly one of {', '.join(WAYS)} "
            f"(such as split_hash: {{train: 80, validation: 10, test: 10}}), not {' and '.join(given) or 'none'}"
        )
    shares = (options.split_hash or {"all": 100}).values()
    if min(shares) < 1 or sum(shares) != 100:
        raise ValueError(f"split_hash: whole percents that add up to 100, got {options.split_hash}")


def in_splits(rows: list[Row], options: Any, problems: Problems, warnings: Problems) -> list[Row]:
    """The rows in their splits; those that no list names are left out with a warning. Small splits are problems."""
    if options.split_hash:
        rows = [replace(row, split=by_hash(row.family, options.split_hash)) for row in rows]
    if options.split_lists:
        split_of = by_lists(options.split_lists, (row.id for row in rows), problems)
        for name in dict.fromkeys(row.id for row in rows if row.id not in split_of):
            warnings.add("images in no split list, left out", name)
        rows = [replace(row, split=split_of[row.id]) for row in rows if row.id in split_of]
    images = Counter(dict.fromkeys(options.split_lists or options.split_hash or (), 0))
    images.update(split for split, _ in {(row.split, row.id) for row in rows})
    for line in few_images(images):
        problems.add(FEW_IMAGES, line)
    return rows


def by_hash(key: str, shares: dict[str, int]) -> str:
    """The split of a key, given each split's percent; the splits share the hashes out in the order of their names.

    It hangs on the key alone: images added later move none. A share that grows at the expense of the last name keeps
    what it had.
    """
    point = int.from_bytes(sha256(key.encode("utf-8")).digest()[:8], "big") * 100 >> 64
    for split, share in sorted(shares.items()):
        if point < share:
            return split
        point -= share
    raise ValueError(f"the shares {shares} do not add up to 100")


def by_lists(lists: dict[str, str], known: Iterable[str], problems: Problems) -> dict[str, str]:
    """The split of every listed id. Ids in two lists and ids that the captions lack go to `problems`.

    Raises FileNotFoundError or ValueError naming every list that is not there or is no text.
    """
    known = dict.fromkeys(known)
    split_of: dict[str, str] = {}
    for split, (path, names) in _read_lists(lists).items():
        for name in names:
            if split_of.setdefault(name, split) != split:
                problems.add("ids in two splits (keep one)", f"{name!r}: {split_of[name]} and {split}")
            if name not in known:
                problems.add(
                    "ids in a split list that the captions lack (correct or remove them)",
                    f"{path}: {name!r}{nearest(name, known) if len(known) <= 20_000 else ''}",
                )
    return split_of


def _read_lists(lists: dict[str, str]) -> dict[str, tuple[str, list[str]]]:
    """The path and the ids of each split's list."""
    found, faults = {}, []
    for split, path in lists.items():
        try:
            found[split] = (path, read_ids(Path(path), f"list of split {split!r}"))
        except (OSError, ValueError) as error:
            faults.append(error)
    if faults:
        raise type(faults[0])("\n  ".join(map(str, faults)))
    return found


def read_ids(path: Path, what: str) -> list[str]:
    """The ids of a text file with one a line; `what` names the file in a message. Blank lines are left out."""
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such {what} (looked in {Path.cwd()})")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8") from error
    return [line.rstrip("\r") for line in text.split("\n") if line.strip()]
