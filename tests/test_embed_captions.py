"""Captions embedded by themselves: the encoder against its definition, its folder, the captions' table, the command."""

import json
import shutil
import socket
from pathlib import Path

import pytest
import torch
from pyarrow import parquet
from transformers import BertConfig, BertModel
from world import manifest_row

from hnclip.data.caption_list import read_captions
from hnclip.data.manifest import write_manifest
from hnclip.embed_captions import main
from hnclip.models.sentence_encoder import load_sentence_encoder, mean_pool
from hnclip.study_data import caption_files, caption_sets, captions_path
from hnclip.text_encoder import encoder_files, encoder_folder

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "red", "blue", "cat", "dog", "near", "the", "."]
CAPTIONS = ["A red cat.", "the blue dog near a red cat near the dog", "a cat", "a red dog near the blue cat."]


def make_encoder(folder: Path, positions: int = 32) -> Path:
    """A random BERT of one layer, saved as a sentence transformer."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    BertModel(BertConfig(vocab_size=len(WORDS), max_position_embeddings=positions, **sizes)).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer"}))
    steps = [{"type": f"sentence_transformers.models.{kind}", "path": kind} for kind in ("Transformer", "Pooling")]
    (folder / "modules.json").write_text(json.dumps(steps))
    (folder / "Pooling").mkdir()
    (folder / "Pooling/config.json").write_text(json.dumps({"pooling_mode_mean_tokens": True}))
    return folder


@pytest.fixture(scope="module")
def shared(tmp_path_factory) -> Path:
    return make_encoder(tmp_path_factory.mktemp("encoder") / "model")


@pytest.fixture
def folder(shared, tmp_path) -> Path:
    """A copy of the encoder that a test may spoil."""
    return Path(shutil.copytree(shared, tmp_path / "model"))


@pytest.fixture
def captions(tmp_path) -> Path:
    path = tmp_path / "captions.jsonl"
    path.write_text(
        "".join(json.dumps({"image": f"{n}.jpg", "caption": text}) + "\n" for n, text in enumerate(CAPTIONS))
    )
    return path


@torch.no_grad()
def test_embeddings_are_the_mean_over_tokens_at_unit_length(shared):
    encoder = load_sentence_encoder(shared, 32)
    text_CD, cut = encoder.encode(CAPTIONS, batch=3)
    assert cut == 0 and text_CD.dtype == torch.float32
    model = encoder.model.double()
    for row, caption in enumerate(CAPTIONS):
        words = caption.lower().replace(".", " .").split()
        ids = [2, *(WORDS.index(word) for word in words), 3]
        state_LW = model(torch.tensor([ids])).last_hidden_state[0]
        mean_W = sum(state_LW[position] for position in range(len(ids))) / len(ids)
        torch.testing.assert_close(text_CD[row].double(), mean_W / mean_W.norm(), rtol=0, atol=1e-6)
    model.float()


def test_padding_takes_no_part_in_the_mean():
    state_NLW = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))
    mask_NL = torch.tensor([[1, 1, 0], [1, 1, 1]])
    wild_NLW = state_NLW.clone()
    wild_NLW[0, 2] = 1e6
    assert torch.equal(mean_pool(state_NLW, mask_NL), mean_pool(wild_NLW, mask_NL))


def test_the_command_writes_embeddings_and_says_how_many_captions_were_cut(
    shared, captions, tmp_path, capsys, monkeypatch
):
    def refuse(*_):
        raise AssertionError("a connection was asked for")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    (tmp_path / "encoder.json").write_text(
        json.dumps({"kind": "sentence_transformer", "folder": str(shared), "context": 10})
    )
    main(tmp_path / "encoder.json", captions, tmp_path / "out.parquet")
    table = parquet.read_table(tmp_path / "out.parquet")
    assert table.column_names == ["id", "caption", "text"]
    assert table["id"].to_pylist() == [f"{number}.jpg" for number in range(4)]
    assert table["caption"].to_pylist() == CAPTIONS
    rows_CD = torch.tensor(table["text"].to_pylist())
    assert rows_CD.shape == (4, 16)
    torch.testing.assert_close(rows_CD.norm(dim=1), torch.ones(4))
    assert "1 of 4 captions (25.0 %) were cut at 10 tokens" in capsys.readouterr().out
    said = table.schema.metadata
    assert json.loads(said[b"captions_cut"]) == [1, 4]
    assert len(said[b"captions_sha256"]) == 64 and "model.safetensors" in json.loads(said[b"weights_sha256"])


def test_an_installed_package_is_found_and_not_imported(folder, tmp_path, monkeypatch):
    package = tmp_path / "site/some_encoder_model"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    shutil.copytree(folder, package / "data")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert encoder_folder("package:some_encoder_model") == package / "data"
    names = {Path(path).name for path in encoder_files("package:some_encoder_model")}
    assert names >= {"config.json", "model.safetensors", "vocab.txt", "modules.json"}
    shutil.copytree(folder, package / "other")
    with pytest.raises(ValueError, match="holds 2 models with .safetensors.*data, .*other"):
        encoder_folder("package:some_encoder_model")
    with pytest.raises(ValueError, match="no installed Python package 'no_such_model'.*--no-deps no-such-model"):
        encoder_folder("package:no_such_model")


def test_pickled_weights_and_other_poolings_are_refused(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    (folder / "Pooling/config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    steps = json.loads((folder / "modules.json").read_text()) + [{"type": "x.models.Dense", "path": "2_Dense"}]
    (folder / "modules.json").write_text(json.dumps(steps))
    with pytest.raises(ValueError) as caught:
        encoder_folder(str(folder))
    for words in ("no .safetensors", "pytorch_model.bin", "pools by pooling_mode_cls_token", "step 'Dense'"):
        assert words in str(caught.value)


def test_weights_that_lack_and_positions_that_lack_are_refused(folder):
    with pytest.raises(ValueError, match="context 512 is longer than the 32 positions"):
        load_sentence_encoder(folder, 512)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 2}))
    with pytest.raises(ValueError, match="lacks 16 weights.*encoder.layer.1.attention"):
        load_sentence_encoder(folder, 32)


def test_captions_come_from_a_manifest_too(tmp_path):
    rows = [manifest_row(name, f"{name}.png", f"caption of {name}", "test") for name in ("a", "b")]
    write_manifest(tmp_path / "test.parquet", rows)
    assert read_captions(tmp_path / "test.parquet") == (["a", "b"], ["caption of a", "caption of b"])


def test_every_row_that_cannot_be_used_is_named(tmp_path):
    path = tmp_path / "captions.jsonl"
    path.write_text('{"image": "a", "caption": " "}\n{"caption": "b"}\n{"image": 3, "caption": "c"}\nno JSON\n')
    with pytest.raises(ValueError) as caught:
        read_captions(path)
    text = str(caught.value)
    assert "without a visible caption" in text and "line 1" in text
    assert "without 'image'" in text and "line 2" in text and "line 3" not in text and "line 4" in text
    path.write_text('{"picture": "a", "text": "b"}\n')
    with pytest.raises(ValueError, match="its columns: 'picture', 'text'"):
        read_captions(path)


def test_a_study_knows_its_sets_of_captions():
    sets = {"z": {"file": "own.jsonl", "encoder": "e"}, "a": {"split": "scenes/test", "encoder": "e"}}
    config = {"captions": sets, "encoders": {"e": {"kind": "sentence_transformer", "folder": "model"}}}
    assert caption_sets(config) == [
        {"name": "a", "encoder": "e", "path": "results/captions/e/a.parquet"},
        {"name": "z", "encoder": "e", "path": "results/captions/e/z.parquet"},
    ]
    assert captions_path(config, "a") == "results/data/scenes/test.parquet"
    assert captions_path(config, "z") == "own.jsonl" and caption_files(config) == ["own.jsonl"]
    assert caption_sets({}) == [] and caption_files({}) == []
