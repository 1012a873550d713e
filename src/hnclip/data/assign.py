"""Which split an image belongs to: by a column, by lists of ids, or by a hash of its id."""

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from hnclip.data.problems import Problems
from hnclip.options import nearest


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
    """The split of every listed id. Ids in two lists and ids that the captions lack go to `problems`."""
    known = dict.fromkeys(known)
    split_of: dict[str, str] = {}
    for split, path in lists.items():
        for name in read_ids(Path(path), "split list"):
            if split_of.setdefault(name, split) != split:
                problems.add("ids in two splits (keep one)", f"{name!r}: {split_of[name]} and {split}")
            if name not in known:
                problems.add(
                    "ids in a split list that the captions lack (correct or remove them)",
                    f"{path}: {name!r}{nearest(name, known) if len(known) <= 20_000 else ''}",
                )
    return split_of


def read_ids(path: Path, what: str) -> list[str]:
    """The ids of a text file with one a line; `what` names the file in a message. Blank lines are left out."""
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such {what} (looked in {Path.cwd()})")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8") from error
    return [line.rstrip("\r") for line in text.split("\n") if line.strip()]
