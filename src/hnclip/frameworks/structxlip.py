"""StructXLIP (arXiv 2602.20089): edge maps against captions without appearance, beside the global term."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch.nn.functional import normalize

from hnclip.frameworks.base import Batch, Framework
from hnclip.losses.alignment import consistency
from hnclip.losses.chunks import chunk_states, chunk_term
from hnclip.losses.regions import span_mask
from hnclip.losses.schedule import EPOCHS, auxiliary_factor
from hnclip.losses.structure import structure
from hnclip.models.stacked import stacked


@dataclass(frozen=True)
class Options:
    """Weights as in the released script for DOCCI, and how they fade.

    `floors` are what the weights of structure, consistency and local term fall to over a run. `chunk_states` says
    whose token states a chunk is made of: `filtered` are the filtered caption's, which its spans belong to, before
    the last norm; `released` are the original caption's at the same places, after it (it is then applied twice).
    """

    structure_weight: float = 0.25
    consistency_weight: float = 0.001
    local_weight: float = 0.001
    floors: tuple[float, float, float] = (0.7, 0.5, 0.4)
    chunk_states: Literal["filtered", "released"] = "filtered"
    tau: float = 0.07
    sigma_cap: float = 100.0

    def __post_init__(self):
        weights = ("structure_weight", "consistency_weight", "local_weight")
        values = vars(self)
        problems = [f"`{name}` must be 0 or more, not {values[name]}" for name in weights if values[name] < 0]
        if not all(0 <= floor <= 1 for floor in self.floors):
            problems.append(f"`floors` are shares of the weights, 0 to 1, not {list(self.floors)}")
        positive = ("tau", "sigma_cap")
        problems += [f"`{name}` must be above 0, not {values[name]}" for name in positive if values[name] <= 0]
        if problems:
            raise ValueError("; ".join(problems))


class StructXlip(Framework):
    """The global term and three of structure, over the pairs that have an edge map, a crop of it or a chunk."""

    fields = (
        "image",
        "text",
        "text_length",
        "edge",
        "has_edge",
        "edge_crops",
        "has_edge_crop",
        "filtered_text",
        "filtered_length",
        "chunks",
    )
    needs = ("token_states", "clip_tokenizer")
    Options = Options

    def encode(self, batch: Batch) -> Batch:
        backbone, (pairs, crops) = self.backbone, batch["has_edge_crop"].shape
        edges = torch.cat([batch["edge"], batch["edge_crops"].flatten(0, 1)])
        image_ND, _ = backbone.image(torch.cat([batch["image"], edges.expand(-1, -1, -1, 3)]), states=0)
        filtered_first = self.options.chunk_states == "filtered"  # token states are computed of the first kind alone
        kinds = ("filtered", "text") if filtered_first else ("text", "filtered")
        ids = stacked(*(batch["filtered_text" if kind == "filtered" else kind] for kind in kinds))
        lengths = torch.cat([batch[f"{kind}_length"] for kind in kinds])
        in_chunk_NT = span_mask(batch["chunks"], ids.shape[1]).any(1)
        text_ND, words_NTW = backbone.text(ids, lengths, states=in_chunk_NT)
        if not filtered_first:
            words_NTW = backbone.clip.ln_final(words_NTW)
        embedding_ND = dict(zip(kinds, text_ND.split(pairs), strict=True))
        chunks_NCW = chunk_states(words_NTW, batch["chunks"])
        return {
            "image": image_ND[:pairs],
            "text": embedding_ND["text"],
            "edge": image_ND[pairs : 2 * pairs],
            "filtered": embedding_ND["filtered"],
            "edge_crops": image_ND[2 * pairs :].unflatten(0, (pairs, crops)),
            "chunks": normalize(backbone.project_words(chunks_NCW).float(), dim=-1),
            "has_edge": batch["has_edge"],
            "has_edge_crop": batch["has_edge_crop"],
            "has_chunk": batch["chunks"][..., 1] > batch["chunks"][..., 0],
        }

    def losses(self, z, step, contrastive):
        scale, options = self.backbone.scale(), self.options
        epoch = step.epoch * EPOCHS / step.epochs
        fade = [auxiliary_factor(epoch, floor) for floor in options.floors]
        found = structure(z["edge"], z["filtered"], scale, z["has_edge"])
        apart = consistency(z["image"], z["edge"], z["has_edge"])
        sharpness = {"tau": options.tau, "cap": options.sigma_cap}
        local = chunk_term(z["chunks"], z["edge_crops"], z["has_chunk"], z["has_edge_crop"], scale, **sharpness)
        return {
            "global": contrastive(z["image"], z["text"], scale, step.ids_N),
            "structure": options.structure_weight * fade[0] * found,
            "consistency": options.consistency_weight * fade[1] * apart,
            "local": options.local_weight * fade[2] * local,
        }
