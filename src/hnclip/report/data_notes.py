"""Sentences about a study's data: test images that were trained on, non-commercial licences, rotated pictures."""

from collections.abc import Iterable

from hnclip.report.load import Study, named

MARK = "†"  # beside rows, panels and lines whose model was trained on images of the test split


def mark(study: Study, train: str, target: str) -> str:
    """` †` where models trained on `train` have seen images of the target, else nothing."""
    return f" {MARK}" if (train, target) in study.seen else ""


def seen_share(study: Study, train: str, target: str) -> float:
    """The share of the target's images that `train` trains on, in percent."""
    shared, images = study.seen.get((train, target), (0, 1))
    return 100 * shared / images


def seen_words(study: Study, train: str, target: str) -> str:
    """How many of the target's images were trained on."""
    shared, images = study.seen[train, target]
    split = study.config["benchmarks"][train]["train"]
    share = seen_share(study, train, target)
    return f"{shared} of the {images} images of {target} ({share:.1f}%) are among those of {train}/{split}"


def data_notes(study: Study, target: str, trains: Iterable[str]) -> list[str]:
    """All that must be said of the data under a table of one test split with models trained on `trains`."""
    return [
        *seen_notes(study, target, trains),
        *near_notes(study, target, trains),
        *licence_notes(study),
        *exif_notes(study),
    ]


def seen_notes(study: Study, target: str, trains: Iterable[str]) -> list[str]:
    """What the mark stands for, where a row has one."""
    seen = [train for train in dict.fromkeys(trains) if (train, target) in study.seen]
    if not seen:
        return []
    words = "; ".join(seen_words(study, train, target) for train in seen)
    return [
        f"{MARK} Trained on images that it is tested on: {words}. Such a row says nothing of unseen images. Counted by "
        "equal files, and by id within one source; for cells on a share of the data, of the full training split."
    ]


def near_notes(study: Study, target: str, trains: Iterable[str]) -> list[str]:
    """Images of which nearly the same picture was trained on: scaled, cropped by a hair, compressed anew."""
    rows = study.overlap[(study.overlap["target"] == target) & study.overlap["train"].isin(list(trains))]
    words = [
        f"{row.near} of the {row.images} images of {target} have an equal or nearly equal picture in "
        f"{row.train}/{study.config['benchmarks'][row.train]['train']}"
        for row in rows[rows["near"].fillna(0) > 0].itertuples()
    ]
    return [f"Near copies, by a perceptual hash: {'; '.join(words)}."] if words else []


def licence_notes(study: Study) -> list[str]:
    """Which benchmarks come from data that may not be used commercially."""
    rows = study.sources[study.sources["noncommercial"].astype(bool)]
    words = [
        f"{', '.join(dict.fromkeys(found['benchmark']))} (source {source}: {found['licence'].iloc[0]})"
        for source, found in rows.groupby("source", sort=True)
    ]
    return [f"Not for commercial use, by the licence of the data: {'; '.join(words)}."] if words else []


def exif_notes(study: Study) -> list[str]:
    """Whose pictures are rotated as their files say; the compared methods leave them as stored."""
    backbones = study.config["backbones"]
    turned = [name for name in named(study.config, "backbones") if _exif(backbones[name]) == "apply"]
    if not turned:
        return []
    whose = "" if len(turned) == len(named(study.config, "backbones")) else f" for {', '.join(turned)}"
    return [f"Pictures are rotated as their files say (transform `exif: apply`){whose}; the compared methods do not."]


def _exif(backbone: dict) -> str | None:
    """What a backbone does with the rotation in a picture's file; None where it has embeddings and no pictures."""
    return backbone.get("transform", {}).get("exif")
