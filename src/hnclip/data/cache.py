"""One split made ready for one backbone: pixels decoded and resized, captions tokenised, both once.

`python -m hnclip.data.cache MANIFEST BACKBONE.json PIXELS TOKENS`
"""

import sys
from pathlib import Path

from hnclip.command import run
from hnclip.data.images import write_pixels
from hnclip.data.manifest import read_manifest
from hnclip.data.tokens import report_truncation, tokenize, write_tokens
from hnclip.store import read_json


def main(manifest: Path, backbone: Path, pixels: Path, tokens: Path) -> None:
    entry = read_json(backbone)
    captions = tokenize(list(read_manifest(manifest)["caption"]), entry["tokenizer"], entry["context"])
    print(report_truncation(captions, entry["context"]))
    write_pixels(manifest, entry["transform"], pixels)
    write_tokens(tokens, captions)


if __name__ == "__main__":
    run(lambda: main(*map(Path, sys.argv[1:5])))
