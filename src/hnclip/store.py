"""Whole-file writes: a reader finds the complete file or none."""

import glob
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary file beside `path`, then put it in place at once. An OSError names the file."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    machine = os.uname().nodename  # process numbers are a machine's own, the folder may not be
    part = path.with_name(f".{path.name}.{machine}.{os.getpid()}.part")
    try:
        write(part)
        part.replace(path)
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from error  # a full disk says no name
    finally:
        part.unlink(missing_ok=True)


def remove_unfinished(path: Path) -> None:
    """Remove what writers of this file left that were killed; for whoever alone writes it, before the first time."""
    for part in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))


def write_json(path: Path, record: Any) -> None:
    write_text(path, json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """The record in a JSON file. Raises FileNotFoundError or ValueError naming the file."""
    text = Path(path).read_bytes()
    try:
        return json.loads(text.decode("utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no valid JSON ({error}); correct it, or delete it and run again") from error


def write_rows(path: Path, rows: Any, metadata: dict[str, str] | None = None) -> None:
    """Write rows (a list of dicts, a DataFrame or an Arrow table) as one Parquet file.

    Dicts may have different keys: a column that a row lacks is null there.
    """
    import pyarrow
    from pyarrow import parquet

    if isinstance(rows, list):
        columns = dict.fromkeys(key for row in rows for key in row)
        rows = pyarrow.table({column: pyarrow.array([row.get(column) for row in rows]) for column in columns})
    elif not isinstance(rows, pyarrow.Table):
        rows = pyarrow.Table.from_pandas(rows, preserve_index=False)
    if metadata:
        rows = rows.replace_schema_metadata({**(rows.schema.metadata or {}), **metadata})
    write_whole(path, lambda part: parquet.write_table(rows, part))


def write_tensors(path: Path, tensors: dict[str, Any], metadata: dict[str, str]) -> None:
    """Write torch tensors and text metadata as one safetensors file. Raises OSError where the disk is full."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    def write(part: Path) -> None:
        try:
            save_file(tensors, part, metadata=metadata)
        except SafetensorError as error:
            raise OSError(f"{path} cannot be written ({error})") from error
        mask = os.umask(0)  # safetensors leaves a file to its owner alone
        os.umask(mask)
        part.chmod(0o666 & ~mask)

    write_whole(path, write)
