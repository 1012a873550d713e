"""What is in a folder of captions, and which module reads it."""

from dataclasses import replace
from pathlib import Path

from hnclip.caption_places import SHARD, files_of, is_pattern, visible_files
from hnclip.data.captions import SUFFIXES, Table
from hnclip.data.problems import Problems
from hnclip.data.readers.datasets import is_saved, read_image_folder, read_repository, read_saved
from hnclip.data.readers.img2dataset import is_report, read_reports
from hnclip.data.readers.shards import read_shards
from hnclip.data.readers.txt import read_txt

METADATA = ("metadata.csv", "metadata.jsonl", "metadata.parquet")
ASIDE = ("dataset_info.json", "dataset_infos.json", "config.json")
_EXPECTED = (
    "a folder may have a .txt beside each image, webdataset's .tar shards, img2dataset's output, a dataset saved by "
    "save_to_disk, Parquet files with the images, metadata.csv or metadata.jsonl with a column file_name, or one table "
    "of captions"
)


def is_place(captions: str) -> bool:
    """True for a folder, a pattern or a shard: all that is no single table."""
    return is_pattern(captions) or Path(captions).is_dir() or captions.lower().endswith((*SHARD, ".arrow"))


def read_place(captions: str, layout: str | None, images: Path | None, lines: bool, problems: Problems) -> Table | Path:
    """The table of a folder, a pattern or a shard; the path of the one table that a folder has.

    Raises ValueError where nothing of it can be read, or where it may be read in two ways.
    """
    path = Path(captions)
    if path.is_dir():
        return _folder(path, layout, images, lines, problems)
    paths = files_of(captions)
    files = {file.name: file for file in paths}
    if len(files) < len(paths):
        files = {str(file): file for file in paths}
    if all(name.lower().endswith(SHARD) for name in files):
        return read_shards(path, files, lines, problems)
    if all(name.lower().endswith((".parquet", ".arrow")) for name in files):
        return replace(read_repository(path, files), start=paths[0].parent)
    raise ValueError(f"{captions}: a pattern names .tar, .parquet or .arrow files, not {', '.join(list(files)[:5])}")


def _folder(folder: Path, layout: str | None, images: Path | None, lines: bool, problems: Problems) -> Table | Path:
    names = list(visible_files(folder))
    found = _kinds(folder, names)
    kind = layout if layout not in (None, "table", "sharegpt4v", "karpathy", "goal") else next(iter(found), None)
    if kind is None or kind not in found:
        what = f"nothing to be read as {layout}" if layout else "no captions that can be read"
        raise ValueError(f"{folder} has {what} ({len(names)} files); {_EXPECTED}")
    chosen = found[kind]
    if kind == "datasets":
        return read_saved(folder) if is_saved(folder) else read_repository(folder, {n: folder / n for n in chosen})
    if kind == "imagefolder":
        return read_image_folder(folder, chosen, problems)
    if kind == "webdataset":
        return read_shards(folder, {name: folder / name for name in chosen}, lines, problems)
    if kind == "img2dataset":
        return read_reports(folder, chosen)
    if kind == "txt":
        return read_txt(folder, images, lines, problems)
    if len(chosen) > 1 or "txt" in found:
        others = " and .txt files" * ("txt" in found)
        raise ValueError(
            f"{folder} has {', '.join(chosen)}{others}; which are the captions? Name the file"
            + ", or set layout: txt" * ("txt" in found)
        )
    return folder / chosen[0]


def _kinds(folder: Path, names: list[str]) -> dict[str, list[str]]:
    """The files of each kind that the folder has, the surest kind first."""
    found: dict[str, list[str]] = {}
    if is_saved(folder):
        found["datasets"] = names
    found["imagefolder"] = [name for name in names if name.rsplit("/", 1)[-1] in METADATA]
    found["webdataset"] = [name for name in names if name.lower().endswith(SHARD)]
    arrow = [
        name for name in names if name.lower().endswith((".parquet", ".arrow")) and name not in found["imagefolder"]
    ]
    reports = [name for name in arrow if is_report(folder / name)] if not is_saved(folder) else []
    found["img2dataset"] = reports
    found.setdefault("datasets", [name for name in arrow if name not in reports])
    found["tables"] = [name for name in names if "/" not in name and _is_table(name)]
    found["txt"] = [name for name in names if name.lower().endswith(".txt")]
    return {kind: files for kind, files in found.items() if files}


def _is_table(name: str) -> bool:
    lower = name.lower()
    return lower.endswith((*SUFFIXES, ".json")) and not lower.endswith("_stats.json") and lower not in ASIDE
