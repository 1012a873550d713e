"""Which model a file of embeddings is of: `hnclip embed` writes it into the file's metadata. No torch."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hnclip.store import sha256_of
from hnclip.tower_files import tower_files


@dataclass(frozen=True)
class Maker:
    """A model as it was named, its encoder's identity, and its backbone's entry with whole paths.

    The entry is None where it does not tell all of the model: of a run that maps embeddings itself.
    """

    model: str
    identity: str
    entry: dict[str, Any] | None

    def metadata(self) -> dict[str, str]:
        """What a Parquet file of its embeddings says of it."""
        told = {"model": self.model, "identity": self.identity}
        return told | ({"entry": json.dumps(self.entry, sort_keys=True)} if self.entry else {})


def maker_of(file: Path) -> Maker | None:
    """The model that made a file's embeddings; None where the file does not say.

    Raises ValueError for a file that is no Parquet.
    """
    import pyarrow
    from pyarrow import parquet

    try:
        metadata = parquet.read_schema(file).metadata or {}
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{file} is no Parquet file ({' '.join(str(error).split())})") from error
    told = {name.decode(): value.decode() for name, value in metadata.items() if name in (b"model", b"identity")}
    if len(told) < 2:
        return None
    return Maker(**told, entry=json.loads(metadata.get(b"entry", b"null")))


def mapped(run: Path, home: Path, record: dict[str, Any]) -> Maker:
    """The model whose embeddings, given as a file, a run with this record maps; paths of the record start in `home`.

    Raises ValueError where it cannot be told (another program's embeddings, or a file that has gone or changed since
    the run was trained), and where its own files have gone.
    """
    given = record["config"]["backbone"]
    file = home / given["file"]
    if not file.is_file():
        raise ValueError(
            f"{run} maps embeddings of {file}, and that file, which says what model made them, is not there: put it "
            "back in its place (a link does)"
        )
    maker = maker_of(file)
    own_columns = [given.get(f"{side}_column", side) for side in ("image", "text")] != ["image", "text"]
    if maker is None or own_columns:
        raise ValueError(
            f"{run} maps embeddings that were given as a file ({given['file']}): it has no model for pictures or texts "
            "of your own"
        )
    if maker.entry is None:
        raise ValueError(
            f"{run} maps embeddings by {maker.model}, and their file ({file}) does not say how that is loaded: it maps "
            "embeddings itself, or an earlier hnclip wrote the file. Embed again with a model that has towers, and run "
            "the study again"
        )
    stat = file.stat()
    if _hash(file.absolute(), stat.st_size, stat.st_mtime_ns) != record.get("files", {}).get(given["file"]):
        raise ValueError(
            f"{run} was trained on other embeddings than {file} holds now, so what model it maps is not known: put the "
            "old file back, or run its study again"
        )
    _check_there(run, file, maker)
    return maker


@cache
def _hash(file: Path, size: int, changed: int) -> str:
    """The hash of a file of this size and time of change, which is read once."""
    return sha256_of(file)


def _check_there(run: Path, file: Path, maker: Maker) -> None:
    try:
        gone = [path for path in tower_files(maker.entry) if not Path(path).is_file()]
    except (ValueError, OSError, ImportError) as error:
        gone = [str(error)]
    if gone:
        raise ValueError(
            f"{run} maps embeddings by {maker.model} (so says {file}), which is not there any more: {', '.join(gone)}. "
            "Put it back in its place (a link does), or embed again by `hnclip embed` from where it is now, and run "
            "the study again"
        )
