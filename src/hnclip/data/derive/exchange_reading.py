"""Reads the nested JSON that GOAL and StructXLIP exchange; its format is told in `hnclip.data.derive.exchange`."""

import math
from pathlib import Path, PurePosixPath
from typing import Any

import pandas

from hnclip.data.derive.sentence_places import find
from hnclip.data.json_text import read_once

ENTRY = {"original_filename": str, "original_caption": str, "segment": list}
SEGMENT = {"caption": str, "similarity_score": (int, float), "bbox_coordinates": dict}
SIDES = {"left": "x1", "top": "y1", "right": "x2", "bottom": "y2"}


def read_exchange(path: Path, frame: pandas.DataFrame) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Rows of the table of regions for the images of a manifest, and counts.

    Images are found by file name, captions by text, sentences by search in the caption (`sentence_range`, which our
    own files have, says which of several equal ones). Images that the manifest lacks, such as those of another split,
    are counted as `images_elsewhere`. Raises ValueError naming every fault.
    """
    entries = read_once(path)
    if not isinstance(entries, list):
        raise ValueError(f"{path}: expected a list of images with their regions, got {type(entries).__name__}")
    by_name: dict[str, list[int]] = {}
    for row, image in enumerate(frame["image"]):
        by_name.setdefault(base_name(image), []).append(row)
    rows: list[dict[str, Any]] = []
    faults: list[str] = []
    elsewhere: set[str] = set()
    for number, entry in enumerate(entries):
        where = f"entry {number}"
        try:
            name, text, segments = _values(entry, ENTRY)
            where += f" ({name})"
            if base_name(name) not in by_name:
                elsewhere.add(base_name(name))
                continue
            caption = _caption(frame, by_name[base_name(name)], text)
        except ValueError as error:
            faults.append(f"{where}: {error}")
            continue
        for index, segment in enumerate(segments):
            try:
                rows.append(_row(segment, frame, caption))
            except ValueError as error:
                faults.append(f"{where}, segment {index}: {error}")
    if not faults and not rows:
        faults = [f"it has no region of any image of this manifest ({len(entries)} entries): of another split?"]
    if faults:
        raise ValueError("\n  ".join([f"{path} cannot be used for this manifest, correct it:", *faults]))
    return rows, {"regions_proposed": len(rows), "regions_kept": len(rows), "images_elsewhere": len(elsewhere)}


def base_name(name: str) -> str:
    """The last part of a path, however its folders are separated."""
    return PurePosixPath(name.replace("\\", "/")).name


def _values(record: Any, kinds: dict[str, Any]) -> list[Any]:
    if not isinstance(record, dict):
        raise ValueError(f"expected {', '.join(kinds)}, got {record!r}")
    faults = [
        key for key, kind in kinds.items() if not isinstance(record.get(key), kind) or isinstance(record[key], bool)
    ]
    if faults:
        raise ValueError(f"missing or of the wrong kind: {', '.join(faults)}")
    return [record[key] for key in kinds]


def _caption(frame: pandas.DataFrame, rows: list[int], text: str) -> int:
    """The one row with this caption."""
    names = frame["id"].iloc[rows].unique()
    if len(names) > 1:
        raise ValueError(f"several images of the manifest have this file name: {', '.join(names)}")
    found = [row for row in rows if frame["caption"].iloc[row].split() == text.split()]
    if len(found) != 1:
        raise ValueError(f"{len(found)} captions of this image in the manifest are {text!r}")
    return found[0]


def _row(segment: Any, frame: pandas.DataFrame, caption: int) -> dict[str, Any]:
    sentence, score, box = _values(segment, SEGMENT)
    text, width, height = (frame[key].iloc[caption] for key in ("caption", "width", "height"))
    place = _place(text, sentence, segment.get("sentence_range"))
    if not math.isfinite(score):
        raise ValueError(f"similarity_score is {score}")
    sides = {side: box.get(key) for side, key in SIDES.items()}
    if not all(type(value) in (int, float) and value == value // 1 for value in sides.values()):
        raise ValueError(f"x1, y1, x2, y2 are to be whole pixels of the image, got {box}")
    sides = {side: int(value) for side, value in sides.items()}
    if not (0 <= sides["left"] < sides["right"] <= width and 0 <= sides["top"] < sides["bottom"] <= height):
        raise ValueError(f"the box {list(sides.values())} is empty or leaves the image of {width} x {height} pixels")
    row = {"id": frame["id"].iloc[caption], "caption": caption, **sides, "start": place[0], "end": place[1]}
    return {**row, "score": score / 100}


def _place(text: str, sentence: str, given: Any) -> tuple[int, int]:
    """Where the sentence stands in the caption: where the file says, else the first place."""
    place = find(text, sentence)
    if place is None:
        raise ValueError(f"the sentence {sentence!r} is not in the caption")
    if given is None:
        return place
    if not (isinstance(given, list) and len(given) == 2 and all(type(value) is int for value in given)):
        raise ValueError(f"sentence_range is to be two whole numbers, got {given!r}")
    if not 0 <= given[0] < given[1] or text[given[0] : given[1]].split() != sentence.split():
        raise ValueError(f"sentence_range {given} is not the place of {sentence!r} in the caption")
    return given[0], given[1]
