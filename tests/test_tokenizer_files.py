"""The files of a tokenizer are those that it is read from."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hnclip.tokenizer_files import tokenizer_files

BESIDE = ("README.md", "model.safetensors", "model.safetensors.index.json", "generation_config.json", "modules.json")


@pytest.fixture
def folder(tmp_path) -> Path:
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt", "spiece.model", *BESIDE):
        (tmp_path / name).write_text("{}")
    (tmp_path / "1_Pooling").mkdir()
    return tmp_path


OWN = {"config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt", "spiece.model"}


def names(name: str) -> set[str]:
    return {Path(path).name for path in tokenizer_files(name)}


def test_of_a_folder_they_are_all_but_weights_and_what_other_programs_read(folder):
    assert names(f"hf:{folder}") == OWN


def test_of_a_folder_of_open_clips_its_configuration_says_whether_there_are_others(folder):
    said = {"model_cfg": {"text_cfg": {}}}
    (folder / "open_clip_config.json").write_text(json.dumps(said))
    assert names(f"open_clip:local-dir:{folder}") == {"open_clip_config.json"}
    said["model_cfg"]["text_cfg"]["hf_tokenizer_name"] = "any"
    (folder / "open_clip_config.json").write_text(json.dumps(said))
    assert names(f"open_clip:local-dir:{folder}") == {"open_clip_config.json", *OWN}
    assert names(f"hf:{folder}") == OWN
    with pytest.raises(ValueError, match=r"nowhere is no model exported for open_clip"):
        tokenizer_files("open_clip:local-dir:nowhere")


@pytest.mark.parametrize("name", ["clip", "open_clip:ViT-B-16-SigLIP", "hf:google/none-such", "hf:nowhere"])
def test_what_is_in_no_folder_has_none(name):
    assert tokenizer_files(name) == []


def test_of_an_installed_package_they_are_those_of_its_model(folder, monkeypatch):
    package = folder / "some_words"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for name in ("config.json", "vocab.txt", "model.safetensors"):
        (package / name).write_text("{}")
    monkeypatch.syspath_prepend(str(folder))
    assert tokenizer_files("package:some_words") == [str(package / name) for name in ("config.json", "vocab.txt")]
    with pytest.raises(ValueError, match="there is no installed Python package 'other_words'"):
        tokenizer_files("package:other_words")


@pytest.mark.slow
def test_every_file_that_transformers_opens_is_one_of_them(folder):
    """What is opened by Python; what the library in Rust opens, tokenizer.json, is not seen here."""
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({"[PAD]": 0, "a": 1}, unk_token="[PAD]"))
    PreTrainedTokenizerFast(tokenizer_object=words, pad_token="[PAD]").save_pretrained(folder)
    code = (
        "import sys; opened = set()\n"
        "sys.addaudithook(lambda event, given: opened.add(str(given[0])) if event == 'open' else None)\n"
        "from transformers import AutoTokenizer\n"
        f"AutoTokenizer.from_pretrained({str(folder)!r})\n"
        f"print('\\n'.join(path for path in opened if path.startswith({str(folder)!r})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    opened = {Path(line).name for line in done.stdout.splitlines()}
    assert "tokenizer_config.json" in opened and opened <= names(f"hf:{folder}")
