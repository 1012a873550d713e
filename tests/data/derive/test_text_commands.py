"""The commands that derive texts: what they write decodes to the words it stands for; whole files or none."""

import json
import sys

import numpy as np
import pytest
from world import manifest_row

from hnclip.command import run
from hnclip.data.chunks import chunk_spans
from hnclip.data.derive import filtered, first_sentence, lexicon, sentences
from hnclip.data.derive.segment_table import write_segments
from hnclip.data.manifest import write_manifest
from hnclip.data.tokens import read_tokens, tokenizer
from hnclip.store import read_json

WORDS = tokenizer("clip", 248)
CAPTIONS = [
    ["A red Café stands here.", "It is 3.5 m tall."],
    ["A \u201cred\u201d dog.", "A dog.", "A dog."],
    ["Red only."],
    ["Tom &amp; Jerry run.", "Blue sky &lt;3 hangs above."],
]
ROWS = [(0, 1, 0.5), (0, 0, 0.25), (1, 2, 0.5), (3, 1, 0.5)]  # caption, sentence, score


@pytest.fixture
def split(tmp_path):
    """A split of four captions, its regions, and the options of the commands."""
    rows = [
        manifest_row(f"i{row}", f"i{row}.png", " ".join(own), "train", sentences=own, boxes=[None] * len(own))
        for row, own in enumerate(CAPTIONS)
    ]
    write_manifest(tmp_path / "train.parquet", rows)
    regions = []
    for caption, sentence, score in ROWS:
        start = len(" ".join([*CAPTIONS[caption][:sentence], ""]))
        box = {"left": 0, "top": 0, "right": 2, "bottom": 2}
        place = {"start": start, "end": start + len(CAPTIONS[caption][sentence])}
        regions.append({"id": f"i{caption}", "caption": caption, **box, **place, "score": score})
    write_segments(tmp_path / "segments.parquet", regions)
    for context in (248, 10, 5):
        (tmp_path / f"{context}.json").write_text(json.dumps({"tokenizer": "clip", "context": context}))
    (tmp_path / "colours.json").write_text(json.dumps({"remove": ["colours"]}))
    return tmp_path


def call(monkeypatch, module, folder, *names):
    """Run a command as the pipeline does; the names are files of the folder."""
    monkeypatch.setattr(sys, "argv", [module.__name__, *(str(folder / name) for name in names)])
    run(module.main)


def words_of(ids) -> str:
    return WORDS.decode([int(token) for token in ids]).replace(" ", "")


def texts_of(tokens) -> list[str]:
    return [words_of(tokens.ids[a + 1 : b - 1]) for a, b in zip(tokens.start, tokens.start[1:], strict=False)]


def plain(text: str) -> str:
    return words_of(WORDS.encode(text))


def test_first_sentences(split, monkeypatch):
    call(monkeypatch, first_sentence, split, "train.parquet", "248.json", "first.npz", "first.json")
    assert texts_of(read_tokens(split / "first.npz")) == [plain(own[0]) for own in CAPTIONS]
    record = read_json(split / "first.json")
    assert (record["captions"], record["of_one_sentence"], record["cut"]) == (4, 1, 0) and record["seconds"] >= 0
    call(monkeypatch, first_sentence, split, "train.parquet", "5.json", "first.npz", "first.json")
    assert read_json(split / "first.json")["cut"] == 3 and read_tokens(split / "first.npz").lengths().max() == 5


def test_captions_without_sentences_are_named_and_nothing_is_written(split, monkeypatch, capsys):
    write_manifest(split / "none.parquet", [manifest_row("x", "x.png", "A cat.", "train", sentences=[], boxes=[])])
    with pytest.raises(SystemExit):
        call(monkeypatch, first_sentence, split, "none.parquet", "248.json", "first.npz", "first.json")
    assert "captions without sentences: row 0 (x)" in capsys.readouterr().err
    assert not list(split.glob("*first*"))


def test_the_best_regions_sentence_and_its_span(split, monkeypatch):
    call(monkeypatch, sentences, split, "train.parquet", "segments.parquet", "248.json", "s.npz", "s.json")
    tokens, span_R2 = sentences.read_sentences(split / "s.npz")
    chosen = [(0, 1), (1, 2), (3, 1)]
    assert span_R2.dtype == np.int32 and texts_of(tokens) == [plain(CAPTIONS[row][number]) for row, number in chosen]
    for (row, number), (start, end) in zip(chosen, span_R2, strict=True):
        ids = [0, *WORDS.encode(" ".join(CAPTIONS[row]))]
        assert words_of(ids[start:end]) == plain(CAPTIONS[row][number])
        assert end == len(ids)  # each is its caption's last: an equal sentence before it was not taken
    counts = {"captions": 4, "sentences": 3, "cut": 0, "cut_off_in_caption": 0, "cut_in_caption": 0}
    assert read_json(split / "s.json").items() >= counts.items()


