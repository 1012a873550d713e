"""Embeddings of captions alone, by a text encoder: what a benchmark's captions look like where its images are not here.

`python -m hnclip.embed_captions ENCODER.json CAPTIONS OUT.parquet`
"""

import argparse
import json
from pathlib import Path

import pyarrow as pa

from hnclip.command import run
from hnclip.data.caption_list import read_captions
from hnclip.encode import device
from hnclip.models.sentence_encoder import load_sentence_encoder
from hnclip.options import from_dict
from hnclip.store import read_json, sha256_of, write_rows
from hnclip.text_encoder import TextEncoder, encoder_folder

BATCH = 32


def main(encoder: Path, captions: Path, out: Path) -> None:
    entry = from_dict(TextEncoder, read_json(encoder), str(encoder))
    folder = encoder_folder(entry.folder)
    ids, texts = read_captions(captions)
    model = load_sentence_encoder(folder, entry.context)
    model.model.to(device())
    text_CD, cut = model.encode(texts, BATCH)
    print(f"{cut} of {len(texts)} captions ({100 * cut / len(texts):.1f} %) were cut at {entry.context} tokens")
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(text_CD.numpy().ravel()), text_CD.shape[1])
    rows = pa.table({"id": pa.array(ids, pa.string()), "caption": pa.array(texts, pa.string()), "text": vectors})
    write_rows(out, rows, origin(entry, folder, captions, cut, len(texts)))


def origin(entry: TextEncoder, folder: Path, captions: Path, cut: int, count: int) -> dict[str, str]:
    """What the file says of itself: encoder, hashes of captions and weights, [captions cut, captions]."""
    weights = {path.name: sha256_of(path) for path in sorted(folder.glob("*.safetensors"))}
    return {
        "encoder": json.dumps(vars(entry), sort_keys=True),
        "captions_sha256": sha256_of(captions),
        "weights_sha256": json.dumps(weights, sort_keys=True),
        "captions_cut": json.dumps([cut, count]),
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m hnclip.embed_captions", description=__doc__.splitlines()[0])
    parser.add_argument("encoder", type=Path, help="JSON: an entry of the configuration's `encoders`")
    parser.add_argument("captions", type=Path, help=".jsonl, .csv, .tsv or .parquet with id or image, and caption")
    parser.add_argument("out", type=Path, help="the embeddings to write, .parquet")
    return parser.parse_args()


if __name__ == "__main__":
    run(lambda: main(**vars(_arguments())))
