"""Regions that others matched already, in the nested JSON that GOAL and StructXLIP exchange: nothing is computed."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """path: the file. What it holds is taken as it is, scores included."""

    path: str
