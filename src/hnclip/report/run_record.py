"""A page of what a study was made with: its config, code and versions, hardware, costs, every run."""

from pathlib import Path
from typing import Any

import pandas
import yaml

from hnclip import store
from hnclip.report.contents import PAGES
from hnclip.report.load import Study
from hnclip.report.page import escape, page, paragraph

COSTS = ["runs", "training time", "pairs", "pairs a second (median)", "peak memory, GB"]


def record_page(study: Study) -> str:
    body = [
        paragraph(
            "Generated from the records that each run leaves (run.json) and from the study's record (study.json). "
            "Snakemake with the config beneath makes everything again; each run's record names the hash of "
            "every file that it read."
        ),
        "<h2>Costs</h2>",
        *_costs(study),
        "<h2>Hardware</h2>",
        _table(["device", "threads of a run", "runs"], _hardware(study.runs)),
        "<h2>Code and versions</h2>",
        *_versions(study),
        "<h2>Config</h2>",
        paragraph("As the study used it: defaults filled in, entries that no cell uses left out.", "note"),
        f"<pre>{escape(_yaml(study.config))}</pre>",
        *_files(study.record),
        "<h2>Every run</h2>",
        _table(["cell", "seconds", "finished (UTC)", "commit"], _runs(study.runs)),
    ]
    return page(PAGES["record"].title, "\n".join(body), wide=True)


def _costs(study: Study) -> list[str]:
    rows = [[name, *_cost(found)] for name, found in study.runs.groupby("framework", sort=True)]
    rows.append(["all cells", *_cost(study.runs)])
    tried = _tried(study.record)
    if len(tried):
        rows.append(["settings tried on validation", *_cost(tried)])
    return [
        _table(["framework", *COSTS], rows),
        paragraph(
            "The time is that of the training steps, summed over runs; preparing data, evaluating, audits and the "
            "report come on top: time and memory of every job lie in logs, as RULE/*.tsv. How many runs shared the "
            "machine changes their speed. Memory is the device's peak, on a CPU that of the whole process.",
            "note",
        ),
    ]


def _cost(runs: pandas.DataFrame) -> list[str]:
    numbers = {key: pandas.to_numeric(runs[key]) for key in ("seconds", "pairs", "pairs_per_second")}
    peak = pandas.to_numeric(runs["peak_memory_bytes"]).max()
    return [
        str(len(runs)),
        _time(numbers["seconds"].sum()),
        f"{numbers['pairs'].sum():,.0f}",
        f"{numbers['pairs_per_second'].median():.1f}",
        f"{peak / 1e9:.2f}",
    ]


def _time(seconds: float) -> str:
    """In the largest unit of which there is one at least."""
    size, unit = next(((n, unit) for n, unit in ((3600, "h"), (60, "min")) if seconds >= n), (1, "s"))
    return f"{seconds / size:.1f} {unit}"


def _tried(record: dict[str, Any]) -> pandas.DataFrame:
    """The records of the runs among which settings were chosen; those whose folders are gone are left out."""
    paths = [Path(cell["run"]) / "run.json" for choice in record.get("choices", []) for cell in choice["cells"]]
    rows = [store.read_json(path) for path in dict.fromkeys(paths) if path.is_file()]
    return pandas.DataFrame(rows)


def _hardware(runs: pandas.DataFrame) -> list[list[str]]:
    found = runs.assign(device=runs["device"].fillna("unknown")).groupby(["device", "threads"], sort=True, dropna=False)
    return [[str(device), f"{threads:g}", str(len(rows))] for (device, threads), rows in found]


def _versions(study: Study) -> list[str]:
    runs = study.runs
    commits = runs["commit"].fillna("unknown").value_counts()
    dirty = int(runs["dirty"].astype("boolean").fillna(False).sum())
    tables = [_table(["commit of the training code", "runs"], [[name, str(n)] for name, n in commits.items()])]
    if dirty:
        tables.append(paragraph(f"{dirty} runs were trained from a working tree with uncommitted changes.", "note"))
    tables.append(paragraph("Packages of the runs:"))
    return tables + [
        _table(["versions", "runs"], [[text, str(n)] for text, n in runs["versions"].value_counts().items()])
    ]


def _yaml(config: dict[str, Any]) -> str:
    return yaml.safe_dump(config, sort_keys=False, allow_unicode=True, width=110)


def _files(record: dict[str, Any]) -> list[str]:
    files = record.get("files") or {}
    if not files:
        return []
    rows = [[path, digest] for path, digest in sorted(files.items())]
    return ["<h2>Files that the config names</h2>", _table(["file", "SHA-256"], rows)]


def _runs(runs: pandas.DataFrame) -> list[list[str]]:
    return [
        [str(row.cell), f"{row.seconds:.1f}", str(row.finished)[:19].replace("T", " "), str(row.commit)[:10]]
        for row in runs.sort_values("cell").itertuples()
    ]


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>'
