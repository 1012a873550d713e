"""The shards of a split's regions become one table, the same as from a single job.

`python -m hnclip.data.derive.join_segments MANIFEST SHARD.parquet ... OUT.parquet RECORD.json` joins them; beside each
shard lies its record.
"""

import argparse
from pathlib import Path

from hnclip.command import run
from hnclip.data.derive.record import write_record
from hnclip.data.derive.segment_table import read_segments_of, refuse_none, write_segments
from hnclip.data.manifest import read_manifest
from hnclip.store import read_json


def write(manifest_path: Path, shards: list[Path], out: Path, record: Path) -> None:
    """Join all shards of a manifest; seconds and counts are summed.

    Raises ValueError where a shard is missing, comes twice or belongs to another manifest.
    """
    manifest = read_manifest(manifest_path)
    records = [read_json(path.with_suffix(".json")) for path in shards]
    given = [tuple(one.pop("shard", ())) for one in records]
    expected = [(number, len(shards)) for number in range(1, len(shards) + 1)]
    if sorted(given) != expected:
        named = ", ".join(f"{path} ({' of '.join(map(str, one))})" for path, one in zip(shards, given, strict=True))
        raise ValueError(
            f"{out} was not written: shards 1 to {len(shards)} must be given, each once; these are {named}"
        )
    tables = [read_segments_of(path, manifest) for path in shards]
    total = {key: sum(one[key] for one in records) for key in records[0]}
    if total["captions"] != len(manifest):
        raise ValueError(
            f"{out} was not written: {manifest_path} has {len(manifest)} captions, its shards {total['captions']}; "
            f"they belong to another manifest: delete {shards[0].parent} and run again"
        )
    refuse_none(out, total["rows"], total["images"])
    write_segments(out, [row for table in tables for row in table.to_dict("records")])
    write_record(record, total.pop("seconds"), **total)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m hnclip.data.derive.join_segments", description=__doc__.splitlines()[0]
    )
    parser.add_argument("manifest", type=Path, help="the split's SPLIT.parquet")
    parser.add_argument("shards", type=Path, nargs="+", help="written by hnclip.data.derive.segments --shard")
    parser.add_argument("out", type=Path, help="the table of regions to write, .parquet")
    parser.add_argument("record", type=Path, help="the seconds and counts to write, .json")
    given = parser.parse_args()
    write(given.manifest, given.shards, given.out, given.record)


if __name__ == "__main__":
    run(main)
