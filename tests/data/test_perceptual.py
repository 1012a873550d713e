import io
import json
import subprocess
import sys

import numpy as np
import pandas
import pytest
from PIL import Image, ImageEnhance

from hnclip.data.near_duplicates import main, near_pairs
from hnclip.data.perceptual import NEAR, distances, perceptual_hash
from hnclip.data.prepared_rows import Pair, write_splits


def photo(seed, size=(192, 144)):
    """A made-up picture with the spectrum of photographs: strong coarse shapes, weak fine ones."""
    random = np.random.default_rng(seed)
    width, height = size
    down, across = np.meshgrid(np.fft.fftfreq(height), np.fft.fftfreq(width), indexing="ij")
    falling = 1 / np.maximum(np.hypot(down, across), 1 / max(size)) ** 1.3
    planes = [np.fft.ifft2(np.fft.fft2(random.normal(size=(height, width))) * falling).real for _ in range(3)]
    common = planes[0]
    values = np.stack([common + 0.3 * plane for plane in planes], axis=-1)
    values = 125 + 45 * (values - values.mean()) / values.std()
    return Image.fromarray(values.clip(0, 255).astype(np.uint8))


def encoded(image, **how):
    out = io.BytesIO()
    image.save(out, **how)
    return Image.open(out)


def cropped(image, share):
    left, top = int(image.width * share), int(image.height * share)
    return image.crop((left, top, image.width - left, image.height - top))


