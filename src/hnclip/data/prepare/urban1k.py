"""Urban-1K: 1,000 city pictures of Visual Genome with a caption of about 107 words each; a test set.

The archive holds `Urban1k/image/N.jpg` and `Urban1k/caption/N.txt`. Pairs are made by their number, and a caption is
its whole file, spaces at its ends removed: the published evaluation reads the first line alone, and pairs the files in
the order in which a folder lists them. An image's id is its number.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hnclip.data.captions import visible
from hnclip.data.prepared_rows import Pair, write_splits
from hnclip.data.problems import Problems
from hnclip.data.published import Counts, check_counts, check_names
from hnclip.data.sources import fetched
from hnclip.options import from_dict

SOURCES = ("urban1k",)
PICTURES_OF = "visual_genome"  # renamed and compressed anew, so that near copies of what is trained on are counted
ARCHIVE = "Urban1k.zip"
PUBLISHED = {"urban1k": {"test": 1000}}
_WAY_OUT = "fetch the archive again, or leave the pairs out: option `drop`"
_NOTE = "published results are on all 1,000 pairs; a number with a picture or a caption alone counts here"
_SUFFIXES = {"image": (".jpg", ".jpeg"), "caption": (".txt",)}


@dataclass(frozen=True)
class Options:
    """What differs from the published archive.

    drop: numbers to leave out, such as 592, whose caption is empty in an older archive. counts: `published`, the number
    of pairs before that (`{test: 1000}`), or null for as many as there are.
    """

    drop: tuple[int, ...] = ()
    counts: Counts = "published"

    def __post_init__(self):
        check_names(self.counts, ["test"])


def splits(options: dict[str, Any]) -> list[str]:
    """The splits that `prepare` would write."""
    from_dict(Options, options, "urban1k")
    return ["test"]


def prepare(options: dict[str, Any], folder: Path) -> None:
    """Write the manifest. Raises ValueError naming every number that lacks its picture or its caption."""
    wanted = from_dict(Options, options, "urban1k")
    problems = Problems()
    root = _root(fetched(Path(folder), "urban1k")[f"{ARCHIVE}/"])
    images, captions = (_numbered(root / name, problems) for name in _SUFFIXES)
    numbers = sorted(images.keys() | captions.keys())
    for number in sorted(set(wanted.drop) - set(numbers)):
        problems.add("numbers in the option `drop` that the archive does not have (remove them)", str(number))
    check_counts({"test": len(numbers)}, wanted.counts, "urban1k", PUBLISHED, problems, _NOTE)
    pairs = []
    for number in (number for number in numbers if number not in wanted.drop):
        for what, found in (("picture", images), ("caption", captions)):
            if number not in found:
                problems.add(f"numbers without a {what} ({_WAY_OUT})", str(number))
        if number in images and number in captions:
            pairs.append(Pair(str(number), images[number], _caption(captions[number], problems), "test"))
    print(f"urban1k: {len(numbers)} numbers in the archive; left out: {', '.join(map(str, wanted.drop)) or 'none'}")
    write_splits(Path(folder), [pair for pair in pairs if pair.caption], ["test"], problems, _WAY_OUT)


def _root(unpacked: Path) -> Path:
    """The folder with `image` and `caption` in it: the archive's own first folder, whatever its name."""
    candidates = [unpacked, *sorted(path for path in unpacked.iterdir() if path.is_dir())]
    for candidate in candidates:
        if all((candidate / name).is_dir() for name in _SUFFIXES):
            return candidate
    raise FileNotFoundError(
        f"{unpacked} is no unpacked {ARCHIVE}: no folder in it has the folders `image` and `caption` "
        f"(it has {', '.join(path.name for path in candidates[1:]) or 'none'}); delete it and fetch it again"
    )


def _numbered(folder: Path, problems: Problems) -> dict[int, Path]:
    """The files of a folder by their number; hidden files are passed over, other names go to `problems`."""
    found: dict[int, Path] = {}
    suffixes = _SUFFIXES[folder.name]
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if not (path.stem.isascii() and path.stem.isdigit() and path.suffix.lower() in suffixes):
            problems.add(f"files that are not named NUMBER{suffixes[0]} (remove or rename them)", str(path))
        elif found.setdefault(int(path.stem), path) != path:
            problems.add("two files of one number (remove one)", f"{found[int(path.stem)]} and {path}")
    return found


def _caption(path: Path, problems: Problems) -> str:
    """The whole text, spaces and line ends at both ends removed; empty where it cannot be used."""
    try:
        text = path.read_bytes().decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        problems.add(
            "captions that are not UTF-8 (save them as UTF-8)", f"{path}: {error.reason} at byte {error.start}"
        )
        return ""
    if visible(text):
        return text
    problems.add(
        "empty captions (an older archive has one, 592: fetch the present one, or leave the pair out: `drop: [592]`)",
        str(path),
    )
    return ""