def test_spans_that_the_context_cuts_are_counted(split, monkeypatch):
    call(monkeypatch, sentences, split, "train.parquet", "segments.parquet", "10.json", "s.npz", "s.json")
    _, span_R2 = sentences.read_sentences(split / "s.npz")
    record = read_json(split / "s.json")
    assert record["cut_off_in_caption"] == (span_R2 == 0).all(1).sum() == 1
    assert record["cut_in_caption"] == 2 and span_R2.max() == 9


def test_no_regions_make_no_sentences(split, monkeypatch):
    write_segments(split / "segments.parquet", [])
    call(monkeypatch, sentences, split, "train.parquet", "segments.parquet", "248.json", "s.npz", "s.json")
    tokens, span_R2 = sentences.read_sentences(split / "s.npz")
    assert len(tokens) == 0 and span_R2.shape == (0, 2)


def test_filtered_captions_their_tokens_and_chunks(split, monkeypatch):
    call(monkeypatch, lexicon, split, "train.parquet", "colours.json", "l.parquet", "l.json")
    captions = lexicon.read_lexicon(split / "l.parquet")
    assert captions[0] == "A Café stands here. It is 3.5 m tall." and captions[1] == "A dog. A dog. A dog."
    assert captions[2:] == ["Red only.", "Tom &amp; Jerry run. sky &lt;3 hangs above."]
    counts = {"captions": 4, "words_removed_mean": 0.75, "unchanged": 1, "kept_original": 1}
    assert read_json(split / "l.json").items() >= counts.items()
    call(monkeypatch, filtered, split, "l.parquet", "248.json", "f.npz", "f.json")
    tokens, chunks = filtered.read_filtered(split / "f.npz")
    assert texts_of(tokens) == [plain(caption) for caption in captions]
    span_NC2 = chunks.batch(np.array([2, 0, 3, 1]))
    for row, span_C2 in zip([2, 0, 3, 1], span_NC2.tolist(), strict=True):
        expected = [list(span) for span in chunk_spans(captions[row], WORDS, 248)]
        assert span_C2 == expected + [[0, 0]] * (span_NC2.shape[1] - len(expected))
    assert chunks.span.dtype == np.int32 and chunks.start.dtype == np.int64 and len(chunks.start) == 5
    assert chunks.batch(np.array([], int)).shape == (0, 0, 2)
    assert read_json(split / "f.json")["chunks_mean"] == round(len(chunks.span) / 4, 1)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"remove": ["colors"]}, "lexicon: unknown word list 'colors' (did you mean 'colours'?)"),
        ({"remove": [], "llm": {"url": "http://x", "model": "m"}}, "a language model needs what it is to remove"),
        ({"remove": ["colours"], "llm": {"url": "x"}}, "option 'model' is missing"),
        ({"remove": ["colours"], "llm": {"url": "file:///x", "model": "m"}}, "url must be http(s), got 'file:///x'"),
        ({"kinds": ["colours"]}, "unknown option 'kinds'"),
    ],
)
def test_a_wrong_entry_is_refused_before_anything_is_written(split, monkeypatch, capsys, entry, message):
    (split / "wrong.json").write_text(json.dumps(entry))
    with pytest.raises(SystemExit):
        call(monkeypatch, lexicon, split, "train.parquet", "wrong.json", "l.parquet", "l.json")
    assert message in capsys.readouterr().err and not list(split.glob("*l.*parquet*"))


@pytest.mark.parametrize("data", [b"", b"junk" * 50])
def test_a_damaged_table_says_so_and_the_way_out(split, data):
    with pytest.raises(FileNotFoundError, match="run `python -m hnclip.data.derive.lexicon`"):
        lexicon.read_lexicon(split / "l.parquet")
    (split / "l.parquet").write_bytes(data)
    with pytest.raises(ValueError, match=r"l\.parquet is damaged \(.+\); delete it and run again"):
        lexicon.read_lexicon(split / "l.parquet")
    with pytest.raises(ValueError, match=r"train\.parquet is damaged \(.+\); delete it and run again"):
        lexicon.read_lexicon(split / "train.parquet")


@pytest.mark.parametrize("module", [first_sentence, sentences, lexicon, filtered])
def test_the_commands_tell_their_usage(monkeypatch, capsys, module):
    monkeypatch.setattr(sys, "argv", ["x", "only one"])
    with pytest.raises(SystemExit) as end:
        module.main()
    usage = " ".join(capsys.readouterr().err.split())
    assert end.value.code == 2 and usage.startswith(f"usage: python -m {module.__name__} [-h] ")
    assert " out record " in usage
