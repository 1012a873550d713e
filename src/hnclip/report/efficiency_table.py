"""What each framework and loss costs: speed, memory, auxiliary inputs and their preparation, trained parameters."""

import json
import statistics

import pandas

from hnclip.report.format import name_columns, names
from hnclip.report.load import Study
from hnclip.report.methods import Method, methods, settings
from hnclip.report.writer import Table

COLUMNS = (
    "backbone train framework loss label device cells images_per_second relative memory_bytes inputs "
    "preparation_seconds trained_parameters"
).split()
REFERENCE = "longclip"  # the kind of framework whose plain loss is 1.00
MEBIBYTE = 2**20


def efficiency_table(study: Study) -> tuple[list[Table], pandas.DataFrame]:
    """One row a framework and loss (and device, where a study has several), from cells on all training data."""
    found = [method for setting in settings(study) for method in methods(study, setting)]
    records = [_record(method, device, runs) for method in found for device, runs in _devices(study, method)]
    for record in records:
        record["relative"] = _relative(study, records, record)
    rows = [record | {"inputs": " ".join(record["inputs"])} for record in records]
    frame = pandas.DataFrame(rows, columns=COLUMNS).astype({"memory_bytes": "Int64", "trained_parameters": "Int64"})
    return [_table(study, records)], frame


def _devices(study: Study, method: Method) -> list[tuple[str, pandas.DataFrame]]:
    """The runs of a method on all training data, apart by device."""
    keep = study.runs["fraction"] == 100
    for name in ("backbone", "train", "framework", "loss"):
        keep &= study.runs[name] == getattr(method, name)
    return list(study.runs[keep].assign(device=study.runs["device"].fillna("unknown")).groupby("device", sort=True))


def _record(method: Method, device: str, runs: pandas.DataFrame) -> dict:
    inputs = [json.loads(text) for text in runs["inputs"]]
    row = {name: getattr(method, name) for name in ("backbone", "train", "framework", "loss", "label")}
    return row | {
        "method": method,
        "device": device,
        "cells": len(runs),
        "images_per_second": _median(runs["pairs_per_second"]),
        "memory_bytes": _median(_memory(runs, device)),
        "inputs": sorted({name for given in inputs for name in given}),
        "preparation_seconds": statistics.median(sum(r["seconds"] for r in given.values()) for given in inputs),
        "trained_parameters": _median(runs["trained_parameters"]),
    }


def _memory(runs: pandas.DataFrame, device: str) -> pandas.Series:
    """Bytes beyond the baseline of a process on the CPU; on a GPU all that was allocated there."""
    peak = pandas.to_numeric(runs["peak_memory_bytes"])
    return peak - pandas.to_numeric(runs["baseline_memory_bytes"]) if device == "cpu" else peak


def _median(values: pandas.Series) -> float | None:
    known = pandas.to_numeric(values).dropna()
    return float(known.median()) if len(known) else None


def _relative(study: Study, records: list[dict], record: dict) -> float | None:
    """Speed over that of plain `longclip` with the same backbone, training set and device."""
    alike = ("backbone", "train", "device")
    for other in records:
        kind = study.config["frameworks"][other["framework"]]["kind"]
        if kind == REFERENCE and other["method"].kind == "plain" and all(other[k] == record[k] for k in alike):
            known = record["images_per_second"] and other["images_per_second"]
            return record["images_per_second"] / other["images_per_second"] if known else None
    return None


def _table(study: Study, records: list[dict]) -> Table:
    title = "What a framework and a loss cost"
    if not records:
        return Table(
            title, [], [], ["This study trained no cell on all training data, so there is nothing to measure."]
        )
    columns = name_columns(study, [record["method"] for record in records])
    several = ["device"] if len({record["device"] for record in records}) > 1 else []
    rows = [[*names(r["method"], columns), r["label"], *(r[name] for name in several), *_cells(r)] for r in records]
    header = [*columns, "loss", *several, "auxiliary inputs", "preparation, s", "images/s", "relative", "memory, MiB"]
    blocks = [(r["backbone"], r["train"], r["framework"]) for r in records]
    rules = [index for index in range(1, len(blocks)) if blocks[index] != blocks[index - 1]]
    words = len(columns) + len(several) + 2
    return Table(
        title, [*header, "trained parameters", "cells"], rows, _notes(study, records), rules=rules, words=words
    )


def _cells(record: dict) -> list[str]:
    speed, memory = record["images_per_second"], record["memory_bytes"]
    return [
        ", ".join(record["inputs"]) or "none",
        f"{record['preparation_seconds']:.1f}" if record["inputs"] else "0",
        _number(speed, "{:.1f}"),
        _number(record["relative"], "{:.2f}"),
        _number(memory and memory / MEBIBYTE, "{:,.0f}"),
        _number(record["trained_parameters"], "{:,.0f}"),
        str(record["cells"]),
    ]


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else form.format(value)


def _notes(study: Study, records: list[dict]) -> list[str]:
    notes = [
        "Images/s: pairs trained on a second, without evaluation; median over the cells of a row, on all training "
        "data. How many cells ran at once on the machine changes it, so compare rows of one run of the workflow only.",
        _where(study),
    ]
    if any(record["relative"] is not None for record in records):
        notes.append(
            f"Relative: to the plain loss of {REFERENCE} with the same backbone, data and device, which is 1.00."
        )
    devices = {record["device"] for record in records}
    if "cpu" in devices:
        notes.append(
            "Memory on the CPU: peak of the training process less what it held before model and data were loaded."
        )
    if devices - {"cpu"}:
        notes.append("Memory on a GPU: peak of what was allocated on the device, no baseline taken off.")
    if any(record["inputs"] for record in records):
        notes.append(
            "Preparation: seconds that it took to derive the auxiliary inputs, once a data set. An input that several "
            "frameworks share is counted for each that uses it."
        )
    return notes


def _where(study: Study) -> str:
    """Devices and threads of the cells."""
    whole = study.runs[study.runs["fraction"] == 100]
    threads = sorted({int(count) for count in whole["threads"].dropna()})
    devices = sorted(whole["device"].fillna("unknown").unique())
    words = f"Device: {', '.join(devices)}; CPU threads a cell: {', '.join(map(str, threads)) or 'unknown'}."
    mixed = len(threads) > 1
    return f"{words} Rows of other threads do not compare." if mixed else words
