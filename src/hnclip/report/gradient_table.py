"""Solved batches and vanished gradients: of two losses, along audited trainings, in each precision."""

import math

import numpy
import pandas

from hnclip.report.audits import (
    EXACT,
    NOTHING,
    PRECISIONS,
    SIDES,
    Audited,
    norm_ratio,
    range_words,
    read_audits,
    solved,
    zero,
)
from hnclip.report.format import name_columns, names, percent
from hnclip.report.load import Study
from hnclip.report.solved import SOLVED
from hnclip.report.writer import Table

COLUMNS = (
    "backbone train framework loss label fraction seed precision epoch measurements solved_plain solved_boosted "
    "zero_plain zero_boosted zeros_plain zeros_boosted norm_ratio cosine_mean cosine_sd update_norm scale gap "
    "same_weights"
).split()
GRADIENTS, BATCHES = "Gradients along a training", "Batches that are solved, by epoch (%)"
# arXiv 2608.18521: plain, 148 measurements in fp32; ratio of the norms; their cosine.
PAPER = ["148", "47 / –", "–", "1e2 to 1e6", "0.47 ± 0.36", "–", "–", "–"]


def gradient_table(study: Study) -> tuple[list[Table], pandas.DataFrame]:
    """A row an audited cell and precision beside the paper's; then the solved batches of each epoch."""
    audits = read_audits(study)
    frame = pandas.DataFrame([row for audit in audits for row in _records(audit)], columns=COLUMNS)
    if not audits:
        return [Table(GRADIENTS, [], [], [NOTHING])], frame
    columns = name_columns(study, [audit.method for audit in audits])
    return [_gradients(columns, audits), _batches(columns, audits)], frame


def _records(audit: Audited) -> list[dict]:
    """A row a precision and epoch (counted from 1), and one of all; shares in per cent, small numbers as text."""
    found = []
    for precision in audit.rows["precision"].unique():
        rows = audit.of(precision)
        for epoch in ["all", *audit.epochs]:
            here = rows if epoch == "all" else rows[rows["epoch"] == epoch]
            named = {name: getattr(audit.cell, name) for name in ("backbone", "train", "framework", "loss")}
            named |= {"label": audit.method.label, "fraction": audit.cell.fraction, "seed": audit.cell.seed}
            named |= {"precision": precision, "epoch": epoch if epoch == "all" else epoch + 1}
            found.append(named | _numbers(here) | {"same_weights": audit.same_weights})
    return found


def _numbers(rows: pandas.DataFrame) -> dict:
    found = {"measurements": len(rows)}
    for side in SIDES:
        found[f"solved_{side}"] = 100 * solved(rows[f"loss_{side}"]).mean()
        found[f"zero_{side}"] = 100 * zero(rows[f"zeros_{side}"]).mean()
        found[f"zeros_{side}"] = 100 * rows[f"zeros_{side}"].mean()
    found |= {"norm_ratio": _short(norm_ratio(rows).median()), "update_norm": _short(rows["update_norm"].mean())}
    found |= {"scale": rows["scale"].mean(), "gap": _short(rows["gap"].mean())}
    return found | {"cosine_mean": rows["cosine"].mean(), "cosine_sd": rows["cosine"].std()}


def _gradients(columns: list[str], audits: list[Audited]) -> Table:
    header = [*columns, "trained with", "data (%)", "seed", "precision", "measurements", "gradient exactly zero (%)"]
    header += ["zero elements (%)", "norm ratio", "cosine", "update norm", "s", "gap"]
    body, rules = [], []
    for audit in audits:
        rules.append(len(body))
        for precision in audit.rows["precision"].unique():
            rows = audit.of(precision)
            body.append([*_named(columns, audit), PRECISIONS[precision], *_cells(rows)])
    body.append(["paper", *["–"] * len(columns), "100", "–", "fp32", *PAPER])
    return Table(GRADIENTS, header, body, _notes(audits), rules=[*rules[1:], len(body) - 1], words=len(columns) + 1)


def _named(columns: list[str], audit: Audited) -> list[str]:
    mark = "" if audit.same_weights else " *"
    return [*names(audit.method, columns), audit.method.label + mark, str(audit.cell.fraction), str(audit.cell.seed)]


