"""Maps of cached embeddings: what they start as, what they learn, and a person's own embeddings of any width."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from pyarrow import parquet
from torch.nn.functional import normalize
from world import entry_of, make_cell

from hnclip import embed_given, evaluate, train
from hnclip.data.prepare import prepare
from hnclip.data.split import open_split
from hnclip.data.vectors import read_vectors
from hnclip.encode import encode_split
from hnclip.frameworks import create
from hnclip.models.cached import CachedTowers, Map
from hnclip.models.trained import load_trained
from hnclip.ranks import retrieval
from hnclip.store import read_json

RANDOM = torch.Generator().manual_seed(3)


@pytest.mark.parametrize("hidden", [None, 5])
def test_an_untrained_map_changes_nothing_but_the_length(hidden):
    row_ND = torch.randn(4, 8, generator=RANDOM)
    torch.testing.assert_close(Map(8, 8, hidden)(row_ND), normalize(row_ND, dim=-1))


def test_a_wider_side_is_projected_alike_every_time():
    row_ND = torch.randn(4, 8, generator=RANDOM)
    first, second = (Map(8, 3, None)(row_ND) for _ in range(2))
    assert first.shape == (4, 3) and torch.equal(first, second)
    torch.testing.assert_close(first.norm(dim=-1), torch.ones(4))


def test_a_linear_map_is_the_row_and_a_product_of_it():
    made = Map(4, 4, None)
    torch.nn.init.normal_(made.last.weight)
    row_ND = normalize(torch.randn(3, 4, generator=RANDOM), dim=-1)
    expected = row_ND + row_ND @ made.last.weight.T + made.last.bias
    torch.testing.assert_close(made(row_ND), expected / expected.norm(dim=-1, keepdim=True))


def trained(folder: Path, **options) -> tuple[dict, Path]:
    config, run = make_cell(folder, framework=entry_of("adapter", **options), recipe={"epochs": 1, "batch": 13})
    train.main(config, run)
    return read_json(config), run


@pytest.mark.parametrize("options", [{"layers": 1}, {"layers": 2, "hidden": 6, "sides": "image"}])
def test_what_is_trained_is_saved_and_evaluated_as_in_training(tmp_path, options):
    config, run = trained(tmp_path, **options)
    split = open_split(config["data"]["test"][0])
    image_ID, text_CD = encode_split(load_trained(run / "weights.safetensors"), split, 8)
    kept = pd.read_parquet(run / "ranks.parquet")
    pd.testing.assert_frame_equal(retrieval(split, image_ID, text_CD), kept)
    changed = [(image_ID - torch.from_numpy(split.pixels)).abs().max() > 1e-3]
    changed += [(text_CD - torch.from_numpy(split.tokens.rows)).abs().max() > 1e-3]
    assert changed == [True, options.get("sides") is None]
    (tmp_path / "target.json").write_text(json.dumps({"test": config["data"]["test"]}))
    evaluate.main(run, tmp_path / "target.json", tmp_path / "ranks.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "ranks.parquet"), kept)


def test_a_fixed_scale_stays(tmp_path):
    entry = {"base": "infonce", "boost": "none", "scale": 17}
    config, run = make_cell(tmp_path, framework=entry_of("adapter"), loss=entry, recipe={"epochs": 1})
    train.main(config, run)
    assert math.isclose(load_trained(run / "weights.safetensors").scale().item(), 17, rel_tol=1e-6)
    assert set(pd.read_parquet(run / "log.parquet")["scale"].dropna().round(3)) == {17}


def test_cached_towers_start_as_the_backbone_whose_embeddings_they_map():
    towers = CachedTowers((6, 6), 20.0)
    row_ND = normalize(torch.randn(5, 6, generator=RANDOM), dim=-1)
    torch.testing.assert_close(towers.image(row_ND)[0], row_ND)
    torch.testing.assert_close(towers.text(row_ND)[0], row_ND)
    assert math.isclose(towers.scale().item(), 20, rel_tol=1e-6)


def own_file(path: Path, widths=(8, 8), images=12) -> Path:
    """A person's embeddings: two captions an image, vectors of any length."""
    random = np.random.default_rng(0)
    image_ID = random.normal(size=(images, widths[0]))
    rows = [(f"i{number // 2}", f"caption {number}", image_ID[number // 2]) for number in range(2 * images)]
    columns = {"id": [row[0] for row in rows], "words": [row[1] for row in rows], "image": [row[2] for row in rows]}
    parquet.write_table(pa.table({**columns, "text": list(random.normal(size=(2 * images, widths[1])))}), path)
    return path


@pytest.mark.parametrize("widths", [(8, 8), (8, 5)])
def test_own_embeddings_become_manifests_embeddings_and_ranks(tmp_path, widths):
    file = own_file(tmp_path / "own.parquet", widths)
    options = {"file": str(file), "caption_column": "words", "split_hash": {"train": 50, "test": 50}}
    prepare({"name": "own", "kind": "embeddings", "options": options, "splits": ["train", "test"]}, tmp_path / "own")
    (tmp_path / "backbone.json").write_text(json.dumps({"kind": "embeddings", "file": str(file), "scale": 30}))
    out, ranks = tmp_path / "test.parquet", tmp_path / "test.ranks.parquet"
    embed_given.main(tmp_path / "backbone.json", tmp_path / "own" / "test.parquet", out, ranks)
    split = open_split({"name": "own/test", "manifest": str(tmp_path / "own/test.parquet"), "embeddings": str(out)})
    given = read_vectors(file)
    row = given.ids.index(split.frame["id"].iloc[0])
    np.testing.assert_allclose(split.pixels[0], given.image_CD[row] / np.linalg.norm(given.image_CD[row]), rtol=1e-5)
    assert list(split.frame["caption"][:2]) == [f"caption {row}", f"caption {row + 1}"]
    assert split.scale == pytest.approx(30) and split.tokens.truncated is None
    assert pd.read_parquet(ranks)["gallery"].max() == len(split.frame)


@pytest.mark.parametrize(
    "column, rows, words",
    [
        ("text", [[1.0, 2.0], [1.0]], "vectors of 2 numbers, but other ones in rows 2|vectors of 1 numbers"),
        ("text", [[1.0, 2.0], [float("nan"), 1.0]], "not finite in rows 2"),
        ("image", [[1.0, 2.0], [0.0, 0.0]], "zero or not finite in rows 2"),
        ("image", ["a", "b"], "holds string, not vectors"),
        ("image", [[1.0, 2.0], None], "vectors of 2 numbers, but other ones in rows 2"),
        ("id", ["a", None], "column 'id' is empty in rows 2"),
    ],
)
def test_vectors_that_are_none_are_named(tmp_path, column, rows, words):
    columns = {"id": ["a", "b"], "image": [[1.0, 2.0]] * 2, "text": [[1.0, 2.0]] * 2, column: rows}
    parquet.write_table(pa.table(columns), tmp_path / "own.parquet")
    with pytest.raises(ValueError, match=words):
        read_vectors(tmp_path / "own.parquet")


def test_what_needs_towers_does_not_take_embeddings():
    with pytest.raises(ValueError, match="framework .finelip. needs the states of single patches and words"):
        create("finelip", CachedTowers((8, 8), 10.0), {})


def test_an_image_with_two_embeddings_is_named():
    image_CD = np.float32([[1, 0], [1, 1e-5], [0, 2], [0, 1], [3, 1], [1, 3]])
    embed_given.check_images(["a", "a", "b", "b", "c", "d"], image_CD, "own.parquet")
    with pytest.raises(ValueError, match="own.parquet has more than one embedding of the images 'c'; keep one of each"):
        embed_given.check_images(["a", "a", "b", "b", "c", "c"], image_CD, "own.parquet")


def test_images_of_the_manifest_that_a_file_lacks_are_named():
    frame = pd.DataFrame({"id": ["a", "a", "b", "c"]})
    with pytest.raises(ValueError, match=r"2 images of this split: 'a' \(1 of 2 captions\), 'c' \(0 of 1 captions\)"):
        embed_given.rows_of(["a", "b"], frame, "own.parquet")
    assert list(embed_given.rows_of(["b", "c", "a", "a"], frame, "own.parquet")) == [2, 3, 0, 1]


def test_captions_in_another_order_are_told_by_their_words():
    frame = pd.DataFrame({"id": ["a", "a", "b"], "caption": ["one", "two", "one"]})
    ids, words = ["a", "b", "a"], ["two", "one", "one"]
    assert list(embed_given.rows_of(ids, frame, "own.parquet", words)) == [2, 0, 1]
    with pytest.raises(ValueError, match="other words for 1 captions of this split: 'a': 'two'"):
        embed_given.rows_of(ids, frame, "own.parquet", ["three", "one", "one"])
