"""What the figures of audits show of one training: each quantity's lines."""

from collections.abc import Callable
from typing import NamedTuple

import numpy
import pandas

from hnclip.report import style
from hnclip.report.audits import EXACT, PRECISIONS, SIDES, Audited, solved, zero
from hnclip.report.load import Study, test_targets

PRECISION_DASHES = {"32-true": "-", "16-mixed": (0, (5, 1.5)), "bf16-mixed": (0, (1.5, 1.5))}


class Line(NamedTuple):
    """What stands at its end, x in epochs trained and y, colour, dash, and whether each measurement is a dot."""

    words: str
    x: list[float]
    y: list[float]
    colour: str
    dash: object = "-"
    dots: bool = False


class Row(NamedTuple):
    """A quantity: words of its axis, its lines for one training, and how its axis is scaled."""

    words: str
    lines: Callable[[Study, Audited], list[Line]]
    scale: str = "linear"


def _each(name: str) -> Callable[[Study, Audited], list[Line]]:
    """A quantity of both losses at every measurement in fp32."""

    def lines(study: Study, audit: Audited) -> list[Line]:
        rows = audit.of(EXACT)
        return [
            Line(side, rows["done"].tolist(), rows[f"{name}_{side}"].tolist(), style.COLOURS[side], dots=True)
            for side in SIDES
        ]

    return lines


def _cosine(study: Study, audit: Audited) -> list[Line]:
    rows = audit.of(EXACT).dropna(subset="cosine")
    return [Line("plain and boosted", rows["done"].tolist(), rows["cosine"].tolist(), style.GREY, "none", dots=True)]


def _by_epoch(rows: pandas.DataFrame, flags: pandas.Series) -> tuple[list[float], list[float]]:
    """Per cent of an epoch's measurements, in the middle of the epoch."""
    share = 100 * flags.groupby(rows["epoch"]).mean()
    return [float(epoch) + 0.5 for epoch in share.index], share.tolist()


def _active(study: Study, audit: Audited) -> list[Line]:
    rows = audit.of(EXACT)
    sides = {side: _by_epoch(rows, ~solved(rows[f"loss_{side}"])) for side in SIDES}
    return [Line(side, *xy, style.COLOURS[side], dots=True) for side, xy in sides.items()]


def _vanished(study: Study, audit: Audited) -> list[Line]:
    found = []
    for side in SIDES:
        for precision, dash in PRECISION_DASHES.items():
            rows = audit.of(precision)
            if len(rows):
                xy = _by_epoch(rows, zero(rows[f"zeros_{side}"]))
                found.append(Line(f"{side}, {PRECISIONS[precision]}", *xy, style.COLOURS[side], dash, dots=True))
    return found


def _error(study: Study, audit: Audited) -> list[Line]:
    epochs = audit.method.epochs(study, audit.cell.fraction)
    rows = epochs[epochs["seed"] == audit.cell.seed]
    found = []
    for target in test_targets(study):
        here = rows[rows["target"] == target].sort_values("epoch")
        error = 100 - 50 * (here["t2i_r1"] + here["i2t_r1"])
        if len(here):
            dash = style.DASHES[len(found) % len(style.DASHES)]
            x, y = (here["epoch"] + 1.0).tolist(), numpy.asarray(error, dtype=float).tolist()
            found.append(Line(target, x, y, style.GREY, dash, dots=True))
    return found


LOSSES = Row("loss of the batch", _each("loss"), "log")
NORMS = Row("gradient norm", _each("norm"), "log")
COSINE = Row("cosine of the\ntwo gradients", _cosine, "cosine")
ACTIVE = Row("batches not\nsolved (%)", _active, "percent")
VANISHED = Row("gradient exactly\nzero (%)", _vanished, "percent")
ERROR = Row("held-out error:\n100 − R@1 (%)", _error)
