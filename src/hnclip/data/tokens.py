"""Captions as token ids, tokenised once a split and kept ragged, so that no padding is stored or computed.

`python -m hnclip.data.tokens MANIFEST TOKENS.json OUT.npz` writes them, for a tokenizer and a context.
"""

import argparse
import json
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import torch

from hnclip.command import run
from hnclip.data.manifest import read_manifest
from hnclip.data.tokenizers import words
from hnclip.models.openclip import open_clip
from hnclip.store import read_json, write_whole


@dataclass(frozen=True)
class Tokens:
    """Token ids of captions, start and end token included, one after the other."""

    ids: np.ndarray  # int32 [tokens]
    start: np.ndarray  # int64 [captions + 1]: where each caption begins
    truncated: int  # captions that did not fit the context

    def __len__(self) -> int:
        return len(self.start) - 1

    def lengths(self) -> np.ndarray:
        """Tokens of each caption, start and end included."""
        return np.diff(self.start)

    def batch(self, rows: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """Ids [N, longest] padded with zeros, and lengths [N], of these captions."""
        rows = np.asarray(rows, np.int64)
        lengths = self.lengths()[rows]
        position_T = np.arange(lengths.max(initial=0))
        inside_NT = position_T < lengths[:, None]
        ids_NT = np.zeros(inside_NT.shape, np.int64)
        ids_NT[inside_NT] = self.ids[(self.start[rows][:, None] + position_T)[inside_NT]]
        return torch.from_numpy(ids_NT), torch.from_numpy(lengths)

    def by_length(self, batch: int) -> Iterator[tuple[np.ndarray, torch.Tensor, torch.Tensor]]:
        """Batches of captions of like length, the shortest first: their rows, ids and lengths."""
        order = np.argsort(self.lengths(), kind="stable")
        for start in range(0, len(order), batch):
            rows = order[start : start + batch]
            yield rows, *self.batch(rows)


def tokenizer(name: str, context: int):
    """The 49,408-token vocabulary `clip` that open_clip carries; others do not tell where in a text a token lies."""
    if name == "clip":
        return open_clip().SimpleTokenizer(context_length=context)
    raise ValueError(f"places of tokens in a caption are known of the tokenizer 'clip' alone, not of {name!r}")


def tokenize(captions: list[str], name: str, context: int) -> Tokens:
    """Tokenise captions; one too long for the context is cut and its last token is the end token.

    `name` is that of a tokenizer (`hnclip.data.tokenizers`). Cut captions are counted. An empty caption is refused
    with its row.
    """
    empty = [row for row, caption in enumerate(captions) if not caption.strip()]
    if empty:
        raise ValueError(f"empty captions in rows {empty[:20]} ({len(empty)} in all): remove them or write them")
    rows, truncated = words(name, context).rows(captions, context)
    start = np.cumsum([0] + [len(ids) for ids in rows])
    return Tokens(np.array([*chain.from_iterable(rows)], np.int32), start.astype(np.int64), truncated)


def write_tokens(path: Path, tokens: Tokens, **further: np.ndarray) -> None:
    """Write tokens, and further arrays by name, as one compressed .npz, whole or not at all."""

    def write(part: Path) -> None:
        with part.open("wb") as file:
            arrays = {"ids": tokens.ids, "start": tokens.start, "truncated": np.int64(tokens.truncated)}
            np.savez_compressed(file, **arrays, **further)

    write_whole(path, write)


def read_tokens(path: Path) -> Tokens:
    """The tokens of a file, whatever else it holds. Raises as `read_with` does."""
    return read_with(path, (), "hnclip.data.tokens")[0]


def read_with(path: Path, names: tuple[str, ...], command: str) -> tuple[Tokens, dict[str, np.ndarray]]:
    """The tokens of a file and its further arrays of these names.

    Raises FileNotFoundError saying which `command` writes it, or ValueError for a damaged file, naming it.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"no tokens at {path}: run `python -m {command}` for this split")
    try:
        if not zipfile.is_zipfile(path):
            raise ValueError("no whole .npz archive")
        with np.load(path, allow_pickle=False) as file:
            tokens = Tokens(file["ids"], file["start"], int(file["truncated"]))
            return tokens, {name: file[name] for name in names}
    except (ValueError, TypeError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{path} is damaged ({error}); delete it and run again") from error


def report_truncation(tokens: Tokens, context: int) -> str:
    """A line for the log: how many captions were cut, and how long captions are."""
    lengths = tokens.lengths()
    share = tokens.truncated / len(tokens)
    return json.dumps(
        {
            "captions": len(tokens),
            "tokens_mean": round(float(lengths.mean()), 1),
            "tokens_max": int(lengths.max()),
            "context": context,
            "cut": tokens.truncated,
            "cut_share": round(share, 4),
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m hnclip.data.tokens", description=__doc__.splitlines()[0])
    parser.add_argument("manifest", type=Path, help="the split's SPLIT.parquet")
    parser.add_argument("tokens", type=Path, help='JSON: {"tokenizer", "context"}')
    parser.add_argument("out", type=Path, help="the .npz file to write")
    given = parser.parse_args()
    options = read_json(given.tokens)
    tokens = tokenize(list(read_manifest(given.manifest)["caption"]), options["tokenizer"], options["context"])
    print(report_truncation(tokens, options["context"]))
    write_tokens(given.out, tokens)


if __name__ == "__main__":
    run(main)
