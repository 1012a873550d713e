"""The sentence of each caption's best region as token ids, and its place among the caption's tokens: GOAL's span.

`python -m hnclip.data.derive.sentences MANIFEST SEGMENTS TOKENS.json OUT.npz RECORD.json` writes them.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from hnclip.command import run
from hnclip.data.derive.record import write_record
from hnclip.data.derive.segment_table import best, read_segments_of
from hnclip.data.manifest import read_manifest
from hnclip.data.offsets import cut_span, span_in_caption
from hnclip.data.tokens import Tokens, read_with, tokenize, tokenizer, write_tokens
from hnclip.store import read_json


def write(manifest_path: Path, segments: Path, options: dict[str, Any], out: Path, record: Path) -> None:
    """Tokenise and locate the sentences of `best(segments, 1)`, in order."""
    name, context = options["tokenizer"], options["context"]
    words = tokenizer(name, context)  # loads packages, which is no part of the preparation
    start = time.monotonic()
    frame = read_manifest(manifest_path)
    rows = best(read_segments_of(segments, frame), 1)
    texts, whole = [], []
    for caption, begin, end in zip(frame["caption"].iloc[rows["caption"]], rows["start"], rows["end"], strict=True):
        texts.append(caption[begin:end])
        whole.append(span_in_caption(caption, begin, end, words))
    spans = [cut_span(span, context) for span in whole]
    cut = [span for span, uncut in zip(spans, whole, strict=True) if span != uncut]
    tokens = tokenize(texts, name, context)
    write_tokens(out, tokens, span=np.array(spans, np.int32).reshape(-1, 2))
    counts = {
        "captions": len(frame),
        "sentences": len(rows),
        "cut": tokens.truncated,  # as texts of their own
        "cut_off_in_caption": cut.count((0, 0)),
        "cut_in_caption": len(cut) - cut.count((0, 0)),
    }
    write_record(record, time.monotonic() - start, **counts)


def read_sentences(path: Path) -> tuple[Tokens, np.ndarray]:
    """Tokens of the sentences, and the span of each in its caption, int32 [rows, 2]. Raises as `read_with` does."""
    tokens, further = read_with(path, ("span",), "hnclip.data.derive.sentences")
    return tokens, further["span"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m hnclip.data.derive.sentences", description=__doc__.splitlines()[0])
    parser.add_argument("manifest", type=Path, help="the split's SPLIT.parquet")
    parser.add_argument("segments", type=Path, help="the split's table of regions")
    parser.add_argument("tokens", type=Path, help='JSON: {"tokenizer", "context"}')
    parser.add_argument("out", type=Path, help="the .npz file to write")
    parser.add_argument("record", type=Path, help="the seconds and counts to write, .json")
    given = parser.parse_args()
    write(given.manifest, given.segments, read_json(given.tokens), given.out, given.record)


if __name__ == "__main__":
    run(main)
