"""Collects what is wrong with a person's data, so that all of it is named at once."""

from collections.abc import Iterable
from pathlib import Path

from hnclip.store import write_text

_SHOWN = 20
FEW_IMAGES = "splits with fewer than 2 images (retrieval needs two to tell apart; give them more, or leave them out)"


def few_images(images: dict[str, int]) -> list[str]:
    """A line for each split with fewer than 2 images; `images` counts them."""
    return [
        f"split {split!r} has {count} image{'' if count == 1 else 's'}"
        for split, count in sorted(images.items())
        if count < 2
    ]


class Problems:
    """Faults by kind; a kind is a phrase that says what is wrong and what to do."""

    def __init__(self):
        self._found: dict[str, list[str]] = {}

    def add(self, kind: str, item: str) -> None:
        shown = item.encode("utf-8", "backslashreplace").decode()  # a file's name may be any bytes
        self._found.setdefault(kind, []).append(shown)

    def add_all(self, kind: str, items: Iterable[str]) -> None:
        for item in items:
            self.add(kind, item)

    def merge(self, other: "Problems") -> None:
        """Take over what another one has found."""
        for kind, items in other._found.items():
            self._found.setdefault(kind, []).extend(items)

    def kinds(self) -> dict[str, list[str]]:
        """Every item by its kind."""
        return {kind: list(items) for kind, items in self._found.items()}

    def lines(self, most: int | None = None) -> list[str]:
        """Each kind with its count and its items, `most` of them where given."""
        lines = []
        for kind, items in self._found.items():
            lines.append(f"{kind}: {len(items)}")
            lines += [f"  {item}" for item in items[:most]]
            if most is not None and len(items) > most:
                lines.append(f"  and {len(items) - most} more")
        return lines

    def keep(self, what: str, record: Path) -> bool:
        """Write the whole list to `record`, or remove an earlier one where nothing was found; True where written."""
        if self._found:
            write_text(record, "\n".join([what, *self.lines()]) + "\n")
        else:
            record.unlink(missing_ok=True)
        return bool(self._found)

    def stop(self, what: str, record: Path) -> None:
        """Raise ValueError where anything was found, with the first of each kind; `record` gets the whole list."""
        self.keep(what, record)
        if not self._found:
            return
        count = sum(map(len, self._found.values()))
        shown = "\n  ".join(self.lines(_SHOWN))
        raise ValueError(f"{what} (problems: {count}; the whole list is in {record})\n  {shown}")
