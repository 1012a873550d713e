import json
import os
import shutil
from pathlib import Path

import numpy as np
import pandas
import pytest
from PIL import Image

from hnclip.data.assign import by_hash
from hnclip.data.folder_checks import SHARED
from hnclip.data.manifest import read_manifest
from hnclip.data.prepare import prepare

HASH = {"split_hash": {"train": 50, "test": 50}}


def picture(path, seed):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.random.default_rng(seed).integers(0, 256, (6, 8, 3), dtype=np.uint8)).save(path)


@pytest.fixture
def data(tmp_path):
    """Six pictures `0.png` to `5.png` in a folder with a space and an umlaut."""
    folder = tmp_path / "meine Bäume"
    for index in range(6):
        picture(folder / "bilder" / f"{index}.png", index)
    return folder


def table(folder, rows, name="captions.jsonl"):
    path = folder / name
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def made(folder, captions, splits=(), **options):
    options = {"captions": str(captions), "images": str(folder / "bilder"), **options}
    prepare({"name": "mine", "kind": "folder", "options": options, "splits": list(splits)}, folder / "out")
    return {path.stem: read_manifest(path) for path in (folder / "out").glob("*.parquet")}


def refused(folder, captions, **options):
    """The message of a refusal that wrote no manifest."""
    with pytest.raises((ValueError, FileNotFoundError)) as caught:
        made(folder, captions, **options)
    assert not list(folder.glob("out/*.parquet"))
    return str(caught.value)


def plain_rows(count=6):
    splits = ["train", "train", "train", "train", "test", "test"]
    return [{"image": f"{i}.png", "caption": f"Tree {i}. It is old.", "split": splits[i]} for i in range(count)]


ODD = ["None", "NA", 'she said "hi", then\nleft', "null", "1e3", " écorce ü ☃ "]


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "csv-bom-crlf", "tsv", "parquet"])
def test_every_format_keeps_every_text_as_it_is(data, suffix):
    frame = pandas.DataFrame({"image": [f"{i}.png" for i in range(6)], "caption": ODD, "split": "test"})
    path = data / f"captions {suffix.split('-')[0]}.{suffix.split('-')[0]}"
    if suffix == "jsonl":
        table(data, frame.to_dict("records"), path.name)
    elif suffix == "parquet":
        frame.to_parquet(path)
    else:
        text = frame.to_csv(index=False, sep="\t" if suffix == "tsv" else ",")
        bom = suffix == "csv-bom-crlf"
        head, rest = text.split("\n", 1)
        path.write_bytes((("\ufeff" + head + "\r\n" + rest) if bom else text).encode())
    found = made(data, path, split_column="split")["test"]
    assert found.caption.tolist() == ODD
    assert found.id.tolist() == [f"{i}.png" for i in range(6)]
    assert (found.width[0], found.height[0], found.family[0]) == (8, 6, "0.png")


def test_captions_of_one_image_are_adjacent_rows(data):
    rows = [
        {"image": "1.png", "caption": "One. Two!", "split": "train"},
        {"image": "0.png", "caption": ["b", "c"], "split": "train"},
        {"image": "1.png", "caption": "d", "split": "train"},
    ]
    found = made(data, table(data, rows), split_column="split")["train"]
    assert found.id.tolist() == ["1.png", "1.png", "0.png", "0.png"]
    assert found.caption.tolist() == ["One. Two!", "d", "b", "c"]
    assert found.sentences[0] == ["One.", "Two!"] and found.boxes[0] == [None, None]


def test_ids_families_and_absolute_paths(data):
    rows = [
        {"file": str(data / "bilder" / f"{i}.png"), "text": f"t{i}", "key": i, "tree": "a" if i < 4 else None}
        for i in range(6)
    ]
    columns = {"image_column": "file", "caption_column": "text", "id_column": "key", "family_column": "tree"}
    found = made(data, table(data, rows), images=None, split_hash={"all": 100}, **columns)["all"]
    assert found.id.tolist() == list("012345")
    assert found.family.tolist() == ["a", "a", "a", "a", "4", "5"]


