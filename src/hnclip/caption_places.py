"""What the option `captions` names: a file, a folder, or a pattern of files such as `shard-{000..009}.tar`."""

import glob
import json
import os
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

BRACES = re.compile(r"\{([^{}]*)\}")
READ = (".txt", ".tar", ".tgz", ".gz", ".json", ".jsonl", ".jsonlines", ".ndjson", ".csv", ".tsv", ".parquet", ".arrow")
SHARD = (".tar", ".tgz", ".tar.gz")


def is_pattern(captions: str) -> bool:
    """True for braces or wildcards, where there is no file or folder of that very name."""
    return any(letter in captions for letter in "{*?") and not Path(captions).exists()


def is_single(captions: str) -> bool:
    """True for a table of its own: no folder, no pattern, and no shard, whose bytes are too many to hash each time."""
    return not is_pattern(captions) and not Path(captions).is_dir() and not captions.lower().endswith(SHARD)


def expanded(pattern: str) -> list[str]:
    """The names that braces stand for: `{000..009}` are numbers, `{a,b}` are words."""
    found = BRACES.search(pattern)
    if not found:
        return [pattern]
    ends = re.fullmatch(r"(\d+)\.\.(\d+)", found[1])
    if ends:
        first, last = ends.groups()
        if int(last) < int(first) or int(last) - int(first) > 1_000_000:
            raise ValueError(f"{pattern}: {found[0]} must count up, such as {{000..009}}")
        words = [f"{number:0{len(first)}d}" for number in range(int(first), int(last) + 1)]
    elif "," in found[1]:
        words = found[1].split(",")
    else:
        raise ValueError(f"{pattern}: {found[0]} is neither {{000..009}} nor {{a,b}}")
    return [name for word in words for name in expanded(pattern[: found.start()] + word + pattern[found.end() :])]


def files_of(captions: str) -> list[Path]:
    """The files that a pattern names, or the one file. Raises FileNotFoundError naming every one that is not there."""
    if not is_pattern(captions):
        names = [captions]
    else:
        names = [found for name in expanded(captions) for found in _matches(name)]
    absent = [name for name in names if not Path(name).is_file()]
    if absent:
        more = f", and {len(absent) - 20} more" * (len(absent) > 20)
        raise FileNotFoundError(f"{captions}: no such file: {', '.join(absent[:20])}{more} (looked in {Path.cwd()})")
    return [Path(name) for name in names]


def _matches(name: str) -> list[str]:
    return (sorted(glob.glob(name)) or [name]) if glob.has_magic(name) else [name]


def visible_files(folder: Path) -> Iterator[str]:
    """The files of a folder and its folders by their paths within it, in order; hidden ones are left out.

    A folder that cannot be listed raises OSError: what is in it must not go missing in silence.
    """
    found = []
    for place, folders, files in os.walk(folder, onerror=_raise):
        folders[:] = [name for name in folders if not is_hidden(name)]
        within = Path(place).relative_to(folder)
        found += [(within / name).as_posix() for name in files if not is_hidden(name)]
    return iter(sorted(found))


def _raise(error: OSError) -> None:
    raise error


def is_hidden(name: str) -> bool:
    """True for what a system leaves among a person's files: `.DS_Store`, `._a.jpg`, `__MACOSX`."""
    return (name.startswith(".") and name not in (".", "..")) or name == "__MACOSX"


def state_of(captions: str) -> str:
    """A hash of the names, sizes and times of the files that captions are read from; another state, another hash.

    The bytes of shards and of thousands of texts are too many to be read at each look.
    """
    place = Path(captions)
    if place.is_dir():
        files = [place / name for name in visible_files(place) if name.lower().endswith(READ)]
    else:
        files = [path for path in files_of(captions) if path.is_file()]
    states = [(str(path), *_size_and_time(path)) for path in files]
    return sha256(json.dumps(states).encode("utf-8", "surrogateescape")).hexdigest()


def _size_and_time(path: Path) -> tuple[int, int]:
    """Of a link that leads nowhere no size: the preparation names it."""
    try:
        state = path.stat()
    except OSError:
        return -1, 0
    return state.st_size, state.st_mtime_ns
