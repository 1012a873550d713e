"""Every caption of a split without words of some kinds, such as colours: StructXLIP's structure-centric captions.

`python -m hnclip.data.derive.lexicon MANIFEST LEXICON.json OUT.parquet RECORD.json` writes them.
"""

import argparse
import re
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet

from hnclip.command import run
from hnclip.data.derive.language_model import LanguageModel, rewrite
from hnclip.data.derive.record import write_record
from hnclip.data.manifest import read_manifest
from hnclip.data.word_filter import KINDS, Filtered, WordFilter, enough, word_list
from hnclip.options import from_dict
from hnclip.store import read_json, write_rows

SCHEMA = pyarrow.schema(
    [
        ("caption", pyarrow.string()),  # as filtered, one row a caption of the manifest
        ("removed", pyarrow.int32()),  # words
        ("kept", pyarrow.bool_()),  # the original stands, as too little would have been left
    ]
)


@dataclass(frozen=True)
class LexiconEntry:
    """An entry of the config's section `lexicons`.

    remove: word lists by name, none to keep captions as they are. llm: options of a `LanguageModel` that removes such
    words in place of the lists.
    """

    remove: tuple[str, ...]
    llm: dict | None = None

    def __post_init__(self):
        for kind in self.remove:
            word_list(kind)  # ValueError where there is none of that name
        if self.model() is not None and not self.remove:
            raise ValueError(f"a language model needs what it is to remove: at least one of {', '.join(KINDS)}")

    def model(self) -> LanguageModel | None:
        return None if self.llm is None else from_dict(LanguageModel, self.llm, "llm")


def write(manifest_path: Path, entry: dict[str, Any], out: Path, record: Path) -> None:
    """Filter the captions of a split; a language model's answers are kept in a folder beside `out`."""
    start = time.monotonic()
    wanted = from_dict(LexiconEntry, entry, "lexicon")
    captions = list(read_manifest(manifest_path)["caption"])
    model = wanted.model()
    if model is None:
        rows = list(map(WordFilter(wanted.remove), captions))
    else:
        answers = rewrite(captions, model, wanted.remove, out.with_suffix(".answers"))
        rows = [_compared(*pair) for pair in zip(captions, answers, strict=True)]
    columns = {
        "caption": [row.text for row in rows],
        "removed": [row.removed for row in rows],
        "kept": [row.kept for row in rows],
    }
    write_rows(out, pyarrow.table(columns, schema=SCHEMA))
    removed = [row.removed for row in rows]
    counts = {
        "captions": len(rows),
        "words_removed_mean": round(sum(removed) / len(rows), 2),
        "unchanged": sum(row.text == caption for row, caption in zip(rows, captions, strict=True)),
        "kept_original": sum(row.kept for row in rows),
    }
    write_record(record, time.monotonic() - start, **counts)


def read_lexicon(path: Path) -> list[str]:
    """The filtered captions, one a caption of the manifest. Raises FileNotFoundError or ValueError naming the file."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no captions at {path}: run `python -m hnclip.data.derive.lexicon` for this split")
    try:
        return parquet.read_table(path).select(SCHEMA.names).cast(SCHEMA)["caption"].to_pylist()
    except (pyarrow.ArrowException, OSError, ValueError, KeyError) as error:
        raise ValueError(f"{path} is damaged ({' '.join(str(error).split())}); delete it and run again") from error


def _compared(caption: str, answer: str) -> Filtered:
    """A language model's answer, with the number of the caption's words that it lacks."""
    before, after = (Counter(re.findall(r"\w+", text.casefold())) for text in (caption, answer))
    return enough(caption, Filtered(answer, (before - after).total(), kept=False))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m hnclip.data.derive.lexicon", description=__doc__.splitlines()[0])
    parser.add_argument("manifest", type=Path, help="the split's SPLIT.parquet")
    parser.add_argument("lexicon", type=Path, help='JSON: {"remove": [...]} and, if wanted, {"llm": {...}}')
    parser.add_argument("out", type=Path, help="the table of filtered captions to write, .parquet")
    parser.add_argument("record", type=Path, help="the seconds and counts to write, .json")
    given = parser.parse_args()
    write(given.manifest, read_json(given.lexicon), given.out, given.record)


if __name__ == "__main__":
    run(main)
