"""How the weight of an auxiliary term fades over a run (StructXLIP's released schedule of ten epochs)."""

import math

EPOCHS = 10  # the released run; what is given as an epoch is on its scale
FULL_UNTIL, FLOOR_FROM = 1.0, 8.0


def auxiliary_factor(epoch: float, floor: float) -> float:
    """1 to epoch 1, then along half a cosine to `floor` at epoch 8, and `floor` from there."""
    share = min(max(epoch - FULL_UNTIL, 0.0) / (FLOOR_FROM - FULL_UNTIL), 1.0)
    return floor + (1 - floor) * (1 + math.cos(math.pi * share)) / 2
