"""The entries of the config's sections `segments` and `edges`. No torch, no OpenCV, no scikit-image."""

from dataclasses import dataclass, field
from typing import Any, Literal

from hnclip.data.derive.segmenters import segmenter
from hnclip.options import from_dict

EDGES = {"canny": ("low", "high"), "log": ("sigma", "threshold")}


@dataclass(frozen=True)
class SegmentsEntry:
    """How regions are found and matched with sentences.

    kind: a module of `hnclip.data.derive.segmenters`, which says what `options` it takes. backbone: the model that
    scores regions against sentences; the config gives its name, the command the whole record. shards: jobs that find
    them, each for its share of a split's images.
    """

    kind: str
    backbone: Any
    options: dict = field(default_factory=dict)
    shards: int = 1

    def __post_init__(self):
        self.read_options()
        if self.shards < 1:
            raise ValueError(f"shards must be at least 1, got {self.shards}")
        if self.shards > 1 and self.kind == "json":
            raise ValueError("shards must be 1 for kind 'json', which reads regions and finds none")

    def read_options(self) -> Any:
        """The kind's own `Options`. Raises ValueError with every fault."""
        return from_dict(segmenter(self.kind).Options, self.options, f"options of {self.kind}")


@dataclass(frozen=True)
class EdgesEntry:
    """How edges are found, in the image's grey values (0 to 255) at full resolution.

    canny: OpenCV's thresholds `low` and `high` on the summed absolute Sobel gradients. log: the Laplacian of a
    Gaussian of `sigma` pixels; its zero crossings stay where an ideal straight step of at least about `threshold`
    grey values would make them.
    """

    kind: Literal["canny", "log"]
    low: float | None = None
    high: float | None = None
    sigma: float | None = None
    threshold: float | None = None

    def __post_init__(self):
        mine = EDGES[self.kind]
        given = [name for names in EDGES.values() for name in names if getattr(self, name) is not None]
        faults = [f"kind {self.kind!r} needs {name!r}" for name in mine if name not in given]
        faults += [f"kind {self.kind!r} does not read {name!r}" for name in given if name not in mine]
        faults += [
            f"{name} must not be negative, got {getattr(self, name)}" for name in given if getattr(self, name) < 0
        ]
        if not faults and self.kind == "canny" and self.low > self.high:
            faults.append(f"low must not be above high, got {self.low} and {self.high}")
        if self.sigma == 0:
            faults.append("sigma must be above 0")
        if faults:
            raise ValueError("; ".join(faults))
