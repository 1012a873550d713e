"""Which images of a test split were trained on: counted from the manifests of every pair of training and test split."""

from pathlib import Path
from typing import Any

import pandas

from hnclip import store
from hnclip.report.load import OVERLAP, named


def overlap(record: dict[str, Any]) -> pandas.DataFrame:
    """One row a training set and test split: the test split's images, how many of them were trained on, their share.

    An image was trained on where a file of the same bytes was, whatever its name, or where an image of its id was and
    both are of one benchmark or of benchmarks made from one published source, whose ids are the source's own. Equal ids
    of unrelated benchmarks (`1.jpg` of two folders) mean nothing. `near` counts the images of which nearly the same
    picture was trained on, equal files among them, where the study looked for such. `record` is the study's.
    """
    config, paths, sources = record["config"], record["manifests"], record["downloads"]
    images = {split: _images(path) for split, path in paths.items()}
    rows = []
    for train in named(config, "train"):
        trained = images[f"{train}/{config['benchmarks'][train]['train']}"]
        for benchmark in named(config, "train", "transfer"):
            related = train == benchmark or bool({*sources.get(train, ())} & {*sources.get(benchmark, ())})
            for target in (f"{benchmark}/{split}" for split in config["benchmarks"][benchmark]["test"]):
                shared = _shared(trained, images[target], ids=related)
                total = len(images[target])
                rows.append((train, target, total, shared, shared / total, _near(record, train, target)))
    return pandas.DataFrame(rows, columns=list(OVERLAP)).astype({"near": "Int64"})


def _near(record: dict[str, Any], train: str, target: str) -> int | None:
    """How many of the target's images have a near copy in the training split; None where none were looked for."""
    path = record["near"].get(train, {}).get(target)
    return None if path is None else store.read_json(path)["b_found"]


def _shared(trained: pandas.DataFrame, tested: pandas.DataFrame, ids: bool) -> int:
    """How many of the tested images are among the trained ones, by bytes and, where `ids` mean the same, by id."""
    known = trained["sha256"].dropna()
    found = tested["sha256"].isin(known[known != ""])
    return int((found | tested["id"].isin(trained["id"])).sum() if ids else found.sum())


def _images(path: str) -> pandas.DataFrame:
    """Id and SHA-256 of the bytes of each image of a manifest."""
    try:
        return pandas.read_parquet(Path(path), columns=["id", "sha256"]).drop_duplicates("id")
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as a manifest ({error}); delete it and run its rule again") from error
