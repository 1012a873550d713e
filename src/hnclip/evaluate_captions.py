"""A model's ranks on captions and images that no study names: checked and ranked as a benchmark's are."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from hnclip.data.manifest import image_path, images, read_manifest
from hnclip.data.prepare.folder import prepare
from hnclip.data.prepared_rows import clear
from hnclip.data.split import Split
from hnclip.data.tokens import Tokens, tokenize
from hnclip.encoder import Encoder
from hnclip.model_spec import backbone_entry, is_run
from hnclip.options import unknown
from hnclip.ranks import retrieval
from hnclip.store import read_run_record, sha256_of, write_rows

ALL = "all"  # the split that captions without splits are
UP = 8  # from a run's folder results/STUDY/runs/BACKBONE/TRAIN/FRAMEWORK/LOSS/fPPP/sSEED to that of its study


@dataclass(frozen=True)
class Evaluated:
    """What was ranked: one row a query in `ranks`, of `captions` so many `cut` because the context ends before them.

    `trained` of the images, by the bytes of their files, the run was trained on; None where its training set is not
    there to tell, or the model is no run.
    """

    ranks: pd.DataFrame
    images: int
    captions: int
    cut: int
    trained: int | None


def evaluate_captions(
    model: str,
    options: dict[str, Any],
    name: str,
    split: str,
    out: Path,
    doing: Callable[[str], None] = lambda words: None,
) -> Evaluated:
    """Rank the captions and images that `options` (of benchmark kind `folder`) name, and write the ranks.

    The target is called NAME/SPLIT; without an option that splits, the split is `all`. Raises ValueError naming every
    fault of the data; the whole list is then in a folder beside `out`, called after it. `doing` is told what begins.
    """
    backbone_entry(model)  # a model that is none is told before the data is looked at
    target, work = f"{name}/{split}", out.with_name(f".{out.stem}.hnclip-data")
    shutil.rmtree(work, ignore_errors=True)  # of an earlier evaluation that found faults
    if not any(options.get(key) for key in ("split_column", "split_lists", "split_hash")):
        options = {**options, "split_hash": {ALL: 100}}
    prepare(options, work)
    manifest = work / f"{split}.parquet"
    if not manifest.is_file():
        known = sorted(path.stem for path in work.glob("*.parquet"))
        shutil.rmtree(work)
        raise ValueError(unknown("split", split, known))
    encoder = Encoder(model)
    found = _split(manifest, target, encoder)
    doing(f"embedding {len(found.frame):,} captions ...")
    text_CD = torch.from_numpy(encoder.texts(list(found.frame["caption"])))
    paths = [image_path(manifest, image) for image in images(found.frame)["image"]]
    doing(f"embedding {len(paths):,} images ...")
    image_ID = torch.from_numpy(encoder.files(paths))
    ranks = retrieval(found, image_ID, text_CD)
    told = {"model": model, "identity": encoder.identity, "captions": os.path.abspath(options["captions"])}
    write_rows(out, ranks, told)
    clear(work)
    return Evaluated(ranks, len(image_ID), len(text_CD), found.tokens.truncated, _trained(model, found.frame))


def _trained(model: str, frame: pd.DataFrame) -> int | None:
    """How many of these images the run was trained on, its whole training split counted."""
    if not is_run(model):
        return None
    record = read_run_record(Path(model), "data")
    manifest = Path(record["config"]["data"]["train"]["manifest"])
    home = Path(os.path.abspath(model)).parents[UP]  # relative paths of a run start in its study's folder
    if not (home / manifest).is_file():
        return None
    known = _hashes(home / manifest)
    return None if known is None else int(images(frame)["sha256"].isin(known).sum())


def _hashes(manifest: Path) -> set[str] | None:
    """Those of the images' files; None where they are not there.

    Of embeddings that were given as a file the manifest has other ones, and no sizes: then the files are read.
    """
    rows = images(read_manifest(manifest))
    if rows["width"].all():
        return set(rows["sha256"])
    paths = [image_path(manifest, image) for image in rows["image"]]
    return {sha256_of(path) for path in paths} if all(path.is_file() for path in paths) else None


def _split(manifest: Path, target: str, encoder: Encoder) -> Split:
    """The split as ranking asks for it: captions with their images, and tokens only to count those that are cut."""
    frame = read_manifest(manifest)
    first = images(frame).index.to_numpy()
    tokens: Tokens = tokenize(list(frame["caption"]), encoder.entry["tokenizer"], encoder.entry["context"])
    return Split(target, frame, np.empty(0), tokens, np.append(first, len(frame)).astype(np.int64))
