import io
import lzma
import os
import tarfile
from collections import Counter

import numpy as np
import pyarrow
import pytest
from PIL import Image

from hnclip.data.debian import read_files
from hnclip.data.images import read_image
from hnclip.data.manifest import image_path, read_manifest
from hnclip.data.prepare import prepare
from hnclip.data.stamps import PACKAGE, read_stamps
from hnclip.plan.sizes import split_size
from hnclip.store import read_json

ROOT = "./usr/share/tuxpaint/stamps/"
PAIRS = {"train": 10, "validation": 4, "test": 8}
SHARES = {"train": 60, "validation": 20, "test": 20}


def stamp(seed, size=(20, 12)):
    """A cut-out: an opaque coloured block within clear rims."""
    pixels = np.zeros((size[1] + 6, size[0] + 4, 4), np.uint8)
    colour = np.random.default_rng(seed).integers(0, 180, 3)
    pixels[3:-3, 2:-2] = [*colour, 255]
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def contents(count=30):
    files = {}
    for index in range(count):
        files[f"animals/n{index:02d}.png"] = stamp(index)
        files[f"animals/n{index:02d}.txt"] = f"A beast of kind {index}.\nde.utf8=Ein Tier.\n".encode()
    files["animals/n00.txt"] = "Ünlike the others! It sings.\n".encode()
    files["animals/again.png"] = stamp(1)  # the bytes of n01
    files["animals/again.txt"] = b"A copy.\n"
    files["animals/wide_mirror.png"] = stamp(99)  # without words
    files["animals/sound.ogg"] = b"noise"
    files["symbols/a.png"] = stamp(98)
    files["symbols/a.txt"] = b"The letter A.\n"
    return files


def deb(path, files, packing="xz", extra=()):
    """A Debian package with these files under the stamps' folder, and extra tar members."""
    tree = io.BytesIO()
    with tarfile.open(fileobj=tree, mode="w") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(ROOT + name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
        for member, data in extra:
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    pack = {"xz": lzma.compress, "zst": lambda data: pyarrow.Codec("zstd").compress(data, asbytes=True)}
    members = {
        "debian-binary": b"2.0\n",
        "control.tar.xz": b"odd",
        f"data.tar.{packing}": pack[packing](tree.getvalue()),
    }
    out = b"!<arch>\n"
    for name, data in members.items():
        out += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)
    path.write_bytes(out)
    return path


def made(folder, package, **options):
    given = {"seed": 5, "pairs": PAIRS, "shares": SHARES, "pixels": 64, "objects": [2, 3], "deb": str(package)}
    prepare({"name": "stamps", "kind": "stamps", "options": {**given, **options}}, folder)
    return {path.stem: read_manifest(path) for path in folder.glob("*.parquet")}


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stamps")
    package = deb(folder / "a b ü.deb", contents())
    return package, folder / "out", made(folder / "out", package)


def test_stamps_are_those_with_a_picture_and_english_words(benchmark):
    stamps = read_stamps(benchmark[0], 16)
    assert [found.name for found in stamps] == ["animals/again"] + [f"animals/n{i:02d}" for i in range(30) if i != 1]
    assert stamps[1].phrase == "Ünlike the others!" and stamps[2].phrase == "A beast of kind 2."
    assert stamps[1].picture.size == (16, 10) and stamps[1].picture.mode == "RGBA"
    assert np.asarray(stamps[1].picture)[..., 3].min() > 200  # the clear rims are cut off


def test_no_stamp_is_in_two_splits(benchmark):
    package, folder, _ = benchmark
    source = read_json(folder / "source.json")
    names = [name for split in source["stamps"].values() for name in split]
    assert {split: len(own) for split, own in source["stamps"].items()} == {"train": 18, "validation": 6, "test": 6}
    assert max(Counter(names).values()) == 1 and len(names) == 30
    assert source["package"] == package.name and len(source["sha256"]) == 64


