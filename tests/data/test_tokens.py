"""Tokens are open_clip's own, ragged, cut with their end token kept, and counted when cut."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from world import make_split

from hnclip.data.tokens import main, read_tokens, read_with, tokenize, tokenizer, write_tokens
from hnclip.models.openclip import open_clip

CAPTIONS = ["A cat!", "Ein schöner Tag am See, 3 boats & more", "long words " * 200, "None"]


def test_equal_to_open_clips_tokenizer_and_cut_like_it(tmp_path):
    write_tokens(tmp_path / "t.npz", tokenize(CAPTIONS, "clip", 248))
    tokens = read_tokens(tmp_path / "t.npz")
    ids_NT, length_N = tokens.batch(np.arange(4))
    expected = open_clip().SimpleTokenizer(context_length=248)(CAPTIONS)
    assert (ids_NT == expected[:, : ids_NT.shape[1]]).all()
    assert tokens.truncated == 1 and length_N.max() == 248
    assert [int(ids_NT[row, length - 1]) for row, length in enumerate(length_N)] == [49407] * 4


def test_a_batch_is_as_wide_as_its_longest():
    ids_NT, length_N = tokenize(CAPTIONS, "clip", 248).batch(np.array([3, 0]))
    assert ids_NT.shape[1] == length_N.max() and length_N.tolist() == [3, 5]


@pytest.mark.parametrize("rows", [[], [2], [3, 0, 0, 2], [1, 2, 3, 0]])
def test_a_batch_holds_each_rows_tokens_and_zeros(rows):
    tokens = tokenize(CAPTIONS, "clip", 248)
    ids_NT, length_N = tokens.batch(np.array(rows, int))
    assert ids_NT.dtype == length_N.dtype == torch.int64 and len(ids_NT) == len(length_N) == len(rows)
    for ids_T, length, row in zip(ids_NT, length_N, rows, strict=True):
        assert ids_T[:length].tolist() == tokens.ids[tokens.start[row] : tokens.start[row + 1]].tolist()
        assert not ids_T[length:].any()


def test_further_arrays_lie_beside_the_tokens(tmp_path):
    tokens, path = tokenize(CAPTIONS, "clip", 248), tmp_path / "t.npz"
    write_tokens(path, tokens, span=np.array([[1, 2]], np.int32))
    again, further = read_with(path, ("span",), "hnclip.data.derive.sentences")
    assert np.array_equal(again.ids, tokens.ids) and len(read_tokens(path)) == len(tokens) and again.truncated == 1
    assert list(further) == ["span"] and further["span"].tolist() == [[1, 2]]
    with pytest.raises(ValueError, match=r"t\.npz is damaged \(.*chunk.*\); delete it and run again"):
        read_with(path, ("chunk",), "hnclip.data.derive.filtered")
    with pytest.raises(FileNotFoundError, match="run `python -m hnclip.data.derive.filtered`"):
        read_with(tmp_path / "none.npz", ("chunk",), "hnclip.data.derive.filtered")


def test_empty_captions_are_refused_by_row():
    with pytest.raises(ValueError, match=r"empty captions in rows \[1, 2\]"):
        tokenize(["a", " \n", ""], "clip", 77)


def test_an_unknown_tokenizer_is_refused():
    with pytest.raises(ValueError, match="known of the tokenizer 'clip' alone, not of 'bert'"):
        tokenizer("bert", 77)


@pytest.mark.slow
def test_the_command_writes_the_same_tokens_and_says_how_many_it_cut(tmp_path):
    record = make_split(tmp_path, "test", 3)
    written = []
    for context in (248, 8):
        (tmp_path / "tokens.json").write_text(json.dumps({"tokenizer": "clip", "context": context}))
        command = [sys.executable, "-m", "hnclip.data.tokens", record["manifest"], tmp_path / "tokens.json"]
        done = subprocess.run([*command, tmp_path / "out.npz"], check=True, capture_output=True, text=True)
        written.append((json.loads(done.stdout), read_tokens(tmp_path / "out.npz")))
    (whole, long), (cut, short) = written
    assert np.array_equal(long.ids, read_tokens(Path(record["tokens"])).ids) and whole["cut"] == 0
    assert short.lengths().tolist() == [8, 8, 8] and (cut["cut"], cut["context"], cut["captions"]) == (3, 8, 3)


@pytest.mark.parametrize("damage", ["empty", "junk", "cut", "flipped", "other"])
def test_damaged_tokens_say_so_and_the_way_out(tmp_path, damage):
    path = tmp_path / "t.npz"
    write_tokens(path, tokenize(CAPTIONS, "clip", 248))
    whole = path.read_bytes()
    flipped = whole[:150] + bytes(255 - byte for byte in whole[150:200]) + whole[200:]
    path.write_bytes({"empty": b"", "junk": b"junk" * 50, "cut": whole[:-30], "flipped": flipped}.get(damage, b""))
    if damage == "other":
        np.savez(path, ids=np.zeros(3))
    with pytest.raises(ValueError, match=r"t\.npz is damaged \(.+\); delete it and run again") as caught:
        read_tokens(path)
    assert "unsafe" not in str(caught.value)


def test_missing_tokens_say_how_they_are_made(tmp_path):
    with pytest.raises(FileNotFoundError, match="no tokens at .*none.npz: run `python -m hnclip.data.tokens`"):
        read_tokens(tmp_path / "none.npz")


def test_the_command_tells_its_usage(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["tokens", "only one.parquet"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("usage: python -m hnclip.data.tokens [-h] manifest tokens out\n")
