"""What a derivation cost and counted: the small JSON record beside every derived file."""

from pathlib import Path

from hnclip.store import write_json


def write_record(path: Path, seconds: float, **counts: int | float | str) -> None:
    """Write the seconds and `counts` as a whole JSON file.

    To be called after the file that it describes is written: where there is a record, its file is whole.
    """
    write_json(path, {"seconds": round(seconds, 3), **counts})
