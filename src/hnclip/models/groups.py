"""Rows of a batch grouped by length, so that no time goes into padding."""

import numpy as np
import torch

GROUP_COST = 256  # what starting one more group costs, in tokens computed


def length_groups(lengths: list[int], group_cost: int = GROUP_COST) -> tuple[torch.Tensor, list[list[int]]]:
    """The groups of rows that cost least when each is padded to its own longest row.

    Returns the order that undoes the grouping (`torch.cat(groups)[order]` is in batch order) and the groups.
    """
    by_length = np.argsort(lengths, kind="stable")
    sorted_lengths = np.asarray(lengths)[by_length]
    count = len(lengths)
    best = np.zeros(count + 1, np.int64)
    start = np.zeros(count + 1, np.int64)
    for end in range(1, count + 1):
        cost = best[:end] + (end - np.arange(end)) * sorted_lengths[end - 1] + group_cost
        start[end] = cost.argmin()
        best[end] = cost[start[end]]
    groups, end = [], count
    while end:
        groups.insert(0, by_length[start[end] : end].tolist())
        end = int(start[end])
    return torch.from_numpy(np.argsort(by_length, kind="stable")), groups
