"""Holm's correction of p-values for the number of comparisons made (Scandinavian Journal of Statistics 6, 1979)."""

import numpy


def holm(p_values: list[float]) -> list[float]:
    """Adjusted p-values in the order given: the chance of any false finding among all of them stays below each.

    The smallest is multiplied by how many there are, the next by one less, and so on; none falls below one before it.
    A NaN is no comparison: it stays NaN and does not count.
    """
    given = numpy.asarray(p_values, dtype=float)
    order = [index for index in numpy.argsort(given, kind="stable") if not numpy.isnan(given[index])]
    adjusted, reached = given.copy(), 0.0
    for place, index in enumerate(order):
        reached = max(reached, min(1.0, float(given[index]) * (len(order) - place)))
        adjusted[index] = reached
    return [float(value) for value in adjusted]