def test_lists_split_and_leave_out_with_a_warning(data, capsys):
    (data / "train list.txt").write_bytes("\ufeff0.png\r\n1.png\r\n\r\n".encode())
    (data / "test.txt").write_text("4.png\n5.png")
    lists = {"train": str(data / "train list.txt"), "test": str(data / "test.txt")}
    found = made(data, table(data, plain_rows()), split_lists=lists)
    assert found["train"].id.tolist() == ["0.png", "1.png"] and found["test"].id.tolist() == ["4.png", "5.png"]
    assert "warning: images in no split list, left out: 2" in capsys.readouterr().out


def test_a_name_that_no_file_can_have_is_named(data):
    rows = plain_rows()
    rows[1]["image"] = "1\0.png"
    message = refused(data, table(data, rows), **HASH)
    assert r"'1\x00.png' has a character that no file name can have" in message


def test_every_list_that_cannot_be_read_is_named(data):
    (data / "train.txt").write_text("0.png\n1.png")
    (data / "validation.txt").write_bytes(b"\xff\xfe2")
    lists = {split: str(data / f"{split}.txt") for split in ("train", "validation", "test", "more")}
    message = refused(data, table(data, plain_rows()), split_lists=lists)
    assert f"{data / 'test.txt'}: no such list of split 'test'" in message
    assert f"{data / 'more.txt'}: no such list of split 'more'" in message
    assert f"{data / 'validation.txt'} is not UTF-8" in message and "train.txt" not in message


def test_the_hash_is_even_and_stable():
    keys = [f"image {i}" for i in range(4000)]
    shares = {"train": 80, "validation": 10, "test": 10}
    counts = pandas.Series([by_hash(key, shares) for key in keys]).value_counts(normalize=True)
    assert abs(counts["train"] - 0.8) < 0.03 and abs(counts["test"] - 0.1) < 0.03
    for key in keys[:500]:
        if by_hash(key, {"train": 20, "test": 10, "validation": 70}) == "train":
            assert by_hash(key, shares) == "train"
        assert by_hash(key, shares) == by_hash(key, dict(sorted(shares.items())))
    assert [by_hash(key, shares) for key in ("ü.png", "d", "111")] == ["train", "test", "validation"]


def test_family_members_are_hashed_together(data):
    rows = [{"image": f"{i}.png", "caption": f"t{i}", "tree": "ab"[i % 2]} for i in range(6)]
    found = made(data, table(data, rows), family_column="tree", split_hash={"train": 50, "test": 50})
    assert all(len(set(frame.family)) == 1 and len(frame) == 3 for frame in found.values())


def test_all_problems_are_named_in_one_message_and_the_whole_list_is_kept(data):
    rows = plain_rows()
    rows += [
        {"image": "none.png", "caption": "a", "split": "test"},
        {"image": "text.png", "caption": "b", "split": "test"},
        {"image": "0.png", "caption": "  \n", "split": "train"},
        {"image": "0.png", "caption": None, "split": "train"},
        {"image": "0.png", "caption": 2.5, "split": "train"},
        {"image": "1.png", "caption": "Tree 1. It is old.", "split": "train"},
        {"image": "2.png", "caption": "c", "split": "test"},
        {"image": "copy.png", "caption": "d", "split": "test"},
        {"image": "3.png", "caption": "e", "split": ""},
    ]
    rows += [{"image": f"gone {i}.png", "caption": "f", "split": "train"} for i in range(30)]
    (data / "bilder" / "text.png").write_text("text")
    (data / "bilder" / "copy.png").write_bytes((data / "bilder" / "3.png").read_bytes())
    path = table(data, rows)
    path.write_text(path.read_text() + "{broken\n")
    message = refused(data, path, split_column="split")
    whole = (data / "out" / "problems.txt").read_text()
    for text in (message, whole):
        assert f"line 7: {data / 'bilder' / 'none.png'}: no such file" in text
        assert "line 8:" in text and "not a known image format" in text
        assert "empty 'caption' (fill them in or remove the rows): 2\n" in text and "line 9\n" in text
        assert "'caption' is no text" in text and "line 11: 2.5" in text
        assert "line 12, as line 2: '1.png', 'Tree 1. It is old.'" in text
        assert "'2.png': train and test (line 13)" in text
        assert "the same image in two splits" in text and "'3.png' (train), 'copy.png' (test)" in text
        assert "empty 'split'" in text and "line 46: Expecting property name" in text
        assert "images that cannot be used (repair them or remove their rows): 32" in text
    assert "and 12 more" in message and "gone 29.png" not in message and "gone 29.png" in whole
    assert str(data / "out" / "problems.txt") in message


