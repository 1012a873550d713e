"""What a loss entry of the config may hold: a base, a boost on its similarities, and the keys that these read."""

import math
from dataclasses import dataclass
from typing import Any

from hnclip.options import unknown

# The keys that a base needs; `scale` and `label_smoothing` may be left out where they are read.
BASE_KEYS = {
    "infonce": (),
    "reweighted": ("beta",),
    "hardest": ("hinge",),
    "sigmoid": ("threshold",),
    "soft": ("mix", "sharpness"),
}
SCALED = ("infonce", "reweighted", "sigmoid", "soft")
SMOOTHED = ("infonce",)
# What needs no more than a tile of the similarity matrix at once.
TILED_BASES = ("infonce",)
TILED_BOOSTS = ("none", "captions", "matched", "constant", "centred", "frozen", "images")
# The key that is a boost's strength.
STRENGTH = {
    "captions": "gamma",
    "matched": "gamma",
    "constant": "margin",
    "centred": "gamma",
    "shuffled": "gamma",
    "frozen": "gamma",
    "images": "gamma",
}


@dataclass(frozen=True)
class LossEntry:
    """A base and a boost, each with its keys, and what goes with any of them.

    `gamma` is the strength of a boost, `margin` the constant boost itself, both in units of cosine. `beta` is the
    concentration of the weights of `reweighted`, `hinge` the margin of `hardest`, `threshold` the cosine at which
    `sigmoid` says yes as often as no, `mix` the share of similar captions in the target of `soft` and `sharpness`
    their inverse temperature. `scale` is a fixed inverse temperature in place of the learned one.
    `mask_duplicates`: captions of the very same words are no negatives of each other.
    Raises ValueError with every fault, of which a key that neither base nor boost reads is one.
    """

    base: str = "infonce"
    boost: str = "none"
    gamma: float | None = None
    margin: float | None = None
    beta: float | None = None
    hinge: float | None = None
    threshold: float | None = None
    mix: float | None = None
    sharpness: float | None = None
    scale: float | None = None
    label_smoothing: float = 0.0
    mask_duplicates: bool = False

    def __post_init__(self):
        problems = []
        if self.base not in BASE_KEYS:
            problems.append(unknown("base", self.base, BASE_KEYS))
        if self.boost not in ("none", *STRENGTH):
            problems.append(unknown("boost", self.boost, ["none", *STRENGTH]))
        problems = problems or [*self._misplaced(), *self._out_of_range()]
        if problems:
            raise ValueError("loss: " + "; ".join(problems))

    @property
    def base_options(self) -> dict[str, Any]:
        """The base's own keys."""
        return {key: getattr(self, key) for key in BASE_KEYS[self.base]}

    @property
    def boost_options(self) -> dict[str, Any]:
        """The boost's strength under its key; empty without a boost."""
        return {key: getattr(self, key) for key in self._strengths()}

    def check_tiled(self) -> None:
        """Raises ValueError where the loss needs the whole similarity matrix at once, whatever `tile` says."""
        whole = [f"base {self.base!r}"] if self.base not in TILED_BASES else []
        whole += [f"boost {self.boost!r}"] if self.boost not in TILED_BOOSTS else []
        if whole:
            raise ValueError(
                f"{' and '.join(whole)} cannot be taken in tiles, the whole matrix is needed at once; leave `tile` "
                f"null, or take base {', '.join(TILED_BASES)} and one of the boosts {', '.join(TILED_BOOSTS)}"
            )

    def _strengths(self) -> tuple[str, ...]:
        return () if self.boost == "none" else (STRENGTH[self.boost],)

    def _misplaced(self) -> list[str]:
        """Keys that are missing, and those that nothing reads."""
        wanted = {**dict.fromkeys(BASE_KEYS[self.base], "base"), **dict.fromkeys(self._strengths(), "boost")}
        faults = [
            f"{part} {getattr(self, part)!r} needs `{key}`"
            for key, part in wanted.items()
            if getattr(self, key) is None
        ]
        for key in dict.fromkeys([key for keys in BASE_KEYS.values() for key in keys]):
            if key not in wanted and getattr(self, key) is not None:
                faults.append(f"base {self.base!r} does not read `{key}`")
        for key in dict.fromkeys(STRENGTH.values()):
            if key not in wanted and getattr(self, key) is not None:
                faults.append(f"boost {self.boost!r} does not read `{key}`")
        if self.scale is not None and self.base not in SCALED:
            faults.append(f"base {self.base!r} does not read `scale`")
        if self.label_smoothing and self.base not in SMOOTHED:
            faults.append(f"base {self.base!r} does not read `label_smoothing`")
        return faults

    def _out_of_range(self) -> list[str]:
        numbers = {key: value for key, value in vars(self).items() if not isinstance(value, str | bool | None)}
        faults = [f"`{key}` must be finite, not {value}" for key, value in numbers.items() if not math.isfinite(value)]
        below = ["margin", "beta", "hinge"] + (["gamma"] if self.boost != "captions" else [])
        for key in below:
            if numbers.get(key, 0) < 0:
                only = "; below 0 it belongs to boost 'captions'" if key == "gamma" else ""
                faults.append(f"`{key}` must be at least 0, not {numbers[key]}{only}")
        for key in ("scale", "sharpness"):
            if numbers.get(key, 1) <= 0:
                faults.append(f"`{key}` is an inverse temperature above 0, not {numbers[key]}")
        if not 0 <= numbers.get("mix", 0) <= 1:
            faults.append(f"`mix` is a share from 0 to 1, not {self.mix}")
        if not 0 <= self.label_smoothing < 1:
            faults.append(f"`label_smoothing` is a share from 0 to below 1, not {self.label_smoothing}")
        return faults
