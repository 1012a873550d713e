"""The audits of a study: gradients of two losses along each audited cell's training."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas
from pyarrow import parquet

from hnclip.cell import Cell
from hnclip.report.load import Study
from hnclip.report.methods import Method, Setting, methods
from hnclip.report.solved import SOLVED

EXACT = "32-true"
SIDES = ("plain", "boosted")
PRECISIONS = {"32-true": "fp32", "16-mixed": "fp16", "bf16-mixed": "bf16"}
NOTHING = "No audits: no grid of the study says `audit: true`."


@dataclass(frozen=True, eq=False)
class Audited:
    """One cell's audit: a row a measurement and precision, and the record of how it was made."""

    cell: Cell
    method: Method
    rows: pandas.DataFrame
    record: dict[str, Any]

    @property
    def setting(self) -> Setting:
        return Setting(self.cell.backbone, self.cell.train, self.cell.framework)

    @property
    def same_weights(self) -> bool:
        return bool(self.rows["same_weights"].all())

    def of(self, precision: str) -> pandas.DataFrame:
        """The measurements in one precision, in their order; `done` is the epochs trained until then."""
        rows = self.rows[self.rows["precision"] == precision].sort_values("step")
        return rows.assign(done=rows["step"] / self.record["steps_an_epoch"])

    @cached_property
    def epochs(self) -> list[int]:
        """The epochs with a measurement, the first is 0."""
        return sorted(int(epoch) for epoch in self.rows["epoch"].unique())


def read_audits(study: Study) -> list[Audited]:
    """Every audit, in the order of framework and loss in the report; FileNotFoundError names each missing one."""
    entries = study.record.get("audits", [])
    missing = [entry["path"] for entry in entries if not Path(entry["path"]).is_file()]
    if missing:
        raise FileNotFoundError(f"audits are missing: {', '.join(missing)}; make them with `snakemake PATH`")
    return sorted((_read(study, Cell.parse(entry["cell"]), entry["path"]) for entry in entries), key=_order(study))


def _read(study: Study, cell: Cell, path: str) -> Audited:
    table = parquet.read_table(path)
    record = json.loads(table.schema.metadata[b"audit"])
    return Audited(cell, _method(study, cell), table.to_pandas(), record)


def _method(study: Study, cell: Cell) -> Method:
    setting = Setting(cell.backbone, cell.train, cell.framework)
    found = {method.loss: method for method in methods(study, setting, cell.fraction)}
    return found.get(cell.loss) or Method(*vars(setting).values(), cell.loss, "other", cell.loss)


def _order(study: Study):
    def key(audit: Audited) -> tuple:
        cell = audit.cell
        known = [method.loss for method in methods(study, audit.setting, cell.fraction)]
        place = known.index(cell.loss) if cell.loss in known else len(known)
        return cell.backbone, cell.train, cell.framework, -cell.fraction, place, cell.seed

    return key


def solved(losses: pandas.Series) -> pandas.Series:
    """Which batches have a loss below SOLVED."""
    return losses < SOLVED


def zero(shares: pandas.Series) -> pandas.Series:
    """Which gradients are exactly zero in every weight, from the share of weights whose gradient is."""
    return shares == 1.0


def norm_ratio(rows: pandas.DataFrame) -> pandas.Series:
    """Gradient norm of the boosted loss over that of the plain one, where the latter is above zero."""
    known = rows[rows["norm_plain"] > 0]
    return (known["norm_boosted"] / known["norm_plain"]).dropna()


def range_words(numbers: list[int]) -> str:
    """`16`, or `8 to 16`, of numbers in order."""
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
