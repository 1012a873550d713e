"""The first sentence of every caption as token ids, one row a caption: the short text of Long-CLIP.

`python -m hnclip.data.derive.first_sentence MANIFEST TOKENS.json OUT.npz RECORD.json` writes them.
"""

import argparse
import time
from pathlib import Path
from typing import Any

from hnclip.command import run
from hnclip.data.derive.record import write_record
from hnclip.data.manifest import read_manifest
from hnclip.data.tokenizers import words
from hnclip.data.tokens import tokenize, write_tokens
from hnclip.store import read_json


def write(manifest_path: Path, options: dict[str, Any], out: Path, record: Path) -> None:
    """Tokenise the first of each caption's sentences. Raises ValueError naming every caption that has none."""
    words(options["tokenizer"], options["context"])  # loads packages, which is no part of the preparation
    start = time.monotonic()
    frame = read_manifest(manifest_path)
    none = [f"row {row} ({frame['id'][row]})" for row, own in enumerate(frame["sentences"]) if not own]
    if none:
        more = f" and {len(none) - 20} more" if len(none) > 20 else ""
        raise ValueError(
            f"{manifest_path}: captions without sentences: {', '.join(none[:20])}{more}; prepare the benchmark again"
        )
    tokens = tokenize([own[0] for own in frame["sentences"]], options["tokenizer"], options["context"])
    write_tokens(out, tokens)
    single = sum(len(own) == 1 for own in frame["sentences"])
    mean = round(float(tokens.lengths().mean()), 1)
    counts = {"captions": len(frame), "of_one_sentence": single, "cut": tokens.truncated, "tokens_mean": mean}
    write_record(record, time.monotonic() - start, **counts)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m hnclip.data.derive.first_sentence", description=__doc__.splitlines()[0]
    )
    parser.add_argument("manifest", type=Path, help="the split's SPLIT.parquet")
    parser.add_argument("tokens", type=Path, help='JSON: {"tokenizer", "context"}')
    parser.add_argument("out", type=Path, help="the .npz file to write")
    parser.add_argument("record", type=Path, help="the seconds and counts to write, .json")
    given = parser.parse_args()
    write(given.manifest, read_json(given.tokens), given.out, given.record)


if __name__ == "__main__":
    run(main)