def test_families_captions_and_boxes(benchmark):
    _, folder, frames = benchmark
    assert {split: len(frame) for split, frame in frames.items()} == PAIRS
    assert frames["train"].groupby("family").size().tolist() == [4, 4, 2]
    captions = [caption for frame in frames.values() for caption in frame.caption]
    assert len(set(captions)) == len(captions)
    for row in frames["test"].itertuples():
        assert row.caption == " ".join(row.sentences) and row.boxes[0] is None
        assert len(row.boxes) == len(row.sentences) and len(row.sentences) in (3, 4)
        pixels = np.asarray(read_image(image_path(folder / "test.parquet", row.image), "ignore")).astype(int)
        assert pixels.shape == (64, 64, 3)
        for left, top, right, bottom in row.boxes[1:]:
            assert 0 <= left < right <= 64 and 0 <= top < bottom <= 64 and max(right - left, bottom - top) in (16, 30)
            assert pixels[(top + bottom) // 2, (left + right) // 2].max() < 182  # the stamp is darker than any ground


def test_twins_differ_in_one_or_two_sentences(benchmark):
    for frame in benchmark[2].values():
        for _, family in frame.groupby("family"):
            first, *twins = family.sentences
            for twin in twins:  # two where stamps change places
                assert 1 <= sum(a != b for a, b in zip(first, twin, strict=True)) <= 2


def test_the_same_options_give_the_same_files(benchmark, tmp_path):
    package, _, frames = benchmark
    again = made(tmp_path, package)
    assert all(again[split].equals(frames[split]) for split in PAIRS)


def test_the_order_of_splits_does_not_matter(benchmark, tmp_path):
    package, _, frames = benchmark
    pairs, shares = ({split: given[split] for split in sorted(given)} for given in (PAIRS, SHARES))
    assert list(shares) != list(SHARES)
    again = made(tmp_path, package, pairs=pairs, shares=shares)
    assert all(again[split].equals(frames[split]) for split in PAIRS)


def test_packages_are_read_in_both_packings_without_links_or_paths_that_lead_elsewhere(tmp_path):
    link = tarfile.TarInfo(ROOT + "animals/link.png")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    outside = tarfile.TarInfo(ROOT + "../../../../../out.txt")
    other = tarfile.TarInfo("./etc/other.txt")
    package = deb(tmp_path / "a.deb", {"a.txt": b"A cat."}, "zst", [(link, b""), (outside, b"x"), (other, b"y")])
    assert [(str(path), data) for path, data in read_files(package, "usr/share/tuxpaint/stamps")] == [
        ("a.txt", b"A cat.")
    ]
    assert os.listdir(tmp_path) == ["a.deb"]


def test_what_is_no_package_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match="none.deb: no such file .option `deb`"):
        made(tmp_path, tmp_path / "none.deb")
    (tmp_path / "text.deb").write_text("no package")
    with pytest.raises(ValueError, match="text.deb is no sound Debian package .*fetch it again"):
        made(tmp_path, tmp_path / "text.deb")
    whole = deb(tmp_path / "half.deb", contents()).read_bytes()
    (tmp_path / "half.deb").write_bytes(whole[: len(whole) * 2 // 3])
    with pytest.raises(ValueError, match="half.deb is no sound Debian package"):
        made(tmp_path, tmp_path / "half.deb")
    with pytest.raises(ValueError, match="has no stamps under usr/share"):
        made(tmp_path, deb(tmp_path / "other.deb", {"animals/a.txt": b"A cat."}))
    with pytest.raises(ValueError, match=r"too few .* in: test \(2\), validation \(2\)"):
        made(tmp_path, deb(tmp_path / "few.deb", contents(12)))
    assert not list(tmp_path.glob("*.parquet"))


def fake_apt(folder, script):
    folder.mkdir()
    (folder / "apt-get").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "apt-get").chmod(0o755)


def test_the_package_is_fetched_once_by_apt_get(tmp_path, monkeypatch):
    package = deb(tmp_path / "source.deb", contents())
    fake_apt(tmp_path / "bin", f'[ "$*" = "download {PACKAGE}" ] && cp "{package}" {PACKAGE}_1_all.deb')
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    cache = tmp_path / "cache"
    first = made(tmp_path / "one", package, deb=None, cache=str(cache))
    assert os.listdir(cache) == [f"{PACKAGE}_1_all.deb"]
    (tmp_path / "bin" / "apt-get").unlink()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert made(tmp_path / "two", package, deb=None, cache=str(cache))["test"].equals(first["test"])


def test_without_package_and_apt_the_message_says_what_to_do(tmp_path, monkeypatch):
    fake_apt(tmp_path / "bin", "echo 'E: Unable to locate package' >&2; exit 100")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(FileNotFoundError) as caught:
        made(tmp_path / "out", "", deb=None, cache=str(tmp_path / "cache"))
    message = str(caught.value)
    assert "E: Unable to locate package" in message and "sudo apt-get update" in message
    assert "https://packages.debian.org" in message and f"into {tmp_path / 'cache'}/" in message and "`deb`" in message
    (tmp_path / "bin" / "apt-get").unlink()
    with pytest.raises(FileNotFoundError, match="there is no apt-get on this machine"):
        made(tmp_path / "out", "", deb=None, cache=str(tmp_path / "cache"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"objects": [2, 5]}, "within 1 to 4"),
        ({"shares": {"train": 60, "test": 40}}, "shares has test, train; pairs has test, train, validation"),
        ({"shares": None}, "option 'shares': expected names with values"),
        ({"shares": {"train": 60, "validation": 20, "test": 10}}, "add up to 100"),
        ({"pixel": 64}, r"unknown option 'pixel' \(did you mean 'pixels'\?\)"),
    ],
)
def test_wrong_options_are_refused(tmp_path, options, said):
    with pytest.raises(ValueError, match=said):
        made(tmp_path, tmp_path / "none.deb", **options)


def test_single_stamps_stand_on_white_one_a_phrase_in_the_splits_of_the_scenes(benchmark, tmp_path):
    package, scenes, _ = benchmark
    options = {"seed": 5, "shares": SHARES, "pixels": 64, "deb": str(package)}
    prepare({"name": "stamp", "kind": "stamp", "options": options}, tmp_path)
    found = {split: read_manifest(tmp_path / f"{split}.parquet") for split in SHARES}
    captions = [caption.casefold() for frame in found.values() for caption in frame["caption"]]
    assert len(set(captions)) == len(captions) == 30
    assert split_size({"benchmarks": {"one": {"kind": "stamp", "options": options}}}, "one", "test").pairs == 100
    for split, names in read_json(tmp_path / "source.json")["stamps"].items():
        assert set(names) <= set(read_json(scenes / "source.json")["stamps"][split])
    pixels = np.asarray(read_image(image_path(tmp_path / "test.parquet", found["test"]["image"][0]), "ignore"))
    assert pixels.shape == (64, 64, 3) and pixels[0, 0].tolist() == [255] * 3 and pixels[32, 32].max() < 200
    with pytest.raises(ValueError, match="add up to 100"):
        prepare({"name": "stamp", "kind": "stamp", "options": {**options, "shares": {"a": 60}}}, tmp_path)
