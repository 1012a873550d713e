"""Webdataset shards: tar files with KEY.jpg and KEY.txt or KEY.json for each image."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from hnclip.caption_places import is_hidden
from hnclip.data.archives import read_archive
from hnclip.data.captions import Table, half_character
from hnclip.data.json_text import parse_once
from hnclip.data.members import Member
from hnclip.data.pictures import SUFFIXES, Absent, Picture
from hnclip.data.problems import Problems
from hnclip.data.readers.img2dataset import tell_failed
from hnclip.data.readers.joining import with_split
from hnclip.data.readers.txt import as_caption
from hnclip.data.unpack import DAMAGE

UNREADABLE = "members of shards that cannot be read (repair them)"
DAMAGED = "shards that cannot be read (fetch or write them again)"
OTHER = "members of shards that are neither image nor caption, not read"
TEXTS = ("txt", "text", "caption")
MOST = 2**30  # bytes of one member


@dataclass
class _Sample:
    key: str
    shard: str
    image: Picture | None = None
    text: Any = None
    record: dict[str, Any] | None = None
    unreadable: bool = False


def read_shards(path: Path, files: dict[str, Path], lines: bool, problems: Problems) -> Table:
    """One row a key; `files` has the shards by the names that messages call them, `path` what named all of them.

    The columns are `key`, `image`, those of the JSON, and `caption` where there are texts.
    """
    notes = Problems()
    members: dict[str, dict[str, Picture]] = {}
    samples: list[_Sample] = []
    for name, file in files.items():
        found: dict[str, _Sample] = {}
        members[name] = {}
        try:
            for member, stream in read_archive(file):
                _add(found, member, stream, name, members[name], lines, problems, notes)
        except DAMAGE as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            problems.add(DAMAGED, f"{name}: it is damaged or cut short ({error or type(error).__name__})")
            del members[name]
            continue
        samples += [sample for sample in found.values() if not sample.unreadable]
        tell_failed(file, notes)
    if not samples:
        unread = "\n  ".join(problems.lines(5))
        raise ValueError(f"{path}: no image and no caption is in it" + f"\n  {unread}" * bool(unread))
    texts = any(sample.text is not None for sample in samples)
    rows = [(f"{sample.shard}: {sample.key}", _row(sample, texts, notes)) for sample in samples]
    columns = list(dict.fromkeys(key for _, row in rows for key in row))

    def pictures() -> Iterator[tuple[Picture, bytes]]:
        for name, known in members.items():
            for member, stream in read_archive(files[name]):
                if stream is not None and (picture := known.get(member.name)):
                    yield picture, stream.read()

    table = Table(path, columns, rows, start=path.parent, pictures=pictures, notes=notes, read_as="webdataset shards")
    return with_split(table, [sample.shard for sample in samples])


def _add(
    found: dict[str, _Sample],
    member: Member,
    stream: BinaryIO | None,
    shard: str,
    members: dict[str, Picture],
    lines: bool,
    problems: Problems,
    notes: Problems,
) -> None:
    """Put one member into its sample."""
    name = member.name.removeprefix("./")
    folder, _, base = name.rpartition("/")
    if member.kind == "folder" or any(map(is_hidden, name.split("/"))):
        return
    if stream is None or member.size > MOST:
        problems.add(UNREADABLE, f"{shard}: {name} is a {member.kind if stream is None else 'file of over 1 GiB'}")
        return
    key, _, kind = base.partition(".")
    kind = kind.lower()
    if f".{kind}" not in SUFFIXES and kind not in (*TEXTS, "json"):
        notes.add(OTHER, f"{shard}: {name}")
        return
    key = f"{folder}/{key}" if folder else key
    sample = found.setdefault(key, _Sample(key, shard))
    if f".{kind}" in SUFFIXES:
        if sample.image:
            problems.add(UNREADABLE, f"{shard}: {name} is a second image of its key")
        sample.image = members[member.name] = Picture(name)
        return
    try:
        _read_text(sample, kind, stream.read(), lines)
    except (ValueError, RecursionError) as error:
        problems.add(UNREADABLE, f"{shard}: {name}: {error}")
        sample.unreadable = True


def _read_text(sample: _Sample, kind: str, data: bytes, lines: bool) -> None:
    if kind in TEXTS:
        if sample.text is not None:
            raise ValueError("a second text of its key")
        sample.text = as_caption(data, lines)
        return
    if sample.record is not None:
        raise ValueError("a second JSON of its key")
    record = parse_once(data.decode("utf-8-sig"))
    if not isinstance(record, dict):
        raise ValueError('expected an object such as {"caption": ...}')
    if half := half_character(record):
        raise ValueError(f"{half} is half a character; write the whole one")
    sample.record = record


def _row(sample: _Sample, texts: bool, notes: Problems) -> dict[str, Any]:
    where = f"{sample.shard}: {sample.key}"
    absent = Absent(f"no image has this key ({sample.key}.jpg, {sample.key}.png, ...)")
    record = sample.record or {}
    row = {**record, "key": sample.key, "image": sample.image or absent}
    if texts:
        written = record.get("caption")
        if written is not None and sample.text is not None and written != sample.text:
            notes.add("captions that differ in .txt and .json, that of .txt taken", where)
        row["caption"] = written if sample.text is None else sample.text
    return row
