"""Reads Parquet and Arrow files by pyarrow: texts and numbers at once, images only when they are unpacked."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import compute, ipc, parquet, types

from hnclip.data.pictures import Absent, Picture, Pictures

BATCH = 64  # rows of images held at once
NUMBERS = Absent("a list of numbers")  # in the place of an embedding


def read_arrow(path: Path) -> tuple[list[str], list[dict[str, Any]], Pictures | None]:
    """(columns, rows, images) of a .parquet or .arrow file.

    An image column, a struct of `bytes` and `path` as Hugging Face's datasets have or a column of bytes, has a
    `Picture` in each row; a path where only a path is known; `Absent` where there is neither. Embeddings are not read.
    Raises ValueError where two columns have one name.
    """
    schema = read_schema(path)
    twice = sorted({name for name in schema.names if schema.names.count(name) > 1})
    if twice:
        raise ValueError(f"{path}: several columns have the same name (rename them): {', '.join(map(repr, twice))}")
    images = [field.name for field in schema if is_image(field.type)]
    rows: list[dict[str, Any]] = []
    held: dict[str, list[Picture | None]] = {name: [] for name in images}
    try:
        for batch in _batches(path, schema.names, images, bodies=False):
            cells = {name: [_cell(value) for value in batch.pop(name)] for name in images}
            for name in images:
                held[name] += [cell if isinstance(cell, Picture) else None for cell in cells[name]]
            columns = {**batch, **cells}
            rows += [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    except (pyarrow.ArrowException, OSError) as error:
        raise _damaged(path, error) from error

    def pictures() -> Iterator[tuple[Picture, bytes]]:
        for name in images:
            known = iter(held[name])
            try:
                for batch in _batches(path, [name], images, bodies=True):
                    for value, picture in zip(batch[name], known, strict=False):
                        if picture is not None:
                            yield picture, value["bytes"] if isinstance(value, dict) else value
            except pyarrow.ArrowException as error:
                raise _damaged(path, error) from error

    return schema.names, rows, pictures if images else None


def read_schema(path: Path) -> pyarrow.Schema:
    """The schema of a .parquet or .arrow file. Raises ValueError where it is none."""
    try:
        if path.suffix.lower() == ".parquet":
            return parquet.read_schema(path)
        with pyarrow.memory_map(str(path)) as source:
            return _arrow(source).schema
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno and not isinstance(error, pyarrow.ArrowException):
            raise
        kind = "Parquet" if path.suffix.lower() == ".parquet" else "Arrow"
        raise ValueError(f"{path} is no {kind} file ({error})") from error


def is_image(kind: pyarrow.DataType) -> bool:
    """True for the type of a column of images: bytes, or a struct that has them."""
    if types.is_struct(kind):
        return kind.get_field_index("bytes") >= 0
    return types.is_binary(kind) or types.is_large_binary(kind)


def _damaged(path: Path, error: Exception) -> ValueError:
    return ValueError(f"{path} is damaged or cut short ({' '.join(str(error).split())}); fetch or write it again")


def _arrow(source: pyarrow.NativeFile) -> Any:
    """The reader of an Arrow stream, which `save_to_disk` writes, or of an Arrow file."""
    try:
        return ipc.open_stream(source)
    except pyarrow.ArrowInvalid:
        source.seek(0)
        return ipc.open_file(source)


def _batches(path: Path, names: list[str], images: list[str], bodies: bool) -> Iterator[dict[str, list[Any]]]:
    """The columns as Python values, some rows at a time; without `bodies` an image is (its bytes' number, its path)."""
    if path.suffix.lower() == ".parquet":
        with parquet.ParquetFile(path) as file:
            leaves = names if bodies else [_leaf(file, name) if name in images else name for name in names]
            rows = BATCH if leaves == names and images else 4096
            for group in range(file.num_row_groups):  # all at once, their bytes would be held together
                for batch in file.iter_batches(rows, row_groups=[group], columns=leaves):
                    yield _values(batch, images, bodies)
        return
    with pyarrow.memory_map(str(path)) as source:
        reader = _arrow(source)
        stream = isinstance(reader, ipc.RecordBatchStreamReader)
        for batch in reader if stream else map(reader.get_batch, range(reader.num_record_batches)):
            for start in range(0, batch.num_rows, BATCH):
                yield _values(batch.select(names).slice(start, BATCH), images, bodies)


def _leaf(file: parquet.ParquetFile, name: str) -> str:
    """The part of an image column that is read for a glance: its paths alone, where no image lacks its bytes."""
    kind = file.schema_arrow.field(name).type
    if not types.is_struct(kind) or kind.get_field_index("path") < 0:
        return name
    leaves = [file.metadata.schema.column(number).path for number in range(file.metadata.num_columns)]
    leaf = leaves.index(f"{name}.bytes")
    for group in range(file.metadata.num_row_groups):
        known = file.metadata.row_group(group).column(leaf).statistics
        if known is None or known.null_count != 0:
            return name
    return f"{name}.path"


def _values(batch: pyarrow.RecordBatch, images: list[str], bodies: bool) -> dict[str, list[Any]]:
    made = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if name in images and not bodies:
            made[name] = _glance(column)
        else:
            made[name] = [NUMBERS] * len(column) if _is_vectors(column.type) else column.to_pylist()
    return made


def _is_vectors(kind: pyarrow.DataType) -> bool:
    """True for lists of fractions, such as embeddings: as Python's numbers they would take ten times their size."""
    listed = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return listed and types.is_floating(kind.value_type)


def _glance(column: pyarrow.Array) -> list[tuple[int, str]]:
    """For each image how many bytes it has, 1 where only its path was read, and its path."""
    if not types.is_struct(column.type):
        return [(size or 0, "") for size in compute.binary_length(column).to_pylist()]
    flat = dict(zip((field.name for field in column.type), column.flatten(), strict=True))
    sizes = compute.binary_length(flat["bytes"]).to_pylist() if "bytes" in flat else [1] * len(column)
    paths = flat["path"].to_pylist() if "path" in flat else [None] * len(sizes)
    return [(size or 0, path or "") for size, path in zip(sizes, paths, strict=True)]


def _cell(glance: tuple[int, str]) -> Picture | Absent | str:
    size, path = glance
    if size:
        path = path.replace("\\", "/")
        return Picture(path.rsplit("/", 1)[-1] if path.startswith("/") or path[1:2] == ":" else path)
    return path or Absent("the row has no image")