def test_a_repaired_folder_loses_its_list_of_problems(data):
    refused(
        data, table(data, [*plain_rows(), {"image": "x.png", "caption": "a", "split": "test"}]), split_column="split"
    )
    made(data, table(data, plain_rows()), split_column="split")
    assert not (data / "out" / "problems.txt").exists()


def test_shared_captions_and_copies_in_a_split_are_warnings_with_counts(data, capsys):
    rows = [{"image": f"{i}.png", "caption": "Same.", "split": "train"} for i in range(3)]
    (data / "bilder" / "2.png").write_bytes((data / "bilder" / "1.png").read_bytes())
    made(data, table(data, rows), split_column="split", long_words=0)
    assert "mask_duplicates" in SHARED
    said = capsys.readouterr().out
    assert f"warning: {SHARED}: 1\nwarning:   3 images: 'Same.'" in said
    assert "warning: the same image under two ids: 1\nwarning:   '1.png' (train), '2.png' (train)" in said
    kept = (data / "out" / "warnings.txt").read_text(encoding="utf-8")
    assert f"the whole list is in {data / 'out' / 'warnings.txt'}" in said
    assert f"{SHARED}: 1\n  3 images: 'Same.'\nthe same image under two ids: 1\n" in kept
    made(data, table(data, plain_rows(2)), split_column="split")
    assert not (data / "out" / "warnings.txt").exists()
    assert "train: 3 images, 3 captions of 1 words (median), 100.0% over 0 words" in said


def test_wrong_columns_are_named_with_the_nearest(data):
    message = refused(data, table(data, plain_rows()), caption_column="captions", id_column="Image", **HASH)
    assert "caption_column: 'captions' (did you mean 'caption'?)" in message
    assert "id_column: 'Image' (did you mean 'image'?)" in message and "its columns: 'image', 'caption'" in message


def test_wrong_splits_are_named(data):
    path = table(data, plain_rows())
    message = refused(data, path, split_column="split", splits=["train", "Tests", "validation"])
    assert "no split 'Tests' (did you mean 'test'?), 'validation'; its splits: train, test" in message
    assert "give exactly one of split_column" in refused(data, path)
    assert "not split_column and split_hash" in refused(data, path, split_column="split", **HASH)
    assert "add up to 100" in refused(data, path, split_hash={"train": 80, "test": 10})
    (data / "a.txt").write_text("0.png\n1.pngg\n")
    (data / "b.txt").write_text("0.png\n")
    (data / "c.txt").write_text("\n")
    message = refused(data, path, split_lists={name: str(data / f"{name}.txt") for name in "abc"})
    assert "'0.png': a and b" in message and "'1.pngg' (did you mean '1.png'?)" in message
    assert "splits with fewer than 2 images" in message and "leave them out): 3\n    split 'a' has 1 image\n" in message
    assert "    split 'b' has 0 images\n    split 'c' has 0 images" in message


def test_a_split_that_the_study_does_not_use_is_said(data, capsys):
    for index in (6, 7):
        picture(data / "bilder" / f"{index}.png", index)
    rows = plain_rows() + [{"image": f"{index}.png", "caption": f"t{index}", "split": "tets"} for index in (6, 7)]
    made(data, table(data, rows), splits=["train", "test"], split_column="split")
    assert "warning: splits that the study does not use: tets" in capsys.readouterr().out


def test_ids_must_mean_one_image(data):
    rows = [{"image": f"{i}.png", "caption": f"t{i}", "id": "same"} for i in range(2)]
    assert "ids that name two images: 1" in refused(data, table(data, rows), id_column="id", split_hash={"all": 100})


