"""Visual Genome paragraphs (Krause et al., CVPR 2017): a paragraph for each of 19,551 pictures of Visual Genome.

`paragraphs_v1.json` is a list of {"image_id", "url", "paragraph"}; `train_split.json`, `val_split.json` and
`test_split.json` are lists of image ids; the pictures are IMAGE_ID.jpg in the archives' folders VG_100K and VG_100K_2.
An image's id is its IMAGE_ID. A caption is its paragraph with the spaces at both ends removed, and as published inside.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hnclip.data.assign import read_ids
from hnclip.data.captions import visible
from hnclip.data.prepared_rows import Pair, write_splits
from hnclip.data.problems import Problems
from hnclip.data.published import Counts, check_counts, check_names
from hnclip.data.sources import fetched
from hnclip.data.vg_files import read_paragraphs, read_photos, read_split_lists
from hnclip.options import from_dict
from hnclip.store import write_json

SOURCES = ("visual_genome",)
PUBLISHED = {"published": {"train": 14575, "val": 2487, "test": 2489}}
SPLITS = tuple(PUBLISHED["published"])
_WAY_OUT = "fetch images.zip and images2.zip again, or leave these images out: option `exclude`"


@dataclass(frozen=True)
class Options:
    """What is used of the published files.

    exclude: a text file of image ids to leave out, one a line: your own, or one that the workflow makes,
    results/overlap/THIS_KIND/train/urban1k/test.txt, where THIS_KIND is another entry of this kind without `exclude`.
    repeats: some pictures have two paragraphs; `first` keeps the first in the file, as studies of these paragraphs do,
    `all` each that differs, as several captions of one image. counts: `published`, the images that each split must have
    before `exclude` (those named), or null for as many as there are.
    """

    exclude: str | None = None
    repeats: Literal["first", "all"] = "first"
    counts: Counts = "published"

    def __post_init__(self):
        check_names(self.counts, SPLITS)


def splits(options: dict[str, Any]) -> list[str]:
    """The splits that `prepare` would write."""
    from_dict(Options, options, "vg_paragraphs")
    return list(SPLITS)


def prepare(options: dict[str, Any], folder: Path) -> None:
    """Write the manifests, and `counts.json`: what each split was made from. Raises ValueError naming every fault."""
    wanted = from_dict(Options, options, "vg_paragraphs")
    files = fetched(Path(folder), "visual_genome")
    problems, warnings = Problems(), Problems()
    told = read_paragraphs(files, problems)
    listed = read_split_lists(files, SPLITS, problems, warnings)
    out = _excluded(wanted, told.keys() | listed.keys(), problems)
    counts = {split: _count(split, listed, told, out) for split in SPLITS}
    check_counts(
        {split: count["images"] for split, count in counts.items()},
        wanted.counts,
        "published",
        PUBLISHED,
        problems,
        _count_note(counts, len(told.keys() - listed.keys())),
    )
    for split, count in counts.items():
        print(f"{split}: {', '.join(f'{number:,} {what}' for what, number in count.items())}")
    for name in told:
        if name not in listed:
            warnings.add("paragraphs of images that no id list has, left out", name)
    split_of = {name: split for name, split in listed.items() if name not in out}
    pairs = _pairs(wanted, told, split_of, read_photos(files, problems), problems)
    write_splits(Path(folder), pairs, list(SPLITS), problems, _WAY_OUT, warnings)
    several = {name: len(captions) for name, captions in told.items() if len(captions) > 1}
    write_json(Path(folder) / "counts.json", {"splits": counts, "several_paragraphs": several, "excluded": sorted(out)})


def _excluded(wanted: Options, known: set[str], problems: Problems) -> set[str]:
    """The image ids to leave out; an id that the files do not have means that the list is another's."""
    listed = read_ids(Path(wanted.exclude), "list of ids (option `exclude`)") if wanted.exclude else []
    for name in listed:
        if name not in known:
            problems.add("ids in the list `exclude` that Visual Genome's paragraphs do not have", f"{name!r}")
    return known.intersection(listed)


def _count(split: str, listed: dict[str, str], told: dict[str, list[str]], out: set[str]) -> dict[str, int]:
    names = [name for name, its in listed.items() if its == split]
    return {
        "ids in the list": len(names),
        "images": sum(name in told for name in names),
        "paragraphs": sum(len(told.get(name, ())) for name in names),
        "excluded": sum(name in out for name in names),
    }


def _count_note(counts: dict[str, dict[str, int]], unlisted: int) -> str:
    """What was found against what was published, for a message about counts."""
    paragraphs = ", ".join(f"{split} {count['paragraphs']:,}" for split, count in counts.items())
    return (
        "commonly cited: 19,551 images with 19,561 paragraphs, where the conversion behind these counts puts an image "
        "of no list into test; the paper of the boosted loss states 14,579 for training, and no list of them is public "
        "(it may have counted paragraphs, where pictures have two: option `repeats: all`); "
        f"paragraphs found: {paragraphs}; images in no list: {unlisted:,}"
    )


def _pairs(
    wanted: Options,
    told: dict[str, list[str]],
    split_of: dict[str, str],
    photos: dict[str, Path],
    problems: Problems,
) -> list[Pair]:
    """One pair a caption, in the order of the paragraphs; what is missing or empty goes to `problems`."""
    for name in split_of:
        if name not in told:
            problems.add("ids in a list without a paragraph (leave them out: option `exclude`)", name)
    pairs = []
    for name, captions in told.items():
        if name not in split_of:
            continue
        if name not in photos:
            problems.add(f"images that the unpacked archives do not have ({_WAY_OUT})", f"{name}.jpg")
            continue
        for caption in captions[:1] if wanted.repeats == "first" else dict.fromkeys(captions):
            if visible(caption):
                pairs.append(Pair(name, photos[name], caption, split_of[name]))
            else:
                problems.add("empty paragraphs (leave their images out: option `exclude`)", name)
    return pairs
