"""Captions with their images and splits become the manifests of a benchmark, every image looked at first."""

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from hnclip.data.captions import visible
from hnclip.data.folder_checks import Facts, check_characters, check_leaks, check_rows, look_at_images
from hnclip.data.manifest import write_manifest
from hnclip.data.problems import FEW_IMAGES, Problems, few_images
from hnclip.data.rows import Row, adjacent
from hnclip.data.sentences import split_sentences

LONG_WORDS = 180  # about 248 tokens


@dataclass(frozen=True)
class Pair:
    """One caption of one image; pairs of one image share its id. `family`: images that belong together, or none."""

    id: str
    image: Path
    caption: str
    split: str
    family: str | None = None


def write_splits(
    folder: Path,
    rows: list[Pair],
    splits: list[str],
    problems: Problems | None = None,
    way_out: str = "fetch the source again",
    warnings: Problems | None = None,
) -> None:
    """Look at every image, then write `folder/SPLIT.parquet` for each of the splits.

    Captions stay as they are (newlines and non-breaking spaces are spaces to a tokenizer) but for byte order marks,
    which are removed. `problems`, `warnings`: what was found before; `way_out`: what to do about missing images.
    Raises ValueError naming every fault: ids of two images or in two splits, repeated or empty captions, images that
    are missing or cannot be read, splits with fewer than 2 images; `folder/problems.txt` then has the whole list, and
    nothing is written. The same image under two ids is published so: it goes to `folder/warnings.txt`.
    """
    problems, warnings = problems or Problems(), warnings or Problems()
    table = [_row(pair) for pair in rows]
    for row in table:
        if row.split not in splits:
            problems.add(f"rows in a split that the benchmark does not have ({', '.join(splits)})", f"{row.id!r}")
        if not visible(row.caption):
            problems.add("empty captions", row.id)
    check_rows(table, problems, warnings)
    check_characters(table, warnings, published=True)
    facts = look_at_images(_present(table, way_out, problems), problems)
    check_leaks(table, facts, warnings, warnings)
    for line in few_images({split: len({row.id for row in table if row.split == split}) for split in splits}):
        problems.add(FEW_IMAGES, line)
    problems.stop("the data of this benchmark cannot be used", Path(folder) / "problems.txt")
    tell(warnings, "the data of this benchmark can be used; worth a look:", Path(folder) / "warnings.txt")
    for split in splits:
        chosen = [row for row in table if row.split == split]
        print_summary(split, chosen, LONG_WORDS)
        write_manifest(Path(folder) / f"{split}.parquet", manifest_rows(chosen, facts))


def _row(pair: Pair) -> Row:
    caption = pair.caption.replace("\ufeff", "")
    return Row(f"image {pair.id}", pair.id, Path(pair.image).absolute(), caption, pair.family or pair.id, pair.split)


def _present(rows: list[Row], way_out: str, problems: Problems) -> list[Row]:
    """The rows whose image is there; the others go to `problems`."""
    there = {path: path.exists() for path in dict.fromkeys(row.path for row in rows)}
    for path, found in there.items():
        if not found:
            problems.add(f"images that are not there ({way_out})", str(path))
    return [row for row in rows if there[row.path]]


def tell(warnings: Problems, what: str, record: Path) -> None:
    """Print the first of each kind of warning; the whole list goes to `record`."""
    for line in warnings.lines(5):
        print(f"warning: {line}")
    if warnings.keep(what, record):
        print(f"warning: the whole list is in {record}")


def clear(folder: Path) -> None:
    """Remove a folder that data was prepared in; the list of warnings, which `tell` has named, stays."""
    kept = Path(folder) / "warnings.txt"
    words = kept.read_bytes() if kept.is_file() else None
    shutil.rmtree(folder)
    if words is not None:
        kept.parent.mkdir()
        kept.write_bytes(words)


def manifest_rows(rows: list[Row], facts: Facts) -> list[dict[str, Any]]:
    """One row a caption; captions of one image come together, images in the order of the table."""
    made = []
    for row in adjacent(rows):
        sentences = split_sentences(row.caption)
        sha256, width, height = facts[row.path]
        made.append(
            {
                "id": row.id,
                "image": str(row.path),
                "caption": row.caption,
                "sentences": sentences,
                "boxes": [None] * len(sentences),
                "family": row.family,
                "split": row.split,
                "width": width,
                "height": height,
                "sha256": sha256,
            }
        )
    return made


def print_summary(split: str, rows: Iterable[Row], long_words: int) -> None:
    """Print how many images and captions a split has, and how long they are."""
    words = [len(row.caption.split()) for row in rows]
    over = sum(count > long_words for count in words) / len(words)
    images = len({row.id for row in rows})
    print(
        f"{split}: {images} images, {len(words)} captions of {median(words):.0f} words (median), "
        f"{over:.1%} over {long_words} words"
    )
