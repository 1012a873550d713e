"""Folders, shards and patterns of captions: what is odd in them is named, and nothing is guessed in silence."""

import io
import json
import os
import tarfile

import pyarrow as pa
import pytest
from formats import arrow_table, mine, png, put_images, put_saved, put_tar
from pyarrow import parquet

from hnclip.caption_places import expanded, state_of, visible_files
from hnclip.data.captions_of import Source, read_data
from hnclip.data.prepare import prepare
from hnclip.data.readers.joining import split_of


def read(root, captions, images=True, **options):
    return read_data(Source(str(captions), **options), root / "out" / "images", images)


def refused(root, captions, **options):
    with pytest.raises((ValueError, OSError)) as caught:
        read(root, captions, **options)
    return str(caught.value)


def shown(found):
    return [(row.id, row.caption) for row in found.rows]


@pytest.fixture
def texts(tmp_path):
    folder = tmp_path / "mine"
    put_images(folder, mine())
    for name, (text, *_) in mine().captions.items():
        (folder / name).with_suffix(".txt").write_text(text)
    return folder


def test_texts_and_images_without_each_other_are_named(tmp_path, texts):
    (texts / "0.png").unlink()
    (texts / "1.txt").unlink()
    (texts / "2.jpg").write_bytes(png(2))
    (texts / "3.txt").write_bytes("été".encode("latin-1"))
    (texts / "4.txt").write_bytes("A cat.".encode("utf-16"))
    (texts / "5.txt").write_text("\ufeffA cat.\r\nIt sleeps.\r\n\r\n", encoding="utf-8")
    found = read(tmp_path, texts)
    lines = "\n".join(found.problems.lines())
    assert "0.txt: no image has this name (0.jpg, 0.png, ...)" in lines and "1.png (no 1.txt)" in lines
    assert "2.txt: several images have this name: 2.jpg, 2.png" in lines
    assert "3.txt is not UTF-8 (invalid continuation byte at byte 0)" in lines
    assert "4.txt is not UTF-8 (it is UTF-16)" in lines
    assert shown(found) == [("5.png", "A cat.\nIt sleeps.")]
    assert found.told == [f"{texts} is read as texts beside images"]


def test_a_text_may_have_a_caption_a_line_and_lie_in_another_folder(tmp_path, texts):
    (tmp_path / "captions" / "deep").mkdir(parents=True)
    (tmp_path / "images" / "deep").mkdir(parents=True)
    (tmp_path / "images" / "deep" / "a.b.png").write_bytes(png(1))
    (tmp_path / "captions" / "deep" / "a.b.txt").write_text("One\n\nTwo \n")
    source = Source(str(tmp_path / "captions"), images=str(tmp_path / "images"), txt="lines")
    found = read_data(source, tmp_path / "out")
    assert shown(found) == [("deep/a.b.png", "One"), ("deep/a.b.png", "Two ")] and found.problems.lines() == []


def test_a_folder_that_may_be_read_in_two_ways_is_refused(tmp_path, texts):
    (texts / "captions.csv").write_text("image,caption\n0.png,A cat.\n")
    assert "captions.csv and .txt files; which are the captions? Name the file, or set layout: txt" in refused(
        tmp_path, texts
    )
    assert len(read(tmp_path, texts, layout="txt").rows) == 6
    (tmp_path / "none").mkdir()
    assert "none has no captions that can be read (0 files); a folder may have" in refused(tmp_path, tmp_path / "none")
    assert "nothing to be read as webdataset" in refused(tmp_path, texts, layout="webdataset")
    assert "layout 'webdataset' is a folder or shards" in refused(tmp_path, texts / "captions.csv", layout="webdataset")


def test_options_that_are_unknown_are_refused():
    with pytest.raises(ValueError, match="unknown layout 'sharegpt' .did you mean 'sharegpt4v'"):
        Source("a.json", layout="sharegpt")
    with pytest.raises(ValueError, match="unknown txt 'line'"):
        Source("a", txt="line")


