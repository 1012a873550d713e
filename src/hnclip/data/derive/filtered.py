"""Filtered captions as token ids, with the token spans of their chunks: StructXLIP's texts.

`python -m hnclip.data.derive.filtered LEXICON.parquet TOKENS.json OUT.npz RECORD.json` writes them.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from hnclip.command import run
from hnclip.data.chunks import MOST_CHUNKS, Chunks, chunk_spans
from hnclip.data.derive.lexicon import read_lexicon
from hnclip.data.derive.record import write_record
from hnclip.data.tokens import Tokens, read_with, tokenize, tokenizer, write_tokens
from hnclip.store import read_json


def write(lexicon: Path, options: dict[str, Any], out: Path, record: Path) -> None:
    """Tokenise the filtered captions and find their chunks; the spans are those of the filtered captions' tokens."""
    name, context = options["tokenizer"], options["context"]
    words = tokenizer(name, context)  # loads packages, which is no part of the preparation
    start = time.monotonic()
    captions = read_lexicon(lexicon)
    tokens = tokenize(captions, name, context)
    chunks = Chunks.of([chunk_spans(caption, words, context) for caption in captions])
    write_tokens(out, tokens, chunk=chunks.span, chunk_start=chunks.start)
    count = np.diff(chunks.start)
    counts = {
        "captions": len(captions),
        "cut": tokens.truncated,
        "chunks_mean": round(float(count.mean()), 1),
        "without_chunk": int((count == 0).sum()),
        "with_most_chunks": int((count == MOST_CHUNKS).sum()),
    }
    write_record(record, time.monotonic() - start, **counts)


def read_filtered(path: Path) -> tuple[Tokens, Chunks]:
    """Tokens and chunks of the filtered captions, one a caption of the manifest. Raises as `read_with` does."""
    tokens, further = read_with(path, ("chunk", "chunk_start"), "hnclip.data.derive.filtered")
    return tokens, Chunks(further["chunk"], further["chunk_start"])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m hnclip.data.derive.filtered", description=__doc__.splitlines()[0])
    parser.add_argument("lexicon", type=Path, help="the table of filtered captions, .parquet")
    parser.add_argument("tokens", type=Path, help='JSON: {"tokenizer", "context"}')
    parser.add_argument("out", type=Path, help="the .npz file to write")
    parser.add_argument("record", type=Path, help="the seconds and counts to write, .json")
    given = parser.parse_args()
    write(given.lexicon, read_json(given.tokens), given.out, given.record)


if __name__ == "__main__":
    run(main)
