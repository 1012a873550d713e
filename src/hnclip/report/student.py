"""Student's t distribution with a whole number of degrees of freedom, by its finite series (no SciPy here).

Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
"""

from functools import lru_cache

import numpy


def below(t: numpy.ndarray | float, freedom: int) -> numpy.ndarray:
    """The share of the distribution below t, elementwise; exact to about 1e-15."""
    if freedom < 1:
        raise ValueError(f"Student's t has at least one degree of freedom, not {freedom}")
    angle = numpy.arctan(numpy.asarray(t, dtype=float) / numpy.sqrt(freedom))
    sine, cosine = numpy.sin(angle), numpy.cos(angle)
    if freedom == 1:
        return 0.5 + angle / numpy.pi
    # Terms 1, c²·first/(first+1), ... : each is the one before times c²·k/(k+1), k odd for even freedom, else even.
    first = 1 if freedom % 2 == 0 else 2
    factor_K = numpy.arange(first, freedom - 2, 2) / (numpy.arange(first, freedom - 2, 2) + 1)
    steps = cosine[..., None] ** 2 * factor_K
    total = 1 + numpy.cumprod(steps, axis=-1).sum(-1)
    if freedom % 2 == 0:
        return 0.5 + 0.5 * sine * total
    return 0.5 + (angle + sine * cosine * total) / numpy.pi


@lru_cache(maxsize=16)
def grid(freedom: int, points: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Points of the distribution and their weights, [points] each, for averages over it; symmetric about 0.

    With t = √freedom · tan(angle) the density over angles is cos(angle)^(freedom - 1), up to a constant.
    """
    most = min(numpy.pi / 2, 9 / numpy.sqrt(freedom))
    angle = most * ((numpy.arange(points) + 0.5) * 2 / points - 1)
    weight = numpy.cos(angle) ** (freedom - 1)
    return numpy.sqrt(freedom) * numpy.tan(angle), weight / weight.sum()