def test_braces_count_and_name(tmp_path):
    assert expanded("a-{08..11}.tar") == ["a-08.tar", "a-09.tar", "a-10.tar", "a-11.tar"]
    assert expanded("{a,b}{1..2}") == ["a1", "a2", "b1", "b2"]
    assert "count up" in refused(tmp_path, tmp_path / "{9..1}.tar")
    put_tar(tmp_path / "a-0.tar", [("0.png", png(0)), ("0.txt", b"A cat.")])
    assert "a-1.tar, " in refused(tmp_path, tmp_path / "a-{0..3}.tar")
    assert shown(read(tmp_path, tmp_path / "a-*.tar")) == [("0.png", "A cat.")]


def test_damaged_shards_and_odd_members_are_all_named(tmp_path):
    (tmp_path / "set").mkdir()
    put_tar(
        tmp_path / "set" / "0.tar",
        [
            ("deep/a.png", png(0)),
            ("deep/a.jpg", png(1)),
            ("deep/a.txt", b"A cat."),
            ("deep/a.cls", b"3"),
            ("b.json", b"{"),
            ("c.json", b"[]"),
            ("d.txt", b"A dog."),
            ("._d.png", b"x"),
            ("e.png", png(5)),
            ("f.json", b"[" * 100_000),
        ],
    )
    put_tar(tmp_path / "set" / "2.tar", [("g.png", png(3)), ("g.txt", b"A cat."), ("g.caption", b"A dog.")])
    whole = (tmp_path / "set" / "0.tar").read_bytes()
    (tmp_path / "set" / "1.tar").write_bytes(whole[:700])
    found = read(tmp_path, tmp_path / "set")
    lines = "\n".join(found.problems.lines())
    assert "0.tar: deep/a.jpg is a second image of its key" in lines and "0.tar: b.json: Expecting" in lines
    assert "0.tar: f.json: maximum recursion depth" in lines
    assert "0.tar: c.json: expected an object" in lines and "1.tar: it is damaged or cut short" in lines
    assert "2.tar: g.caption: a second text of its key" in lines and "A dog." not in str(found.rows)
    assert "0.tar: d: no image has this key (d.jpg, d.png, ...)" in lines
    assert "empty 'caption' (fill them in or remove the rows): 1\n  0.tar: e" in lines
    assert "0.tar: deep/a.cls" in "\n".join(found.warnings.lines())


