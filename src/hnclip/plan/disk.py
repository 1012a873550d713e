"""Bytes that a study takes on disk, by what they hold."""

from hnclip import cell as cells
from hnclip import inputs, split_files
from hnclip.cell import Config
from hnclip.plan.costs import Cost
from hnclip.plan.sizes import downloads, split_size
from hnclip.plan.towers import Towers
from hnclip.study import evaluated, narrow

COLOURS, FP32, TOKEN = 3, 4, 4  # bytes of a pixel of a picture, a number, a token id (compression left out)
CHANNELS = {"crops": COLOURS, "edges": 1, "edge_crops": 1}


def disk(config: Config, towers: dict[str, Towers], costs: list[Cost]) -> dict[str, float]:
    """Bytes by kind: what is fetched and unpacked, cached of data, embedded, trained and, for a cell, checkpointed."""
    used = narrow(config)
    fetched = downloads(config, list(used["benchmarks"]))
    grid = cells.trained(config)
    return {
        "downloads": float(sum(source["bytes"] for source in fetched.values())),
        "unpacked downloads": float(sum(source["unpacked"] for source in fetched.values())),
        "released weights": _released(config, used),
        **_caches(config, grid),
        "embeddings": _embeddings(config, grid, towers),
        "trained weights": sum(cost.weights for cost in costs),
        "one checkpoint": max((cost.checkpoint for cost in costs), default=0.0),
    }


def _released(config: Config, used: Config) -> float:
    from hnclip.plan.towers import towers as of

    return sum(FP32 * of(entry).parameters for entry in used["backbones"].values() if entry["kind"] != "starter")


def _caches(config: Config, grid: set[cells.Cell]) -> dict[str, float]:
    """Pixels, tokens, crops and edge maps; a file that several cells read counts once."""
    pixels, tokens, further = {}, {}, {name: {} for name in CHANNELS}
    for cell in grid:
        backbone = config["backbones"][cell.backbone]
        if backbone["kind"] == "embeddings":
            continue
        side = backbone["transform"]["size"] ** 2
        for benchmark in (cell.train, *cells.targets(config, cell)):
            for split in _read(config, cell, benchmark):
                size = split_size(config, benchmark, split)
                pixels[split_files.pixels_path(config, cell.backbone, benchmark, split)] = size.pairs * side * COLOURS
                path = split_files.tokens_path(config, cell.backbone, benchmark, split)
                tokens[path] = size.pairs * size.tokens * TOKEN
        train = split_size(config, cell.train, config["benchmarks"][cell.train]["train"])
        wanted = inputs.wanted(config["frameworks"][cell.framework])
        for name, path in cells.input_paths(config, cell).items():
            if name in CHANNELS:
                count = wanted["edge_crops"] if name == "edge_crops" else 1
                further[name][path] = train.pairs * count * side * CHANNELS[name]
    cached = {"pixels": pixels, "tokens": tokens, **{name.replace("_", " "): found for name, found in further.items()}}
    return {name: float(sum(found.values())) for name, found in cached.items()}


def _read(config: Config, cell: cells.Cell, benchmark: str) -> list[str]:
    """The splits of a benchmark that a cell reads."""
    if benchmark == cell.train:
        return split_files.all_splits(config["benchmarks"][benchmark])
    return split_files.test_splits(config, benchmark)


def _embeddings(config: Config, grid: set[cells.Cell], towers: dict[str, Towers]) -> float:
    """Of frozen backbones: test splits, and what else cells read: the training split for a boost, all if cached."""
    paths = {}
    for entry in evaluated(config):
        size = split_size(config, entry["benchmark"], entry["split"])
        paths[split_files.embeddings_path(**entry)] = size.pairs * 2 * FP32 * towers[entry["backbone"]].embed_dim
    for cell in grid:
        cached, train = cells.is_cached(config, cell), config["benchmarks"][cell.train]["train"]
        splits = _read(config, cell, cell.train) if cached else [train] * cells.needs_embeddings(config, cell)
        for split in splits:
            size = split_size(config, cell.train, split)
            path = split_files.embeddings_path(cell.backbone, cell.train, split)
            paths[path] = size.pairs * 2 * FP32 * towers[cell.backbone].embed_dim
    return float(sum(paths.values()))
