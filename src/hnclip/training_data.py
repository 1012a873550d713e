"""What a cell trains on: the images of its share, their batches in each epoch, and what losses know of its captions."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from hnclip.data.derive.segment_table import read_segments_of
from hnclip.data.sample import caption_of_epoch, epoch_batches, subset
from hnclip.data.split import open_split
from hnclip.inputs import filters_by_segments
from hnclip.losses.objective import LossEntry, Tables
from hnclip.processes import rank, say, share, world
from hnclip.recipe import Recipe


class TrainingData:
    """The training split of a cell's config, with the batches that follow from its seed."""

    def __init__(self, config: dict[str, Any], recipe: Recipe):
        self.config, self.recipe, self.seed = config, recipe, config["seed"]
        self.split = open_split(config["data"]["train"], config["framework"], config["backbone"].get("transform"))
        self.images = self._images()
        self.steps_an_epoch = len(list(self.epoch_steps(0)))

    def _images(self) -> np.ndarray:
        """Positions of the images that the recipe keeps, and of these the cell's fraction."""
        split = self.split
        kept = np.arange(len(split.pixels))
        if filters_by_segments(self.config["recipe"]):
            regions = read_segments_of(Path(self.config["data"]["train"]["segments"]), split.frame)
            kept = np.flatnonzero(np.isin(split.image_ids, regions["id"].unique()))
            say(f"train_filter: {len(kept)} of {len(split.pixels)} images have a region that matches a sentence")
        names = split.image_ids
        return kept[subset([names[image] for image in kept], self.config["fraction"], self.seed)]

    def epoch_steps(self, epoch: int) -> Iterator[list[np.ndarray]]:
        """The batches of image positions of each optimiser step of an epoch."""
        batches = epoch_batches(self.images, self.recipe.batch, self.seed, epoch)
        for start in range(0, len(batches), self.recipe.accumulate):
            yield batches[start : start + self.recipe.accumulate]

    def pairs(self, images: np.ndarray, epoch: int) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        """This process's rows of these images with their captions of the epoch; the captions' numbers of all, [N].

        A process that holds none of them gets the first one, so that no batch is empty.
        """
        captions = caption_of_epoch(images, self.split.caption_start, self.seed, epoch)
        own = share(len(images), rank(), world())
        own = own if own.stop > own.start else slice(1)
        return self.split.pair_batch(images[own], captions[own]), torch.from_numpy(captions)

    def tables(self, entry: LossEntry, device: torch.device) -> Tables:
        """What the entry's loss needs to know of the training captions."""
        frozen_MD = text_class_M = None
        if entry.boost == "frozen":
            rows = pd.read_parquet(self.config["data"]["train"]["embeddings"], columns=["text"])
            frozen_MD = torch.from_numpy(np.stack(rows["text"].to_numpy())).to(device)
        if entry.mask_duplicates:
            classes = pd.factorize(self.split.frame["caption"])[0]
            text_class_M = torch.from_numpy(classes.astype(np.int64)).to(device)
        return Tables(frozen_MD, text_class_M)

    def ids(self, images: np.ndarray) -> str:
        """The ids of these images, for a message."""
        names = self.split.image_ids
        return ", ".join(names[image] for image in images)
