"""A run on a file that `hnclip embed` wrote stands for the model that made it, with the run's maps behind."""

import shutil

import numpy as np
import pyarrow as pa
import pytest
import torch
from PIL import Image
from pyarrow import parquet
from test_export_formats import adapter_run, drawn_towers, run_card
from world import BACKBONE, manifest_row

from hnclip import export
from hnclip.cli.train import _next
from hnclip.data.captions_of import Source
from hnclip.data.manifest import write_manifest
from hnclip.embed_own import embed_own
from hnclip.embedded_by import maker_of
from hnclip.encoder import Encoder
from hnclip.evaluate_captions import _hashes
from hnclip.model_spec import backbone_entry, made_with
from hnclip.models.checkpoints import save_backbone
from hnclip.models.load import backbone_from
from hnclip.store import read_json, sha256_of

SIDES = ("image", "text")


def data(folder):
    """Three pictures and their captions."""
    folder.mkdir(exist_ok=True)
    rows = ["image,caption"]
    for number in range(3):
        Image.new("RGB", (40, 50), (90 * number, 50, 200)).save(folder / f"{number}.png")
        rows.append(f"{number}.png,box number {number} of a colour of its own")
    (folder / "captions.csv").write_text("\n".join(rows))
    return Source(str(folder / "captions.csv"), images=str(folder))


def run_on(folder, file, width, **columns):
    """A run whose maps are for the embeddings of this file."""
    towers = drawn_towers((width, width), None, SIDES)
    return adapter_run(folder, towers, {"kind": "embeddings", "file": str(file), **columns}, [file])


def checkpoint(path, seed=0):
    save_backbone(path, backbone_from({**BACKBONE, "seed": seed}), {})


@pytest.fixture(scope="module")
def of_tiny(tmp_path_factory):
    """The folder of a run on embeddings of tiny, and their file."""
    folder = tmp_path_factory.mktemp("tiny")
    width = embed_own("tiny", data(folder / "photos"), folder / "own.parquet").width
    return run_on(folder / "run", folder / "own.parquet", width), folder / "own.parquet"


@pytest.fixture
def of_file(tmp_path, monkeypatch):
    """A run on embeddings of a weights file that was named from another folder than the tests are in."""
    (tmp_path / "there").mkdir()
    checkpoint(tmp_path / "there/mine.safetensors")
    with monkeypatch.context() as moved:
        moved.chdir(tmp_path / "there")
        width = embed_own("mine.safetensors", data(tmp_path / "photos"), tmp_path / "own.parquet").width
    return run_on(tmp_path / "run", tmp_path / "own.parquet", width)


@torch.no_grad()
def test_the_run_is_the_model_that_made_the_embeddings_and_its_maps(of_tiny):
    run, file = of_tiny
    tiny, mapped, towers = Encoder("tiny"), Encoder(str(run)), drawn_towers((64, 64), None, SIDES)
    assert mapped.entry == tiny.entry and mapped.identity != tiny.identity == maker_of(file).identity
    captions = parquet.read_table(file)["caption"].to_pylist()
    given_ND = torch.tensor(parquet.read_table(file)["text"].to_pylist())
    assert np.abs(towers.text(given_ND)[0].numpy() - mapped.texts(captions)).max() < 1e-5
    paths = parquet.read_table(file)["path"].to_pylist()
    given_ND = torch.tensor(parquet.read_table(file)["image"].to_pylist())
    assert np.abs(towers.image(given_ND)[0].numpy() - mapped.files(paths)).max() < 1e-5


def test_the_file_names_a_models_own_file_wherever_a_command_is_run(of_file, tmp_path):
    place = str(tmp_path / "there/mine.safetensors")
    assert backbone_entry(str(of_file))["weights"] == place == made_with(of_file).model
    assert Encoder(str(of_file)).texts(["a box"]).shape == (1, 8)


def test_other_weights_in_the_models_place_are_refused(of_file, tmp_path):
    checkpoint(tmp_path / "there/mine.safetensors", seed=1)
    with pytest.raises(ValueError, match=r"run maps embeddings that .*mine\.safetensors made .* another model now"):
        Encoder(str(of_file))


