"""Which further inputs a framework trains on, and the files that hold them. Standard library only.

The entry of a framework names them: `inputs: {crops: true, edges: canny}`. Each is made once a split.
"""

from itertools import chain
from typing import Any

from hnclip.options import unknown

Config = dict[str, Any]

ALWAYS = ("image", "text", "text_length")
# What an input brings to a batch, and the files that it is read from or made by way of.
FIELDS = {
    "first_sentence": ("short_text", "short_length"),
    "crops": ("crop", "crop_box", "image_box", "crop_text", "crop_text_length", "has_crop", "span"),
    "edges": ("edge", "has_edge"),
    "edge_crops": ("edge_crops", "has_edge_crop"),
    "lexicon": ("filtered_text", "filtered_length", "chunks"),
    "embeddings": ("image_vector", "text_vector"),  # in the place of image and caption
}
FILES = {
    "first_sentence": ("first_sentence",),
    "crops": ("segments", "crops", "sentences"),
    "edges": ("edges",),
    "edge_crops": ("segments", "edge_crops"),
    "lexicon": ("lexicon", "filtered"),
    "embeddings": (),  # of the backbone, not of the split alone (hnclip.split_files.data_paths)
}


def needs_segments(framework: Config) -> bool:
    """True where an entry's inputs are cut along regions of the image."""
    return bool({"crops", "edge_crops"} & set(wanted(framework)))


def wanted(framework: Config) -> Config:
    """The inputs that an entry asks for; `false` and null ask for nothing."""
    return {name: value for name, value in framework.get("inputs", {}).items() if value not in (False, None)}


def cached(framework: Config) -> bool:
    """True where an entry trains on a backbone's cached embeddings, and needs neither pixels nor tokens."""
    return "embeddings" in wanted(framework)


def bringing(field: str) -> str | None:
    """The input that brings a field; None for the image and the caption, which every batch has."""
    if field in ALWAYS:
        return None
    for name, fields in FIELDS.items():
        if field in fields:
            return name
    raise ValueError(unknown("field of a batch", field, [*ALWAYS, *chain(*FIELDS.values())]))


def paths(framework: Config, root: str, segments: str | None, transform: str, tokens: str) -> dict[str, str]:
    """The files of a framework's inputs for one split, by what they hold.

    `root` is the split's manifest without its suffix; the others are the names that files carry.
    """
    inputs = wanted(framework)
    edges, crops, lexicon = inputs.get("edges"), inputs.get("edge_crops"), inputs.get("lexicon")
    known = {
        "first_sentence": f"{root}.{tokens}.first.npz",
        "segments": segments_path(root, segments),
        "crops": f"{root}.{segments}.{transform}.crops.npy",
        "sentences": f"{root}.{segments}.{tokens}.sentences.npz",
        "edges": f"{root}.{edges}.{transform}.edges.npy",
        "edge_crops": f"{root}.{edges}.{segments}.{crops}.{transform}.edge_crops.npy",
        "lexicon": f"{root}.{lexicon}.lexicon.parquet",
        "filtered": f"{root}.{lexicon}.{tokens}.filtered.npz",
    }
    return {key: known[key] for name in FILES if name in inputs for key in FILES[name]}


def segments_path(root: str, segments: str | None) -> str:
    """The regions of a split."""
    return f"{root}.{segments}.segments.parquet"


def filters_by_segments(recipe: Config) -> bool:
    """True where images without a region that matches a sentence are left out of training, in every framework alike."""
    return recipe.get("train_filter") == "local_pairs"


def record_path(path: str) -> str:
    """Where the command that made an input's file says how long it took and what it counted."""
    return path.rsplit(".", 1)[0] + ".json"