COPIES = {
    "png": lambda image: encoded(image, format="PNG"),
    "jpeg": lambda image: encoded(image, format="JPEG", quality=50),
    "poor jpeg": lambda image: encoded(image, format="JPEG", quality=15),
    "smaller": lambda image: image.resize((image.width // 3, image.height // 3), Image.Resampling.BICUBIC),
    "larger": lambda image: image.resize((image.width * 2, image.height * 2), Image.Resampling.BILINEAR),
    "squashed": lambda image: image.resize((100, 160), Image.Resampling.BICUBIC),
    "brighter": lambda image: ImageEnhance.Brightness(image).enhance(1.25),
    "darker": lambda image: ImageEnhance.Brightness(image).enhance(0.6),
    "grey": lambda image: image.convert("L").convert("RGB"),
    "less contrast": lambda image: ImageEnhance.Contrast(image).enhance(0.6),
    "edge cut": lambda image: cropped(image, 0.005),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_are_near(name):
    pictures = [photo(seed) for seed in range(20)]
    bits = [
        distances(np.array([perceptual_hash(one)]), np.array([perceptual_hash(COPIES[name](one))])) for one in pictures
    ]
    assert max(int(found[0, 0]) for found in bits) <= NEAR


def test_different_pictures_are_far():
    hashes = np.array([perceptual_hash(photo(seed, (96, 96))) for seed in range(200)])
    found = distances(hashes, hashes)[np.triu_indices(200, 1)]
    assert found.min() > NEAR + 4 and abs(found.mean() - 32) < 1


def test_the_hash_is_that_of_its_definition():
    """Slow and literal: the cosine transform by sums, the lowest 64 frequencies, over their median or not."""
    image = photo(3, (32, 32)).convert("L")
    values = np.asarray(image, dtype=np.float64)

    def coefficient(down, across):
        total = 0.0
        for y in range(32):
            for x in range(32):
                wave = np.cos(np.pi * (y + 0.5) * down / 32) * np.cos(np.pi * (x + 0.5) * across / 32)
                total += values[y, x] * wave
        scale = [np.sqrt(1 / 32) if frequency == 0 else np.sqrt(2 / 32) for frequency in (down, across)]
        return total * scale[0] * scale[1]

    order = [(total - across, across) for total in range(1, 12) for across in range(total, -1, -1)][:64]
    found = [coefficient(*place) for place in order]
    middle = (sorted(found)[31] + sorted(found)[32]) / 2
    bits = "".join("1" if value > middle else "0" for value in found)
    assert int(perceptual_hash(image)) == int(bits, 2)


@pytest.mark.parametrize("colour", ["white", "black", (12, 200, 99)])
def test_a_picture_of_one_colour_has_the_hash_0(colour):
    assert perceptual_hash(Image.new("RGB", (50, 30), colour)) == 0


def test_distances_count_bits():
    one, other = np.array([0, 2**64 - 1, 5], dtype=np.uint64), np.array([0, 4], dtype=np.uint64)
    assert distances(one, other).tolist() == [[0, 1], [64, 63], [2, 1]]


@pytest.fixture
def two(tmp_path):
    """Manifests a/train (five pictures) and b/test (a copied file, a re-encoded smaller copy, another picture)."""
    pairs = []
    for seed in range(5):
        photo(seed).save(tmp_path / f"{seed}.jpg", quality=90)
        pairs.append(Pair(f"a{seed}", tmp_path / f"{seed}.jpg", f"caption {seed}", "train"))
    pairs.append(Pair("a0", tmp_path / "0.jpg", "another caption", "train"))
    write_splits(tmp_path / "a", pairs, ["train"])
    (tmp_path / "copy.jpg").write_bytes((tmp_path / "1.jpg").read_bytes())
    COPIES["smaller"](photo(3)).save(tmp_path / "small.png")
    photo(9).save(tmp_path / "other.png")
    others = [
        Pair(name, tmp_path / name, f"caption of {name}", "test") for name in ("copy.jpg", "small.png", "other.png")
    ]
    write_splits(tmp_path / "b", others, ["test"])
    return tmp_path


def test_pairs_are_written_counted_and_listed(two, capsys):
    main(two / "a/train.parquet", two / "b/test.parquet", two / "pairs.parquet", two / "pairs.json", two / "ids.txt")
    found = pandas.read_parquet(two / "pairs.parquet")
    assert list(zip(found.a_id, found.b_id, found.same_file, strict=True)) == [
        ("a1", "copy.jpg", True),
        ("a3", "small.png", False),
    ]
    assert found.distance[0] == 0 and found.distance[1] <= NEAR
    assert found.a_image[0] == str(two / "1.jpg") and found.b_image[1] == str(two / "small.png")
    record = json.loads((two / "pairs.json").read_text())
    assert record["a_images"] == 5 and record["b_images"] == 3 and record["distance"] == NEAR
    assert record["a_found"] == 2 and record["same_files"] == 1 and record["near_pairs"] == 1
    assert record["share_of_a"] == 0.4 and record["share_of_b"] == 2 / 3
    assert (two / "ids.txt").read_text() == "a1\na3\n"
    assert "2 of the 5 images" in capsys.readouterr().out


def test_no_pair_is_an_empty_table_and_list(two):
    write_splits(two / "c", [Pair(f"c{i}", two / f"{i}.jpg", f"t{i}", "test") for i in (0, 2)], ["test"])
    photo(50).save(two / "0.jpg"), photo(51).save(two / "2.jpg")
    write_splits(two / "c", [Pair(f"c{i}", two / f"{i}.jpg", f"t{i}", "test") for i in (0, 2)], ["test"])
    main(two / "c/test.parquet", two / "b/test.parquet", two / "none.parquet", two / "none.json", two / "none.txt")
    assert pandas.read_parquet(two / "none.parquet").empty and (two / "none.txt").read_text() == ""
    assert list(pandas.read_parquet(two / "none.parquet")) == [
        "a_id",
        "b_id",
        "same_file",
        "distance",
        "a_image",
        "b_image",
    ]


def test_changed_images_and_wrong_distances_are_refused(two):
    out = (two / "pairs.parquet", two / "pairs.json")
    with pytest.raises(ValueError, match="from 0 to 64, got 65"):
        main(two / "a/train.parquet", two / "b/test.parquet", *out, distance=65)
    (two / "2.jpg").write_bytes(b"")
    with pytest.raises(ValueError, match=r"2\.jpg: changed since the manifest was written"):
        main(two / "a/train.parquet", two / "b/test.parquet", *out)
    assert not out[0].exists()


def test_pairs_are_those_of_the_definition():
    random = np.random.default_rng(0)
    rows_a, rows_b = (
        pandas.DataFrame(
            {"id": [f"{name}{i}" for i in range(count)], "sha256": random.integers(0, 40, count).astype(str)}
        )
        for name, count in (("a", 30), ("b", 20))
    )
    hashes_a, hashes_b = (random.integers(0, 7, count).astype(np.uint64) for count in (30, 20))
    expected = []
    for i in range(30):
        found = []
        for j in range(20):
            bits = (int(hashes_a[i]) ^ int(hashes_b[j])).bit_count()
            same = rows_a.sha256[i] == rows_b.sha256[j]
            if same or (bits <= 1 and hashes_a[i] and hashes_b[j]):
                found.append((not same, bits, j))
        expected += [(f"a{i}", f"b{j}", not other, bits) for other, bits, j in sorted(found)]
    pairs = near_pairs(rows_a, hashes_a, rows_b, hashes_b, 1)
    assert list(pairs.itertuples(index=False, name=None)) == expected
    assert pairs.same_file.any() and not pairs.same_file.all()


def test_pictures_of_one_colour_are_counted_and_no_partners(tmp_path, capsys):
    for name, colour in (("white", "white"), ("black", "black"), ("copy", "white")):
        Image.new("RGB", (30, 20), colour).save(tmp_path / f"{name}.png")
    photo(1).save(tmp_path / "photo.png")
    for split, names in (("a", ("white", "photo")), ("b", ("black", "copy", "photo"))):
        pairs = [Pair(f"{split}-{name}", tmp_path / f"{name}.png", f"a {name}", split) for name in names]
        write_splits(tmp_path / split, pairs, [split])
    main(tmp_path / "a/a.parquet", tmp_path / "b/b.parquet", tmp_path / "pairs.parquet", tmp_path / "pairs.json")
    found = pandas.read_parquet(tmp_path / "pairs.parquet")
    assert list(zip(found.a_id, found.b_id, found.same_file, strict=True)) == [
        ("a-white", "b-copy", True),
        ("a-photo", "b-photo", True),
    ]
    record = json.loads((tmp_path / "pairs.json").read_text())
    assert (record["a_blank"], record["b_blank"], record["near_pairs"]) == (1, 2, 0)
    assert "1 and 2 of them are of one colour" in capsys.readouterr().out


def test_many_pairs_take_no_time():
    rows = pandas.DataFrame({"id": [f"{i}" for i in range(700)], "sha256": [f"{i}" for i in range(700)]})
    pairs = near_pairs(rows, np.full(700, 5, np.uint64), rows, np.full(700, 5, np.uint64), 0)
    assert len(pairs) == 700 * 700 and pairs.same_file.sum() == 700


def test_the_command_needs_no_torch(two):
    paths = [str(two / name) for name in ("a/train.parquet", "b/test.parquet", "pairs.parquet", "pairs.json")]
    code = (
        "import sys, runpy; sys.argv[1:] = sys.argv[1:]; "
        "runpy.run_module('hnclip.data.near_duplicates', run_name='__main__'); assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code, *paths, "--distance", "0"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "within 0 of 64 bits" in done.stdout
