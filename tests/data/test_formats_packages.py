"""What the packages `datasets` and `webdataset` write themselves gives the same manifest as a table does."""

from hashlib import sha256

import pytest
from formats import mine, put_images

from hnclip.data.captions_of import Source, read_data

pytestmark = pytest.mark.slow


@pytest.fixture
def dataset(tmp_path):
    """The pictures as files of their own, which the package takes up, with lists of captions."""
    import datasets

    put_images(tmp_path / "images", mine())
    rows = {
        "image": [str(tmp_path / "images" / name) for name in mine().images],
        "caption": list(mine().captions.values()),
    }
    features = {"image": datasets.Image(), "caption": datasets.Sequence(datasets.Value("string"))}
    return datasets.Dataset.from_dict(rows, datasets.Features(features))


def check(root, captions, most=None, **options):
    found = read_data(Source(str(captions), **options), root / "out" / "images")
    assert found.problems.lines() == []
    data = mine()
    wanted = [(name, text) for name, texts in data.captions.items() for text in texts[:most]]
    assert sorted((row.id, row.caption) for row in found.rows) == sorted(wanted)
    for row in found.rows:
        assert found.facts[row.path][0] == sha256(data.images[row.id]).hexdigest()
    return found


def test_a_dataset_saved_whole_selected_and_in_several_files(tmp_path, dataset):
    dataset.save_to_disk(tmp_path / "one")
    check(tmp_path, tmp_path / "one")
    dataset.shuffle(seed=1).save_to_disk(tmp_path / "three", num_shards=3)
    check(tmp_path, tmp_path / "three")


def test_a_dict_of_datasets_has_its_splits(tmp_path, dataset):
    dataset.train_test_split(2, seed=1).save_to_disk(tmp_path / "both")
    found = check(tmp_path, tmp_path / "both", split_column="split")
    assert len({row.id for row in found.rows if row.split == "test"}) == 2
    assert len({row.id for row in found.rows if row.split == "train"}) == 4


def test_a_repository_of_parquet_files_has_its_splits(tmp_path, dataset):
    import datasets

    dataset.save_to_disk(tmp_path / "saved")  # as on the hub, the images are then within
    dataset = datasets.load_from_disk(tmp_path / "saved")
    (tmp_path / "repository" / "data").mkdir(parents=True)
    for number in range(2):
        part = dataset.shard(2, number)
        part.to_parquet(tmp_path / "repository" / "data" / f"train-{number:05d}-of-00002.parquet")
    found = check(tmp_path, tmp_path / "repository", split_column="split")
    assert {row.split for row in found.rows} == {"train"}


def test_shards_of_webdataset(tmp_path):
    import webdataset

    data = mine()
    (tmp_path / "set").mkdir()
    with webdataset.ShardWriter(str(tmp_path / "set" / "a-%03d.tar"), maxcount=2, verbose=0) as sink:
        for name, image in data.images.items():
            record = {"caption": data.captions[name]}
            sink.write({"__key__": name.removesuffix(".png"), "png": image, "json": record})
    check(tmp_path, tmp_path / "set")
    check(tmp_path, tmp_path / "set" / "a-{000..002}.tar")
    with webdataset.TarWriter(str(tmp_path / "texts.tar.gz")) as sink:
        for name, image in data.images.items():
            sink.write({"__key__": f"deep/{name.removesuffix('.png')}", "png": image, "txt": data.captions[name][0]})
    found = read_data(Source(str(tmp_path / "texts.tar.gz")), tmp_path / "out" / "images")
    assert [row.id for row in found.rows] == [f"deep/{name}" for name in data.images]