def test_links_in_shards_lead_nowhere(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        link = tarfile.TarInfo("a.png")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
        text = tarfile.TarInfo("../../b.txt")
        text.size = 1
        tar.addfile(text, io.BytesIO(b"x"))
        image = tarfile.TarInfo("../../b.png")
        image.size = len(png(1))
        tar.addfile(image, io.BytesIO(png(1)))
    found = read(tmp_path, tmp_path / "a.tar")
    assert "a.tar: a.png is a link to '/etc/passwd'" in "\n".join(found.problems.lines())
    assert found.rows[0].path.parent == tmp_path / "out" / "images" and shown(found) == [("../../b.png", "x")]


def test_images_of_one_name_are_told_apart_and_those_without_are_called_after_their_content(tmp_path):
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    images = [("image.png", 1), ("image.png", 2), ("image.png", 1), (None, 3), ("/home/me/b.png", 4)]
    cells = [{"bytes": png(seed), "path": path} for path, seed in images]
    table = pa.table({"image": pa.array(cells, kind), "caption": list("abcde")})
    parquet.write_table(table, tmp_path / "a.parquet")
    found = read(tmp_path, tmp_path / "a.parquet")
    names = [row.id for row in found.rows]
    assert names[0] == names[2] != names[1] and all(name.startswith("image-") for name in names[:3])
    assert len(names[3]) == 16 and names[4] == "b.png" and found.problems.lines() == []
    assert len(list((tmp_path / "out" / "images").glob("*.png"))) == 3


def test_unpacking_again_replaces_what_was_unpacked_and_nothing_else(tmp_path):
    put_saved(tmp_path / "set", arrow_table(mine()))
    read(tmp_path, tmp_path / "set")
    (tmp_path / "out" / "images" / "old.png").write_bytes(b"x")
    read(tmp_path, tmp_path / "set")
    assert not (tmp_path / "out" / "images" / "old.png").exists()
    (tmp_path / "out" / "images" / ".unpacked.json").unlink()
    assert "holds files that were not unpacked by hnclip" in refused(tmp_path, tmp_path / "set")
    assert len(list((tmp_path / "out" / "images").glob("*.png"))) == 6 and not list(tmp_path.glob("out/.*"))


def test_a_saved_dataset_that_is_not_whole_says_so(tmp_path):
    put_saved(tmp_path / "set", arrow_table(mine()))
    shard = tmp_path / "set" / "data-00000-of-00001.arrow"
    shard.write_bytes(shard.read_bytes()[:900])
    assert "data-00000-of-00001.arrow is damaged or cut short" in refused(tmp_path, tmp_path / "set")
    shard.unlink()
    assert "no such file: data-00000-of-00001.arrow; is the dataset whole?" in refused(tmp_path, tmp_path / "set")
    (tmp_path / "set" / "dataset_dict.json").write_text("{}")
    assert "does not say its splits" in refused(tmp_path, tmp_path / "set")


def test_one_arrow_file_is_a_table_and_utf16_is_called_so(tmp_path):
    put_saved(tmp_path / "set", arrow_table(mine()))
    assert len(read(tmp_path, tmp_path / "set" / "data-00000-of-00001.arrow").rows) == 7
    (tmp_path / "a.csv").write_bytes("image,caption\n0.png,A cat.\n".encode("utf-16"))
    assert "a.csv is not UTF-8 (it is UTF-16); save it as UTF-8" in refused(tmp_path, tmp_path / "a.csv")


def test_what_is_no_text_is_told_in_few_letters(tmp_path):
    rows = {"image": ["0.png", "1.png"], "caption": [b"A cat.", b"A dog."], "lists": [[b"x" * 9999]] * 2}
    parquet.write_table(pa.table(rows), tmp_path / "a.parquet")
    assert "'caption' is no text (write it as one): 2\n  row 1: bytes\n" in "\n".join(
        read(tmp_path, tmp_path / "a.parquet").problems.lines()
    )
    parquet.write_table(pa.table({"image": ["0.png"], "caption": pa.array([[0.5] * 9])}), tmp_path / "vectors.parquet")
    said = read(tmp_path, tmp_path / "vectors.parquet", images=False).problems.lines()
    assert said[:2] == ["'caption' is no text (write it as one): 1", "  row 1: a list of numbers"]
    found = read(tmp_path, tmp_path / "a.parquet", caption_column="lists").problems.lines()
    assert "'lists' is no text" in found[0] and max(map(len, found)) < 200


def test_tables_of_different_columns_are_no_data_set(tmp_path):
    (tmp_path / "set").mkdir()
    for name, column in {"a": "text", "b": "words"}.items():
        parquet.write_table(pa.table({"image": ["0.png"], column: ["x"]}), tmp_path / "set" / f"{name}.parquet")
    assert "different columns, so they are not one data set: a.parquet has 'image', 'text'" in refused(
        tmp_path, tmp_path / "set"
    )


@pytest.mark.parametrize(
    "path, split",
    [
        ("data/train-00000-of-00002.parquet", "train"),
        ("val/metadata.csv", "validation"),
        ("test_01.tar", "test"),
        ("long-00000-of-00001.arrow", "long"),
        ("trainer/a.txt", None),
        ("a.png", None),
    ],
)
def test_the_split_is_told_by_names(path, split):
    assert split_of(path) == split


def test_the_splits_of_files_can_be_split_by(tmp_path):
    put_saved(tmp_path / "set" / "train", arrow_table(mine(), ["0.png", "1.png", "2.png"]))
    put_saved(tmp_path / "set" / "test", arrow_table(mine(), ["3.png", "4.png"]))
    (tmp_path / "set" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    options = {"captions": str(tmp_path / "set"), "split_column": "split"}
    prepare({"name": "a", "kind": "folder", "options": options, "splits": ["train", "test"]}, tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").glob("*.parquet")) == ["test.parquet", "train.parquet"]


def downloaded(root, status=("success", "failed_to_download", "success")):
    rows = {
        "url": [f"https://a.example/{number}.png" for number in range(3)],
        "caption": [f"Thing {number}" for number in range(3)],
        "key": [f"{number:09d}" for number in range(3)],
        "status": list(status),
        "error_message": [None, "HTTP Error 404", None],
    }
    parquet.write_table(pa.table(rows), root / "00000.parquet")
    (root / "00000_stats.json").write_text("{}")
    return [(f"{number:09d}", png(number)) for number in (0, 2)]


@pytest.mark.parametrize("form", ["files", "webdataset", "parquet"])
def test_what_img2dataset_could_not_download_is_told(tmp_path, form):
    (tmp_path / "set" / "00000").mkdir(parents=True)
    images = downloaded(tmp_path / "set")
    if form == "files":
        for key, data in images:
            (tmp_path / "set" / "00000" / f"{key}.png").write_bytes(data)
            (tmp_path / "set" / "00000" / f"{key}.txt").write_text("Another")
    elif form == "parquet":
        table = parquet.read_table(tmp_path / "set" / "00000.parquet")
        bodies = pa.array([dict(images).get(key.as_py()) for key in table["key"]], pa.binary())
        parquet.write_table(table.append_column("jpg", bodies), tmp_path / "set" / "00000.parquet")
    else:
        members = [(f"{key}.png", data) for key, data in images]
        members += [(f"{key}.txt", f"Thing {int(key)}".encode()) for key, _ in images]
        put_tar(tmp_path / "set" / "00000.tar", members)
    found = read(tmp_path, tmp_path / "set")
    assert [row.caption for row in found.rows] == ["Thing 0", "Thing 2"] and len(found.facts) == 2
    said = "\n".join(found.warnings.lines())
    assert "could not download, left out: 1\n" in said
    assert "00000.parquet: row 2: https://a.example/1.png failed_to_download HTTP Error 404" in said


def test_urls_find_their_files(tmp_path):
    places = ["a.example/deep/0.png", "deep/1.png", "x/ü 2.png", "x/3.png", "y/3.png"]
    for seed, place in enumerate(places):
        (tmp_path / "images" / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "images" / place).write_bytes(png(seed))
    urls = ["https://a.example/deep/0.png?x=1", "https://b.example/deep/1.png", "http://c.example/%C3%BC%202.png#a"]
    urls += ["https://a.example/3.png", "https://a.example/none.png"]
    lines = [json.dumps({"link": url, "caption": f"Thing {number}"}) for number, url in enumerate(urls)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    source = Source(str(tmp_path / "a.jsonl"), images=str(tmp_path / "images"), url_column="link")
    found = read_data(source, tmp_path / "out")
    assert [row.id for row in found.rows] == places[:3]
    lines = "\n".join(found.problems.lines())
    assert "line 4: https://a.example/3.png: several files have its name: x/3.png, y/3.png" in lines
    assert "line 5: https://a.example/none.png: no such file under" in lines
    source = Source(str(tmp_path / "a.jsonl"), images=str(tmp_path / "none"), url_column="link")
    with pytest.raises(FileNotFoundError, match="none: no such folder of images"):
        read_data(source, tmp_path / "out")


def test_a_file_that_two_urls_may_have_come_from_is_neithers(tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "image.png").write_bytes(png(1))
    urls = ["https://a.example/1/image.png", "https://b.example/2/image.png", "https://a.example/1/image.png"]
    lines = [json.dumps({"url": url, "caption": f"Thing {number}"}) for number, url in enumerate(urls)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    found = read_data(Source(str(tmp_path / "a.jsonl"), images=str(tmp_path / "photos"), url_column="url"), tmp_path)
    assert not found.rows
    said = "\n".join(found.problems.lines())
    assert f"line 2: image.png may be of {urls[0]}, {urls[1]}; download them under different names" in said
    (tmp_path / "a.jsonl").write_text("\n".join([lines[0], lines[2]]))  # one URL with two captions
    found = read_data(Source(str(tmp_path / "a.jsonl"), images=str(tmp_path / "photos"), url_column="url"), tmp_path)
    assert [(row.id, row.caption) for row in found.rows] == [("image.png", "Thing 0"), ("image.png", "Thing 2")]


def test_urls_find_what_img2dataset_made_of_them(tmp_path):
    (tmp_path / "set" / "00000").mkdir(parents=True)
    for key, data in downloaded(tmp_path / "set"):
        (tmp_path / "set" / "00000" / f"{key}.png").write_bytes(data)
    rows = "".join(f"https://a.example/{number}.png,My {number}\n" for number in range(3))
    (tmp_path / "a.csv").write_text("url,text\n" + rows)
    found = read_data(Source(str(tmp_path / "a.csv"), images=str(tmp_path / "set"), url_column="url"), tmp_path / "out")
    assert shown(found) == [("00000/000000000.png", "My 0"), ("00000/000000002.png", "My 2")]
    assert "line 3: https://a.example/1.png failed_to_download HTTP Error 404" in "\n".join(found.problems.lines())


@pytest.mark.parametrize(
    "head, said",
    [
        (
            "photo,words",
            "has no column that is surely the caption; name it as caption_column (--caption-column of a command); "
            "its columns: 'photo'",
        ),
        ("path,filename,caption", "the image may be in 'path' or 'filename'; name it as image_column"),
        ("image,text,description", "the caption may be in 'text' or 'description'; name it as caption_column"),
        ("image,caption_1,text_1", "the caption may be in 'caption_1' or 'text_1'"),
    ],
)
def test_a_column_that_cannot_be_told_is_asked_for(tmp_path, head, said):
    (tmp_path / "a.csv").write_text(head + "\n" + ",".join("x" * len(head.split(","))) + "\n")
    assert said in refused(tmp_path, tmp_path / "a.csv")


def test_the_columns_that_were_chosen_are_told(tmp_path):
    (tmp_path / "a.csv").write_text("File_Name,Text,caption_b\n0.png,A,b\n")
    found = read(tmp_path, tmp_path / "a.csv", images=False)
    assert found.told == ["images are read from the column 'File_Name'", "captions are read from the column 'Text'"]
    (tmp_path / "a.csv").write_text(" Image , caption\n0.png,A\n")
    assert shown(read(tmp_path, tmp_path / "a.csv", images=False)) == [("0.png", "A")]
    (tmp_path / "a.csv").write_text("image,caption,long_caption\n0.png,A,B\n")
    found = read(tmp_path, tmp_path / "a.csv", images=False)
    assert shown(found) == [("0.png", "A")] and "'long_caption' may hold some, too (caption_column" in found.told[0]
    found = read(tmp_path, tmp_path / "a.csv", images=False, caption_column=("long_caption", "caption"))
    assert shown(found) == [("0.png", "B"), ("0.png", "A")] and found.told == []
    (tmp_path / "a.csv").write_text("image,caption,caption_2\n0.png,A,B\n")
    assert "'caption_2' may hold some, too" in read(tmp_path, tmp_path / "a.csv", images=False).told[0]
    (tmp_path / "a.csv").write_text("caption\nA\nB\n")
    assert shown(read(tmp_path, tmp_path / "a.csv", images=False)) == [("line 2", "A"), ("line 3", "B")]
    assert "surely the image; name it as image_column" in refused(tmp_path, tmp_path / "a.csv")


def test_texts_that_lead_nowhere_are_named_among_the_faults(tmp_path, texts):
    first, second = sorted(texts.rglob("*.txt"))[:2]
    for text, target in ((first, first.name), (second, "gone")):
        text.unlink()
        text.symlink_to(target)
    state_of(str(texts))
    told = "\n".join(read(tmp_path, texts).problems.lines())
    assert f"{first.relative_to(texts)}: Too many levels" in told
    assert f"{second.relative_to(texts)}: No such file" in told


def test_a_folder_that_cannot_be_listed_is_no_empty_one(tmp_path, monkeypatch):
    (tmp_path / "shut").mkdir()
    scan = os.scandir

    def refuse(place):
        if str(place).endswith("shut"):
            raise PermissionError(13, "Permission denied", str(place))
        return scan(place)

    monkeypatch.setattr("os.scandir", refuse)
    with pytest.raises(PermissionError, match="shut"):
        visible_files(tmp_path)


def test_another_state_of_a_folder_is_another_hash(tmp_path, texts):
    before = state_of(str(texts))
    assert state_of(str(texts)) == before
    os.utime(texts / "0.txt", ns=(1, 1))
    touched = state_of(str(texts))
    (texts / "new.txt").write_text("x")
    assert len({before, touched, state_of(str(texts))}) == 3