def test_files_that_are_no_table_say_so(data):
    assert "no such captions file" in refused(data, data / "none.csv", **HASH)
    (data / "a.txt").write_text("x")
    assert ".jsonl, .csv, .tsv, .parquet" in refused(data, data / "a.txt", **HASH)
    (data / "latin.csv").write_bytes("image,caption\n0.png,Bäume\n".encode("latin-1"))
    assert "is not UTF-8" in refused(data, data / "latin.csv", **HASH)
    (data / "a.parquet").write_text("x")
    assert "is no Parquet file" in refused(data, data / "a.parquet", **HASH)
    (data / "twice.csv").write_text("image,caption,image\n")
    assert "two columns have the same name: 'image'" in refused(data, data / "twice.csv", **HASH)
    (data / "torn.csv").write_text('image,caption\n0.png,a, b\n1.png,"x"y\n')
    message = refused(data, data / "torn.csv", split_hash={"all": 100})
    assert "line 2: 3 fields instead of 2" in message and "line 3: " in message and "written twice" in message
    (data / "empty.csv").write_text("image,caption\n")
    assert "no usable row" in refused(data, data / "empty.csv", split_hash={"all": 100})


def test_swapped_columns_are_asked_about(data):
    long = "ü" * 400  # no file can be called so
    rows = [{"image": f"{long} {row['caption']}", "caption": row["image"]} for row in plain_rows()]
    message = refused(data, table(data, rows), **HASH)
    assert "are the columns swapped? (swap their names, or say image_column and caption_column): 1\n" in message
    assert "line 1: the caption is '0.png'" in message and "their rows): 6\n" in message
    rows = [{"image": f"gone {row['image']}", "caption": row["caption"]} for row in plain_rows()]
    assert "swapped?" not in refused(data, table(data, rows), **HASH)
    rows[0] = {"image": "0.png", "caption": "1.png"}
    assert "swapped?" not in refused(data, table(data, rows), **HASH)


@pytest.mark.parametrize(("suffix", "between"), [("csv", ","), ("tsv", "\t")])
@pytest.mark.parametrize("options", [{}, {"image_column": "image", "caption_column": "caption"}])
def test_a_table_without_a_head_is_told_to_have_one(data, suffix, between, options):
    path = data / f"captions.{suffix}"
    path.write_text("".join(f"{i}.png{between}Tree {i}.\n" for i in range(6)))
    message = refused(data, path, **HASH, **options)
    assert f"captions.{suffix}: the first line must name the columns, and this one's has an image, '0.png'" in message
    path.write_text(f"picture of it{between}words\n0.png{between}Tree.\n")
    assert "first line" not in refused(data, path, **HASH, **options)


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "tsv", "parquet"])
def test_control_characters_of_captions_are_faults_and_all_named(data, suffix):
    rows = plain_rows()
    for row, letter in zip(rows, ("\0", "\x1b", "\x0c", "\t", "\r\n", "\u00a0"), strict=True):
        row["caption"] = f'{"A tree. " * 20}Old{letter}bark, "x"'
    frame, path = pandas.DataFrame(rows), data / f"captions.{suffix}"
    if suffix == "jsonl":
        table(data, rows)
    elif suffix == "parquet":
        frame.to_parquet(path)
    else:
        path.write_text(frame.to_csv(index=False, sep="\t" if suffix == "tsv" else ","), newline="")
    message = refused(data, path, split_column="split")
    assert "captions with control characters, which no text has (remove them): 3\n" in message
    first = 1 if suffix in ("jsonl", "parquet") else 2
    place = "row" if suffix == "parquet" else "line"
    for number, letter in enumerate((r"\x00", r"\x1b", r"\x0c"), first):
        assert f"{place} {number}: '" in message and f"tree. Old{letter}bark" in message


def test_an_accent_may_be_spelled_two_ways(data):
    picture(data / "bilder" / "e\u0301.png", 9)  # as some systems store it
    rows = [{"image": "\u00e9.png", "caption": "a"}, {"image": "0.png", "caption": "b"}]
    found = made(data, table(data, rows), split_hash={"all": 100})
    assert len(found["all"]) == 2


