"""Hugging Face datasets without their package: saved by `save_to_disk`, or a repository that was downloaded."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from hnclip.data.arrow_files import read_arrow
from hnclip.data.captions import Table, read_table
from hnclip.data.problems import Problems
from hnclip.data.readers.joining import joined
from hnclip.store import read_json

DICT, STATE = "dataset_dict.json", "state.json"


def is_saved(folder: Path) -> bool:
    """True for a folder that `save_to_disk` wrote."""
    return (folder / DICT).is_file() or (folder / STATE).is_file()


def read_saved(folder: Path) -> Table:
    """The rows of a saved dataset; those of a DatasetDict have their split's name in the column `split`."""
    if not (folder / DICT).is_file():
        return _named(_saved(folder), "a saved dataset")
    splits = _list(folder / DICT, "splits", str)
    parts = {split: _saved(folder / split) for split in splits}
    for split, part in parts.items():
        if "split" not in part.columns:
            part.columns.append("split")
            for _, row in part.rows:
                row["split"] = split
    return _named(joined(folder, parts, names_tell=False), "a saved dataset")


def _saved(folder: Path) -> Table:
    state = folder / STATE
    if not state.is_file():
        raise FileNotFoundError(f"{state}: no such file; is the dataset whole?")
    if (read_json(state) or {}).get("_indices_files"):
        raise ValueError(f"{folder} is of an old version of datasets; load it and save it again by save_to_disk")
    names = [entry.get("filename", "") for entry in _list(state, "_data_files", dict)]
    absent = [name for name in names if not (folder / name).is_file()]
    if absent:
        raise FileNotFoundError(f"{folder}: no such file: {', '.join(absent)}; is the dataset whole?")
    return joined(folder, {name: _arrow(folder / name) for name in names}, names_tell=False)


def read_repository(folder: Path, files: dict[str, Path]) -> Table:
    """The rows of a downloaded repository's Parquet or Arrow files, by their names; `split` as the names tell."""
    return _named(joined(folder, {name: _arrow(path) for name, path in files.items()}), "a dataset's files")


def read_image_folder(folder: Path, files: list[str], problems: Problems) -> Table:
    """The rows of an image folder's metadata; an image's path starts at its metadata's folder."""
    tables = {}
    for name in files:
        table = read_table(folder / name, problems)
        place = Path(name).parent
        for _, row in table.rows:
            if isinstance(row.get("file_name"), str) and place != Path():
                row["file_name"] = (place / row["file_name"]).as_posix()
        tables[name] = table
    return _named(joined(folder, tables), "an image folder with metadata")


def _named(table: Table, read_as: str) -> Table:
    return replace(table, read_as=read_as)


def _arrow(path: Path) -> Table:
    columns, rows, pictures = read_arrow(path)
    return Table(path, columns, [(f"row {number}", row) for number, row in enumerate(rows, 1)], pictures=pictures)


def _list(path: Path, key: str, kind: type) -> list[Any]:
    record = read_json(path)
    found = record.get(key) if isinstance(record, dict) else None
    if not isinstance(found, list) or not found or not all(isinstance(one, kind) for one in found):
        raise ValueError(f"{path} does not say its {key}; save the dataset again")
    return found
