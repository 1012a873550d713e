"""Whole-file writes: a reader finds the complete file, or folder, or none."""

import errno
import glob
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import file_digest
from pathlib import Path
from typing import Any


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary file beside `path`, then put it in place at once. An OSError names the file.

    A link stays one, and the file that it leads to is replaced. What is no plain file, such as /dev/null, is refused.
    """
    path = _plain(Path(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    part = _unfinished(path)
    try:
        write(part)
        part.replace(path)
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from error  # a full disk says no name
    finally:
        part.unlink(missing_ok=True)


def _plain(path: Path) -> Path:
    if path.is_file():
        return Path(os.path.realpath(path)) if path.is_symlink() else path
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if path.exists():  # a file put in its place would take a device from the whole machine
        raise OSError(errno.EINVAL, "is no plain file, and is not replaced by one", str(path))
    return path


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder beside `folder`, to be filled; it takes the place of `folder` at once where all went well.

    Raises OSError where `folder` holds anything then: whoever replaces it removes the old one last.
    """
    part = _unfinished(folder)
    part.mkdir(parents=True)
    try:
        yield part
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _unfinished(path: Path) -> Path:
    machine = os.uname().nodename  # process numbers are a machine's own, the folder may not be
    return path.with_name(f".{path.name}.{machine}.{os.getpid()}.part")


def remove_unfinished(path: Path) -> None:
    """Remove what writers of this file or folder left that were killed; for whoever alone writes it, before it does."""
    for part in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
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


def sha256_of(path: Path | str) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal digits."""
    with open(path, "rb") as file:
        return file_digest(file, "sha256").hexdigest()


def read_run_record(folder: Path, *needed: str) -> dict[str, Any]:
    """A run's record, whose config has the keys that are needed. ValueError for one that no training of ours wrote."""
    record = read_json(Path(folder) / "run.json")
    config = record.get("config") if isinstance(record, dict) else None
    lacking = [key for key in needed if key not in config] if isinstance(config, dict) else ["config"]
    if lacking:
        raise ValueError(
            f"{folder} is no run of hnclip, or is damaged: its run.json lacks {', '.join(lacking)}; name the folder of "
            "a run, or train it again"
        )
    return record


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
