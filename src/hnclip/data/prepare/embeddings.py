"""A person's own embeddings of images and captions, from any model: a Parquet file with one row a caption.

Nothing is looked at but embeddings, ids and what the file says beside them: pictures may be elsewhere, or nowhere.
"""

from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from hnclip.data.assign import check_splitting, in_splits
from hnclip.data.captions import visible
from hnclip.data.folder_checks import Facts, check_characters, check_leaks, check_rows
from hnclip.data.manifest import write_manifest
from hnclip.data.prepared_rows import manifest_rows, tell
from hnclip.data.problems import Problems
from hnclip.data.rows import Row
from hnclip.data.vectors import column_words, read_vectors
from hnclip.options import from_dict

CACHED = True  # it has no pixels, and maybe no words: only frameworks on cached embeddings train on it


@dataclass(frozen=True)
class Options:
    """Which columns of `file` hold what, and how its images are split; give exactly one of the three split options.

    id_column: the image's id, shared by its captions. image_column, text_column: the embeddings, which a backbone of
    kind `embeddings` reads too. caption_column: the words, where the file has them: equal ones are relevant to each
    other, and galleries show them. path_column: the picture's file, for galleries, from the folder `images` on.
    split_column, split_lists, split_hash, family_column: as in kind `folder`.
    """

    file: str
    id_column: str = "id"
    image_column: str = "image"
    text_column: str = "text"
    caption_column: str | None = None
    path_column: str | None = None
    images: str | None = None
    split_column: str | None = None
    split_lists: dict[str, str] | None = None
    split_hash: dict[str, int] | None = None
    family_column: str | None = None

    def __post_init__(self):
        check_splitting(self)


def splits(options: dict[str, Any]) -> list[str]:
    """The splits that `prepare` would write."""
    wanted = from_dict(Options, options, "embeddings")
    if not wanted.split_column:
        return list(wanted.split_lists or wanted.split_hash or {})
    found = column_words(wanted.file, wanted.split_column)
    return list(dict.fromkeys(name for name in found if isinstance(name, str) and name.strip()))


def prepare(options: dict[str, Any], folder: Path) -> None:
    """Write each split's manifest.

    Raises ValueError naming all faults; the whole list is then in `folder/problems.txt`.
    """
    wanted = from_dict(Options, options, "embeddings")
    problems, warnings = Problems(), Problems()
    vectors = read_vectors(Path(wanted.file), wanted.id_column, wanted.image_column, wanted.text_column)
    rows, facts = _rows(wanted, vectors.ids, vectors.image_CD, problems)
    rows = in_splits(rows, wanted, problems, warnings)
    check_rows(rows, problems, warnings)
    check_characters(rows, warnings, published=True)
    check_leaks(rows, facts, problems, warnings)
    problems.stop(f"the embeddings of {wanted.file} cannot be used", Path(folder) / "problems.txt")
    tell(warnings, f"the embeddings of {wanted.file} can be used; worth a look:", Path(folder) / "warnings.txt")
    for split in dict.fromkeys([*splits(options), *(row.split for row in rows)]):
        chosen = [row for row in rows if row.split == split]
        print(f"{split}: {len({row.id for row in chosen})} images, {len(chosen)} captions")
        write_manifest(Path(folder) / f"{split}.parquet", manifest_rows(chosen, facts))


def _rows(wanted: Options, ids: list[str], image_CD: Any, problems: Problems) -> tuple[list[Row], Facts]:
    """One row a caption; the hash of an image is that of its embedding, its size is not known.

    Rows of one id whose image embeddings differ go to `problems`.
    """
    captions, paths, families, named = (
        column_words(wanted.file, column) if column else [None] * len(ids)
        for column in (wanted.caption_column, wanted.path_column, wanted.family_column, wanted.split_column)
    )
    start = Path(wanted.images or Path(wanted.file).parent).absolute()
    rows: list[Row] = []
    hashes: dict[str, str] = {}
    facts: Facts = {}
    count: Counter[str] = Counter()
    for number, name in enumerate(ids):
        where, caption = f"row {number + 1}", captions[number]
        if wanted.caption_column and not (isinstance(caption, str) and visible(caption)):
            problems.add(f"empty {wanted.caption_column!r} (fill them in or remove the rows)", where)
        if wanted.split_column and not named[number]:
            problems.add(f"empty {wanted.split_column!r} (fill them in or remove the rows)", where)
        told = sha256(image_CD[number].tobytes()).hexdigest()
        if hashes.setdefault(name, told) != told:
            problems.add("ids with two embeddings of their image (keep one)", f"{name!r} ({where})")
        path = start / (paths[number] or name)
        facts[path] = (told, 0, 0)
        words = caption if wanted.caption_column else f"{name} #{count[name]}"
        count[name] += 1
        rows.append(Row(where, name, path, words or "", families[number] or name, named[number] or ""))
    return rows, facts
