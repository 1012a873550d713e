"""Families of near-twins: scenes that differ in little, none of them twice in a benchmark."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Scene = TypeVar("Scene")
_TRIES = 60


class Families(Generic[Scene]):
    """Draws families whose members share no key (a caption, a picture's content) with any drawn before."""

    def __init__(self, keys: Callable[[Scene, str], set[Hashable]]):
        """`keys(scene, family)` are the things that no two scenes of the benchmark may share."""
        self._keys = keys
        self._taken: set[Hashable] = set()

    def draw(self, name: str, first: Callable[[], Scene], twin: Callable[[Scene], Scene], size: int) -> list[Scene]:
        """A first scene and `size - 1` twins of it. Raises ValueError where too few differ."""
        for _ in range(_TRIES):
            members, fresh = self._members(name, first(), twin, size)
            if len(members) == size:
                self._taken |= fresh
                return members
        raise ValueError(
            f"found no {size} scenes for the family {name!r} that the benchmark does not have yet; "
            "ask for fewer pairs, smaller families or more objects a scene"
        )

    def _members(self, name: str, base: Scene, twin: Callable[[Scene], Scene], size: int):
        """As many members as are found, and their keys; gives up after many twins in a row that are not new."""
        members: list[Scene] = []
        fresh: set[Hashable] = set()
        candidate, misses = base, 0
        while len(members) < size and misses < _TRIES:
            keys = self._keys(candidate, name)
            if keys.isdisjoint(self._taken) and keys.isdisjoint(fresh):
                members.append(candidate)
                fresh |= keys
                misses = 0
            elif not members:  # the first itself is taken
                break
            else:
                misses += 1
            candidate = twin(base)
        return members, fresh
