"""What img2dataset writes: images in folders or shards, and beside each a Parquet of what became of every URL."""

from pathlib import Path
from typing import Any

from hnclip.caption_places import visible_files
from hnclip.data.arrow_files import is_image, read_arrow, read_schema
from hnclip.data.captions import Table
from hnclip.data.pictures import SUFFIXES, Absent
from hnclip.data.problems import Problems

FAILED = "images that img2dataset could not download, left out"
KNOWN = {"key", "status"}


def is_report(path: Path) -> bool:
    """True for img2dataset's Parquet about its images; one that holds the images themselves, too."""
    return path.suffix.lower() == ".parquet" and KNOWN <= set(read_schema(path).names)


def tell_failed(shard: Path, notes: Problems) -> None:
    """Note what the Parquet beside a shard says was not downloaded, if there is one."""
    beside = shard.with_suffix(".parquet")
    if beside.is_file() and is_report(beside):
        for number, row in enumerate(read_arrow(beside)[1], 1):
            if row["status"] != "success":
                _fail(notes, f"{beside.name}: row {number}", row)


def read_reports(folder: Path, files: list[str], with_failed: bool = False) -> Table:
    """One row an image that was downloaded; the others are notes, or with `with_failed` rows whose image is absent."""
    notes, rows, pictures = Problems(), [], []
    columns: dict[str, None] = {}
    for name in files:
        stem = Path(name).with_suffix("").as_posix()
        names, found, held = read_arrow(folder / name)
        columns.update(dict.fromkeys(names))
        bodies = next((field.name for field in read_schema(folder / name) if is_image(field.type)), None)
        pictures += [held] if held else []
        for number, row in enumerate(found, 1):
            where = f"{name}: row {number}"
            if row["status"] == "success":
                rows.append((where, {**row, "image": row[bodies] if bodies else _file(folder, stem, row["key"])}))
            elif with_failed:
                rows.append((where, {**row, "image": Absent(_reason(row))}))
            else:
                _fail(notes, where, row)
    columns["image"] = None

    def chained():
        for source in pictures:
            yield from source()

    return Table(
        folder,
        list(columns),
        rows,
        start=folder,
        pictures=chained if pictures else None,
        notes=notes,
        read_as="img2dataset's output",
    )


def reports_of(folder: Path) -> list[str]:
    """The reports of a folder, by their paths within it."""
    return [name for name in visible_files(folder) if name.endswith(".parquet") and is_report(folder / name)]


def _file(folder: Path, stem: str, key: str) -> str | Absent:
    found = [f"{stem}/{key}{suffix}" for suffix in SUFFIXES if (folder / f"{stem}/{key}{suffix}").is_file()]
    return found[0] if found else Absent(f"{folder / stem / key}.jpg: no such file")


def _fail(notes: Problems, where: str, row: dict[str, Any]) -> None:
    notes.add(FAILED, f"{where}: {_reason(row)}")


def _reason(row: dict[str, Any]) -> str:
    return " ".join(str(row.get(name)) for name in ("url", "status", "error_message") if row.get(name))