def _cells(rows: pandas.DataFrame) -> list[str]:
    numbers, ratio = _numbers(rows), norm_ratio(rows)
    spread = f"{_short(ratio.median())} ({_short(ratio.min())} to {_short(ratio.max())})" if len(ratio) else "–"
    sides = [" / ".join(percent(numbers[f"{key}_{side}"]) for side in SIDES) for key in ("zero", "zeros")]
    cosine = f"{numbers['cosine_mean']:.2f} ± {numbers['cosine_sd']:.2f}".replace("nan", "–")
    ends = [numbers["update_norm"], f"{numbers['scale']:.1f}", numbers["gap"]]
    return [str(len(rows)), *sides, spread, cosine, *ends]


def _batches(columns: list[str], audits: list[Audited]) -> Table:
    epochs = sorted({epoch for audit in audits for epoch in audit.epochs})
    header = [*columns, "trained with", "data (%)", "seed", "loss", *(f"epoch {epoch + 1}" for epoch in epochs), "all"]
    body, rules = [], []
    for audit in audits:
        rules.append(len(body))
        rows = audit.of(EXACT)
        for side in SIDES:
            is_solved = solved(rows[f"loss_{side}"])
            by_epoch = 100 * is_solved.groupby(rows["epoch"]).mean()
            shares = [percent(by_epoch.get(epoch, math.nan)) for epoch in epochs]
            body.append([*_named(columns, audit), side, *shares, percent(100 * is_solved.mean())])
    notes = [
        f"Solved: the loss of the batch is below {SOLVED:g}, in fp32. Each epoch has as many batches here as "
        "measurements. The paper: plain, 80 % in epoch 1; boosted, 74 % at most in any epoch."
    ]
    return Table(BATCHES, header, body, notes, rules=rules[1:], words=len(columns) + 1)


def _notes(audits: list[Audited]) -> list[str]:
    every = sorted({audit.record["audit"]["every"] for audit in audits})
    pairs = sorted({int(size) for audit in audits for size in audit.rows["pairs"].unique()})
    notes = [
        f"Each cell was trained once more. Every {' or '.join(map(str, every))} optimiser steps, before the step, both "
        f"losses of the global image-caption term were taken on the step's first batch ({range_words(pairs)} pairs), "
        "whatever loss the cell is trained with, and each one's gradient of all trained weights. With a stroke "
        "between: plain / boosted.",
        "Exactly zero: every weight's gradient is 0. Zero elements: mean share of weights, those that no batch reaches "
        "(rows of words that do not occur) among them. Norm ratio: boosted over plain, median and range, where the "
        "plain norm is above 0. Cosine: mean ± standard deviation between the two gradients, where both are above 0. "
        "Update norm: mean Euclidean length of the optimiser's own step with the loss trained with; AdamW's steps "
        "hardly depend on the gradient's size. s: inverse temperature of the trained model; gap: cosine of a pair less "
        "that of its hardest negative in the batch, over both directions; means over measurements.",
        "fp16 and bf16: the towers under autocast, the loss in fp32, no loss scaler. Random state was put back after "
        "each measurement.",
    ]
    return notes + _weights_notes(audits) + _refused_notes(audits) + _endless_notes(audits)


def _weights_notes(audits: list[Audited]) -> list[str]:
    other = [str(audit.cell) for audit in audits if not audit.same_weights]
    if not other:
        return [f"All {len(audits)} audited trainings ended with the weights of the run itself, bit for bit."]
    return [
        f"* Ended with other weights than the run itself ({', '.join(other)}): another device, code or package; its "
        "numbers are those of a like training, not of the very same one."
    ]


def _refused_notes(audits: list[Audited]) -> list[str]:
    found = {(name, words): None for audit in audits for name, words in audit.record["refused"].items()}
    return [f"{PRECISIONS[name]} was refused by the device: {words}." for name, words in found]


def _endless_notes(audits: list[Audited]) -> list[str]:
    """Losses that are no finite numbers, as fp16 may give."""
    rows = pandas.concat([audit.rows for audit in audits], ignore_index=True)
    endless = ~numpy.isfinite(rows[["loss_plain", "loss_boosted"]]).all(axis=1)
    return [
        f"In {PRECISIONS[name]} {found.sum()} of {len(found)} measurements had a loss that is not finite; it counts as "
        "neither solved nor zero."
        for name, found in endless.groupby(rows["precision"])
        if found.any()
    ]


def _short(number: float) -> str:
    """Two digits, for numbers of any size: 0.016, 120, 3.4e6."""
    if math.isnan(number):
        return "–"
    if 1e-3 <= abs(number) < 1e4:
        return f"{float(f'{number:.2g}'):g}"
    digits, _, power = f"{number:.1e}".partition("e")
    return f"{digits}e{int(power)}" if power and number else f"{number:g}"
