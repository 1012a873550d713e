"""Files of cached embeddings, one row a caption: written by `hnclip.embed`, or the user's own from any model."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow
from pyarrow import compute, parquet

SCALE = "scale"  # in a file's metadata: the inverse temperature of the model that made the embeddings
DEFAULT_SCALE = 100.0  # where the file does not say: CLIP's own bound


@dataclass(frozen=True)
class Vectors:
    """Embeddings by caption: the image's id, its embedding and the caption's, and the model's inverse temperature."""

    ids: list[str]
    image_CD: np.ndarray  # float32
    text_CD: np.ndarray  # float32, of another width where the two encoders have different ones
    scale: float
    truncated: int | None


def read_vectors(path: Path, id_column: str = "id", image_column: str = "image", text_column: str = "text") -> Vectors:
    """The embeddings in a Parquet file with one row a caption.

    Raises FileNotFoundError, or ValueError naming the rows whose vectors are missing, of another length or not finite.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file of embeddings {path}")
    table = _read(Path(path), [id_column, image_column, text_column])
    if table[id_column].null_count:
        none = np.flatnonzero(table[id_column].is_null().to_numpy())
        raise ValueError(f"{path}: column {id_column!r} is empty in {_rows(none)}; fill it in, or leave these rows out")
    said = {name.decode(): value.decode() for name, value in (table.schema.metadata or {}).items()}
    image_CD, text_CD = _matrices(path, table, (image_column, text_column))
    ids = [str(name) for name in table[id_column].to_pylist()]
    cut = int(said["cut"]) if said.get("cut", "").isdigit() else None
    return Vectors(ids, image_CD, text_CD, _scale(path, said.get(SCALE)), cut)


def _read(path: Path, wanted: list[str]) -> pyarrow.Table:
    """These columns alone: others may hold pictures."""
    try:
        known = parquet.read_schema(path).names
        if missing := [name for name in wanted if name not in known]:
            raise ValueError(
                f"{path} lacks the columns {', '.join(missing)}; it has {', '.join(known)}. It needs an id, "
                "the image's embedding and the caption's, one row a caption"
            )
        table = parquet.read_table(path, columns=wanted)
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{path} is no Parquet file ({' '.join(str(error).split())})") from error
    if not len(table):
        raise ValueError(f"{path} has no rows")
    return table


def _matrices(path: Path, table: pyarrow.Table, names: tuple[str, ...]) -> list[np.ndarray]:
    """Columns of vectors; what is wrong is told of all of them at once."""
    found, faults = [], []
    for name in names:
        try:
            found.append(_matrix(path, table, name))
        except ValueError as error:
            faults.append(str(error))
    if faults:
        raise ValueError("\n".join(faults))
    return found


def _matrix(path: Path, table: pyarrow.Table, name: str) -> np.ndarray:
    """A column of vectors as float32 [rows, D]."""
    column = table[name].combine_chunks()
    kind = column.type
    if not (pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind) or pyarrow.types.is_fixed_size_list(kind)):
        raise ValueError(f"{path}: column {name!r} holds {kind}, not vectors (lists of numbers)")
    if not pyarrow.types.is_floating(kind.value_type) and not pyarrow.types.is_integer(kind.value_type):
        raise ValueError(f"{path}: the vectors of column {name!r} hold {kind.value_type}, not numbers")
    lengths = compute.fill_null(compute.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    count = np.bincount(lengths)
    count[0] = 0  # a row without a vector tells no width
    width = int(count.argmax())
    if odd := [number for number in np.flatnonzero((lengths != width) | (width == 0))]:
        raise ValueError(
            f"{path}: column {name!r} has vectors of {width} numbers, but other ones in {_rows(odd)}; embed these again"
        )
    values = column.flatten().cast(pyarrow.float32()).to_numpy(zero_copy_only=False)
    matrix = np.array(values).reshape(len(column), width)
    bad = ~np.isfinite(matrix).all(1) | ~matrix.any(1)
    if bad.any():
        raise ValueError(
            f"{path}: column {name!r} has vectors that are zero or not finite in {_rows(np.flatnonzero(bad))}; "
            "embed these again, or leave these rows out"
        )
    return matrix


def _rows(numbers: np.ndarray, shown: int = 20) -> str:
    """Rows as a reader counts them, from 1."""
    more = f" and {len(numbers) - shown} more" if len(numbers) > shown else ""
    return f"rows {', '.join(str(number + 1) for number in numbers[:shown])}{more}"


def _scale(path: Path, said: str | None) -> float:
    if said is None:
        return DEFAULT_SCALE
    try:
        scale = float(said)
    except ValueError:
        scale = 0.0
    if not 0 < scale < np.inf:
        raise ValueError(f"{path}: its metadata say `scale` {said!r}; an inverse temperature is a number above 0")
    return scale


def column_words(path: str | Path, column: str) -> list[str | None]:
    """A column of a file of embeddings as texts. Raises ValueError where the file has none of this name."""
    try:
        table = parquet.read_table(path, columns=[column])
    except (pyarrow.ArrowException, OSError, KeyError) as error:
        raise ValueError(f"{path}: column {column!r} cannot be read ({' '.join(str(error).split())})") from error
    if not table.column_names:
        known = ", ".join(parquet.read_schema(path).names)
        raise ValueError(f"{path} has no column {column!r}; its columns: {known}")
    return [None if value is None else str(value) for value in table[column].to_pylist()]
