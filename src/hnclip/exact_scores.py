"""Cosines as retrieval compares them: the same number for a pair of rows whatever else is computed beside it.

A matrix product in fp32 gives a pair another last bit in another block, on another machine, with other threads. Here a
row is rounded to whole steps of 2^-26 of its length's power of two, which fp32 holds. Products and all their partial
sums then fit float64 without rounding: in any order, by any kernel, the sum is the same. It is rounded to fp32, so that
scores which fp32 does not tell apart are ties.
"""

from dataclasses import dataclass

import torch

BITS = 26  # two factors of so many bits, and sums of size below 2, fit the 53 bits of float64
LONGEST = 1.4  # times a power of two: the length of a row in its own unit; its square is below 2
GATHERED = {"cpu": 64, "cuda": 65536}  # rows that are widened to float64 at once: on a CPU they stay in its cache
STEPPED = 128  # rows that become whole steps at once


@dataclass(frozen=True)
class Rows:
    """Embeddings [N, D], each in whole steps, fp32, and their lengths, float64 [N]."""

    rows_ND: torch.Tensor
    length_N: torch.Tensor

    def __len__(self) -> int:
        return len(self.rows_ND)


def stepped(name: str, rows_ND: torch.Tensor) -> Rows:
    """Rows in whole steps. Raises ValueError naming the rows that are not finite; `name` says whose they are."""
    found, length_N = torch.empty(rows_ND.shape), torch.empty(len(rows_ND), dtype=torch.float64)
    for start in range(0, len(rows_ND), STEPPED):
        part = slice(start, start + STEPPED)
        length_N[part] = rows_ND[part].double().norm(dim=-1)
        unit = torch.exp2(torch.ceil(torch.log2(length_N[part].clamp_min(2.0**-60) / LONGEST)))
        step = (unit[:, None] * 2.0**-BITS).float()  # a power of two: products with it and its inverse are exact
        torch.mul(rows_ND[part].float(), 1 / step, out=found[part]).round_().mul_(step)
    if bad := (~torch.isfinite(length_N)).nonzero().flatten().tolist():
        raise ValueError(f"embeddings that are not finite: {name} rows {bad[:20]} ({len(bad)} in all)")
    return Rows(found, length_N)


def of_pairs(
    query_QD: torch.Tensor, gallery_GD: torch.Tensor, query_P: torch.Tensor, gallery_P: torch.Tensor
) -> torch.Tensor:
    """Scores of pairs of stepped rows, fp32 [P]."""
    score_P = torch.empty(len(query_P), device=query_QD.device)
    gathered = GATHERED.get(query_QD.device.type, GATHERED["cpu"])
    for start in range(0, len(query_P), gathered):
        pairs = slice(start, start + gathered)
        query_PD = query_QD.index_select(0, query_P[pairs]).double()
        gallery_PD = gallery_GD.index_select(0, gallery_P[pairs]).double()
        score_P[pairs] = query_PD.mul_(gallery_PD).sum(-1)
    return score_P


def of_block(query_QD: torch.Tensor, gallery_GD: torch.Tensor) -> torch.Tensor:
    """Scores of all pairs of stepped rows, fp32 [Q, G]."""
    return (query_QD.double() @ gallery_GD.double().T).float()


def margin(width: int) -> float:
    """How far a score of unit rows of this width by a product in fp32 may lie from the one above, at most.

    The bound of a sum of `width` products in any order, width times the unit roundoff (Higham, Accuracy and Stability
    of Numerical Algorithms, section 3.1), and of the roundings before the comparison. For rows that are no unit rows it
    is to be multiplied by both lengths.
    """
    unit = 2.0**-24 if torch.get_float32_matmul_precision() == "highest" else 2.0**-8
    return 1.01 * (width + 8) * unit