def test_a_model_that_has_gone_is_told_with_its_place_and_comes_back_by_a_link(of_file, tmp_path):
    place = tmp_path / "there/mine.safetensors"
    place.rename(tmp_path / "moved.safetensors")
    with pytest.raises(ValueError, match=r"which is not there any more: .*there/mine\.safetensors\. Put it back"):
        backbone_entry(str(of_file))
    place.symlink_to(tmp_path / "moved.safetensors")
    assert Encoder(str(of_file)).width == 8


def test_embeddings_that_went_or_changed_are_told(of_file, tmp_path):
    file = tmp_path / "own.parquet"
    table = parquet.read_table(file)
    parquet.write_table(table.slice(0, 2), file)
    with pytest.raises(ValueError, match=r"run was trained on other embeddings than .*own\.parquet holds now"):
        backbone_entry(str(of_file))
    file.write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"own\.parquet is no Parquet file"):
        backbone_entry(str(of_file))
    file.unlink()
    with pytest.raises(ValueError, match=r"maps embeddings of .*own\.parquet, and that file.* is not there: put it"):
        backbone_entry(str(of_file))


def test_embeddings_of_other_programs_have_no_model(tmp_path):
    table = pa.table({"id": ["a"], "image": [[1.0] * 8], "text": [[1.0] * 8]})
    parquet.write_table(table, tmp_path / "theirs.parquet")
    run = run_on(tmp_path / "run", tmp_path / "theirs.parquet", 8)
    with pytest.raises(ValueError, match="it has no model for pictures or texts of your own"):
        backbone_entry(str(run))
    assert [line.split()[0] for line in _next(run)] == ["export", "compare"]


def test_columns_that_another_program_added_are_not_the_models(of_tiny, tmp_path):
    run = run_on(tmp_path / "run", of_tiny[1], 64, text_column="their_text")
    with pytest.raises(ValueError, match="it has no model for pictures or texts of your own"):
        backbone_entry(str(run))


def test_embeddings_by_a_run_that_maps_embeddings_do_not_name_its_towers_alone(of_tiny, tmp_path):
    embed_own(str(of_tiny[0]), data(tmp_path / "photos"), tmp_path / "mapped.parquet")
    assert maker_of(tmp_path / "mapped.parquet").entry is None
    run = run_on(tmp_path / "run", tmp_path / "mapped.parquet", 64)
    with pytest.raises(ValueError, match="does not say how that is loaded: it maps embeddings itself"):
        backbone_entry(str(run))


def test_what_comes_next_takes_the_model(of_tiny):
    assert [line.split()[0] for line in _next(of_tiny[0])] == ["evaluate", "index", "export"]
    assert _next(of_tiny[0])[-1].endswith("--to adapter")


def test_exported_maps_name_the_model(of_tiny, tmp_path):
    export.main(of_tiny[0], tmp_path / "maps", "adapter")
    assert read_json(tmp_path / "maps/adapter_config.json")["backbone"] == backbone_entry("tiny")
    card = (tmp_path / "maps/README.md").read_text(encoding="utf-8")
    assert "small backbone that ships with hnclip" in card and f"by its embeddings in `{of_tiny[1]}`" in card
    with pytest.raises(ValueError, match="take adapter or onnx, not open_clip"):
        export.main(of_tiny[0], tmp_path / "out", "open_clip")


@pytest.mark.slow
def test_graphs_are_those_of_the_model_and_the_maps(of_file, tmp_path, monkeypatch):
    export.main(of_file, tmp_path / "graphs", "onnx")
    names = run_card(tmp_path / "graphs", monkeypatch)
    captions = ["a red box", "two dogs " * 20]
    assert np.abs(names["embed_texts"](captions) - Encoder(str(of_file)).texts(captions)).max() < 1e-5
    checkpoint(tmp_path / "there/mine.safetensors", seed=1)
    with pytest.raises(ValueError, match="another model now"):
        export.main(of_file, tmp_path / "again", "onnx")


def test_pictures_that_such_a_run_saw_are_known_by_their_files(tmp_path):
    data(tmp_path / "photos")
    pictures = sorted((tmp_path / "photos").glob("*.png"))
    embedded = {"width": 0, "height": 0, "sha256": "e" * 64}  # the hash of an embedding
    rows = [manifest_row(path.name, str(path), "a caption", "train", **embedded) for path in pictures]
    write_manifest(tmp_path / "train.parquet", rows)
    assert _hashes(tmp_path / "train.parquet") == {sha256_of(path) for path in pictures}
    shutil.rmtree(tmp_path / "photos")
    assert _hashes(tmp_path / "train.parquet") is None
