"""`python -m hnclip.models.fetch BACKBONE.json RECORD.json` brings a backbone's published weights onto this machine.

They go into the caches in which open_clip and the hub's client look for them, so that jobs need no network.
"""

import argparse
from pathlib import Path
from typing import Any

from hnclip.architecture import model_config
from hnclip.claim import claimed
from hnclip.command import run
from hnclip.data.tokenizers import words
from hnclip.models.load import BackboneEntry
from hnclip.models.longclip import weights_file
from hnclip.models.openclip import open_clip
from hnclip.options import from_dict, unknown
from hnclip.store import read_json, sha256_of, write_json

CACHE = Path("~/.cache/clip")  # open_clip's, for tags that are no files of the hub


def fetch(entry: dict[str, Any], record: Path) -> None:
    """Fetch the weights that a tag or hub:OWNER/REPO/FILE names, and write where they are and their hash.

    Raises ValueError or OSError where they cannot be had.
    """
    options = from_dict(BackboneEntry, entry, "backbone")
    if options.kind == "open_clip":
        named = options.pretrained
        with claimed(CACHE.expanduser() / f"{options.model}.{named}"):  # no file of the hub, it is not written whole
            path = published_file(options)
        _beside(options)
    else:
        named, path = options.weights, published_file(options)
    print(f"{named}: {path}", flush=True)
    found = {"weights": named, "file": str(path), "bytes": path.stat().st_size, "sha256": sha256_of(path)}
    write_json(record, found)


def published_file(options: BackboneEntry) -> Path:
    """The file of a backbone's published weights in the cache that it is loaded from, fetched where it is not there.

    Raises ValueError or OSError where it cannot be had.
    """
    if options.kind == "longclip":
        return weights_file(options.weights)
    if options.kind == "open_clip":
        return _tagged(options.model, options.pretrained)
    raise ValueError(f"a backbone of kind {options.kind!r} has no published weights; known: open_clip, longclip")


def _beside(options: BackboneEntry) -> None:
    """What else jobs will look for in the hub's cache: a tokenizer, the configuration of a text tower."""
    words(options.tokenizer, options.context)
    name = model_config(options.model)["text_cfg"].get("hf_model_name")
    if name:
        from transformers import AutoConfig

        AutoConfig.from_pretrained(name)


def _tagged(model: str, tag: str) -> Path:
    """The file of a tag's weights, in the cache where open_clip will find it."""
    package = open_clip()
    published = package.pretrained.get_pretrained_cfg(model, tag)
    if not published:
        tags = package.list_pretrained_tags_by_model(model)
        raise ValueError(unknown(f"pretrained weights of {model} (no file, no tag)", tag, tags))
    try:
        return Path(package.pretrained.download_pretrained(published))
    except (RuntimeError, OSError) as error:
        raise OSError(
            f"the weights {tag!r} of {model} could not be fetched ({str(error).strip().splitlines()[0]}); run this "
            f"where there is a network, or set `pretrained` to a local file of them and `pretrained_tag: {tag}`"
        ) from error


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m hnclip.models.fetch", description=__doc__.splitlines()[0])
    parser.add_argument("backbone", type=Path, help="JSON: the backbone's entry in the config")
    parser.add_argument("record", type=Path, help="what is there then: the file in its cache, and its SHA-256")
    given = parser.parse_args()
    fetch(read_json(given.backbone), given.record)


if __name__ == "__main__":
    run(main)