def test_a_files_name_of_other_bytes_is_told(data):
    named = os.fsencode(data / "bilder") + b"/\xff.png"
    try:
        shutil.copy(data / "bilder" / "0.png", named)
    except OSError:
        pytest.skip("this file system takes UTF-8 alone")
    for name in [b"/\xff.txt", *(f"/{i}.txt".encode() for i in range(6))]:
        Path(os.fsdecode(os.fsencode(data / "bilder") + name)).write_text(f"A tree, {name!r}.")
    message = refused(data, data / "bilder", **HASH)
    assert "names that are no UTF-8 (rename the files): 1\n    \\udcff.txt: \\udcff.png" in message


def test_the_list_of_warnings_is_whole(data):
    rows = [{"image": f"{i}.png", "caption": f"Tree {i // 2}.", "split": "train"} for i in range(6)]
    for i in range(6, 20):
        picture(data / "bilder" / f"{i}.png", i)
        rows.append({"image": f"{i}.png", "caption": f"Tree {i // 2}.", "split": "train"})
    made(data, table(data, rows), split_column="split")
    assert (data / "out" / "warnings.txt").read_text(encoding="utf-8").count("2 images: 'Tree") == 10


def test_every_split_of_one_image_is_named_before_anything_is_written(data):
    rows = [{"image": f"{i}.png", "caption": f"t{i}", "split": split} for i, split in enumerate(["a", "a", "b", "c"])]
    rows.append({"image": "2.png", "caption": "another caption of it", "split": "b"})
    message = refused(data, table(data, rows), split_column="split")
    assert "leave them out): 2\n    split 'b' has 1 image\n    split 'c' has 1 image" in message


def test_half_characters_are_named_with_their_line(data, capsys):
    path = table(data, plain_rows())
    path.write_text(
        path.read_text()
        + '{"image": "a.png", "caption": "A \\ud800 cat.", "split": "train"}\n'
        + '{"image": "\\udfff.png", "caption": "A cat.", "split": "\\ud800"}\n'
        + '{"image": "0.png", "caption": "A \\ud83d\\ude00 laughs.", "split": "train"}\n'
    )
    message = refused(data, path, split_column="split", splits=["train", "test"])
    assert "line 7: \\ud800 is half a character" in message and "line 8: \\udfff is half" in message
    assert "(repair them): 2\n" in message and capsys.readouterr().out == ""
    message.encode("utf-8")


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.tsv"])
def test_an_empty_table_says_so(data, name):
    (data / name).write_text("\n")
    assert refused(data, data / name, **HASH) == f"{data / name}: the table is empty"


def test_a_table_of_broken_lines_names_them(data):
    (data / "a.jsonl").write_text("image,caption\n0.png,a\n")
    message = refused(data, data / "a.jsonl", split_column="split")
    assert "a.jsonl: no line can be read\n" in message and "line 1: Expecting value" in message


@pytest.mark.parametrize("head", ["image;caption", '"image";"caption"', "\ufeffimage\tcaption", "image|caption"])
def test_another_separator_is_told(data, head):
    (data / "a.csv").write_text(f"{head}\n0.png;A cat, a dog\n", encoding="utf-8")
    message = refused(data, data / "a.csv", **HASH)
    assert "a.csv: the separator of a .csv file must be a comma" in message and "between the columns" in message
    (data / "a.tsv").write_text("image,caption\n0.png,A cat\n")
    assert "a .tsv file must be a tab, and its first line has a comma" in refused(data, data / "a.tsv", **HASH)


@pytest.mark.parametrize("caption", ["&nbsp;", " \u200b\u00a0", "&amp;nbsp; &#8203;", "\u00ad\ufeff"])
def test_captions_without_a_visible_character_are_empty(data, caption):
    rows = [*plain_rows(), {"image": "0.png", "caption": caption, "split": "train"}]
    message = refused(data, table(data, rows), split_column="split")
    assert "empty 'caption' (fill them in or remove the rows): 1\n    line 7" in message


def test_an_image_path_that_is_a_folder_is_told(data):
    (data / "bilder" / "more").mkdir()
    rows = [*plain_rows(), {"image": "more", "caption": "a", "split": "train"}]
    message = refused(data, table(data, rows), split_column="split")
    assert f"line 7: {data / 'bilder' / 'more'}: is a folder, not an image" in message and "Errno" not in message
