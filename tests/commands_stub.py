"""Stands in for `python -m hnclip.X` in tests of the graph: makes the outputs of a command, empty, and nothing else.

The command whose name a file `fails` in the working directory holds fails. Where a file `commit` is there, trainings
record to be of the commit that it names.
"""

import json
import sys
from pathlib import Path

from hnclip.report.contents import FIGURES, GALLERIES, PAGES, TABLES


def outputs(module: str, arguments: list[str]) -> list[Path]:
    """The files that the command would write."""
    last = Path(arguments[-1])
    match module:
        case "hnclip.data.prepare":
            return [last / f"{split}.parquet" for split in json.loads(Path(arguments[0]).read_text())["splits"]]
        case "hnclip.data.near_duplicates":
            return [Path(name) for name in (*arguments[2:4], last)]
        case "hnclip.embed":
            return [Path(name) for name in arguments[-2:]]
        case "hnclip.train":
            return [last / name for name in ("weights.safetensors", "log.parquet", "run.json", "ranks.parquet")]
        case "hnclip.models.fetch":
            return [last]
        case "hnclip.choose":
            return [Path(arguments[1])]
        case "hnclip.embed_run" | "hnclip.embed_captions" | "hnclip.audit":
            return [last]
        case "hnclip.data.fetch" | "hnclip.data.pixels" | "hnclip.data.tokens" | "hnclip.evaluate":
            return [last]
        case _ if module.startswith("hnclip.data.derive."):
            return [Path(name) for name in arguments[-2:]]
        case "hnclip.report.collect":
            return [last / f"{name}.parquet" for name in ("ranks", "epochs", "runs", "overlap", "sources")]
        case "hnclip.report.tables":
            return [last / f"{name}.{kind}" for name in TABLES for kind in ("csv", "html", "md", "tex")]
        case "hnclip.report.figures":
            return [last / f"{name}.{kind}" for name in FIGURES for kind in ("html", "pdf", "png")]
        case "hnclip.report.galleries":
            return [last / f"{name}.html" for name in GALLERIES]
        case "hnclip.report.pages":
            return [last / f"{name}.html" for name in ("first_page", *PAGES)]
    raise SystemExit(f"no stub for {module}")


if __name__ == "__main__":
    fails = Path("fails")
    if fails.exists() and fails.read_text() == sys.argv[1]:
        raise SystemExit(f"{sys.argv[1]} fails")
    for path in outputs(sys.argv[1], sys.argv[2:]):
        path.write_bytes(b"")
        if path.name == "run.json" and Path("commit").exists():
            path.write_text(json.dumps({"commit": Path("commit").read_text(), "dirty": False}))
