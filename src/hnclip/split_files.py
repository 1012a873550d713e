"""The splits of benchmarks and the paths of the files that hold them, for a backbone. Standard library only."""

import re
from hashlib import sha256
from typing import Any


def all_splits(entry: dict[str, Any]) -> list[str]:
    """The splits that a benchmark's entry names: trained on and watched each epoch, if any, and tested on."""
    named = [entry.get("train"), entry.get("validation"), *entry["test"]]
    return [split for split in dict.fromkeys(named) if split is not None]


def test_splits(config: dict[str, Any], benchmark: str) -> list[str]:
    return list(config["benchmarks"][benchmark]["test"])


def manifest_path(benchmark: str, split: str) -> str:
    return f"results/data/{benchmark}/{split}.parquet"


def overlap_path(benchmark: str, split: str, other: str, other_split: str) -> str:
    """The list of the images of a split that another one has too, or nearly (`hnclip.data.near_duplicates`)."""
    return f"results/overlap/{benchmark}/{split}/{other}/{other_split}.txt"


def parse_overlap(path: str) -> tuple[str, str, str, str] | None:
    """The splits that the list of this path comes from; None where the path is no such list."""
    parts = path.removesuffix(".txt").split("/")[2:]
    return tuple(parts) if len(parts) == 4 and overlap_path(*parts) == path else None


def transform_name(transform: dict[str, Any]) -> str:
    """The name of a transform in the names of files, such as `48-bicubic-shortest-ignore`."""
    return f"{transform['size']}-{transform['interpolation']}-{transform['resize']}-{transform['exif']}"


def parse_transform(name: str) -> dict[str, Any]:
    """The transform of this name."""
    size, interpolation, resize, exif = name.split("-")
    return {"size": int(size), "interpolation": interpolation, "resize": resize, "exif": exif}


def tokens_name(backbone: dict[str, Any]) -> str:
    """The name of a tokenizer with its context in the names of files, such as `clip-248`.

    Of one whose name is not safe in a path, its letters and digits with a hash of the whole.
    """
    tokenizer = backbone["tokenizer"]
    if not tokenizer.isalnum():
        words = re.sub("[^A-Za-z0-9]+", "-", tokenizer).strip("-")[-40:].strip("-")
        tokenizer = f"{words}-{sha256(tokenizer.encode()).hexdigest()[:8]}"
    return f"{tokenizer}-{backbone['context']}"


def named_tokens(config: dict[str, Any], name: str) -> dict[str, Any]:
    """The tokenizer and the context of this name, which a backbone of the config has."""
    for backbone in config["backbones"].values():
        if "tokenizer" in backbone and tokens_name(backbone) == name:
            return {key: backbone[key] for key in ("tokenizer", "context")}
    raise ValueError(f"no backbone of the config has the tokenizer and context of {name!r}")


def pixels_path(config: dict[str, Any], backbone: str, benchmark: str, split: str) -> str:
    name = transform_name(config["backbones"][backbone]["transform"])
    return f"results/data/{benchmark}/{split}.{name}.pixels.npy"


def tokens_path(config: dict[str, Any], backbone: str, benchmark: str, split: str) -> str:
    name = tokens_name(config["backbones"][backbone])
    return f"results/data/{benchmark}/{split}.{name}.tokens.npz"


def embeddings_path(backbone: str, benchmark: str, split: str) -> str:
    return f"results/embeddings/{backbone}/{benchmark}/{split}.parquet"


def zero_shot_path(backbone: str, benchmark: str, split: str) -> str:
    return f"results/embeddings/{backbone}/{benchmark}/{split}.ranks.parquet"


def data_paths(
    config: dict[str, Any], backbone: str, benchmark: str, split: str, cached: bool = False
) -> dict[str, str]:
    """The files that hold one split for one backbone, and its name in tables; `cached`, by its embeddings alone."""
    named = {"name": f"{benchmark}/{split}", "manifest": manifest_path(benchmark, split)}
    if cached:
        return {**named, "embeddings": embeddings_path(backbone, benchmark, split)}
    return {
        **named,
        "pixels": pixels_path(config, backbone, benchmark, split),
        "tokens": tokens_path(config, backbone, benchmark, split),
    }


def data_files(
    config: dict[str, Any], backbone: str, benchmark: str, splits: list[str], cached: bool = False
) -> list[str]:
    """The paths alone, as a rule's input."""
    return [
        path
        for split in splits
        for key, path in data_paths(config, backbone, benchmark, split, cached).items()
        if key != "name"
    ]
