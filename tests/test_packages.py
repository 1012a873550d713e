"""A package with a model is known by its bytes, not by where or when it was installed."""

import pytest

from hnclip.packages import lasting, package_hash, packages, record_path

MODEL = {"config.json": "{}", "data/model.safetensors": "weights"}


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Makes a package that can be found, of these files and some code."""

    def make(name: str, files: dict[str, str], code: str = ""):
        folder = tmp_path / "site" / name
        (folder / "data").mkdir(parents=True)
        for path, text in {"__init__.py": code, **files}.items():
            (folder / path).write_text(text)
        return folder

    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return make


def test_an_entry_names_its_packages_once():
    entry = {"image": "package:a", "text": "package:b", "tokenizer": "package:b", "transform": {}, "context": 77}
    assert packages(entry) == ["a", "b"] and packages({"kind": "starter", "tokenizer": "clip"}) == []


def test_files_of_named_packages_are_one_record_each_and_others_stay(install):
    words, pictures, other = (install(name, MODEL) for name in ("words_a", "pictures_a", "words_ab"))
    entry = {"text": "package:words_a", "image": "package:pictures_a"}
    files = [str(folder / name) for folder in (pictures, words, other) for name in MODEL]
    assert lasting(entry, [*files, "own.json"]) == [
        *(record_path("pictures_a"), record_path("words_a")),
        *(str(other / name) for name in MODEL),
        "own.json",
    ]
    assert lasting({"tokenizer": "clip"}, files) == files


def test_a_package_that_is_not_installed_is_named(install):
    with pytest.raises(ValueError, match="there is no installed Python package 'none_such'"):
        lasting({"text": "package:none_such"}, [])


def test_the_hash_is_of_places_and_bytes_beside_code(install):
    for name, files in {
        "one_b": MODEL,
        "two_b": MODEL,
        "other_bytes_b": {**MODEL, "config.json": "[]"},
        "other_place_b": {"config.json": "{}", "model.safetensors": "weights"},
    }.items():
        install(name, files, code=f"# {name}")
    hashes = [package_hash(name) for name in ("one_b", "two_b", "other_bytes_b", "other_place_b")]
    assert hashes[0] == hashes[1] and len(set(hashes)) == 3
