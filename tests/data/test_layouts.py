"""ShareGPT4V's and Karpathy's JSON files as tables of the benchmark kind `folder`."""

import json

import numpy as np
import pytest
from PIL import Image

from hnclip.data.layouts import read_captions
from hnclip.data.manifest import read_manifest
from hnclip.data.prepare import prepare
from hnclip.data.problems import Problems


def picture(path, seed):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.random.default_rng(seed).integers(0, 256, (6, 8, 3), dtype=np.uint8)).save(path)


def write(path, record, **how):
    path.write_text(json.dumps(record, **how), encoding="utf-8")
    return path


def made(folder, captions, splits=(), **options):
    options = {"captions": str(captions), "images": str(folder / "images"), **options}
    prepare({"name": "mine", "kind": "folder", "options": options, "splits": list(splits)}, folder / "out")
    return {path.stem: read_manifest(path) for path in (folder / "out").glob("*.parquet")}


def refused(folder, captions, **options):
    with pytest.raises((ValueError, FileNotFoundError)) as caught:
        made(folder, captions, **options)
    assert not list(folder.glob("out/*.parquet"))
    return str(caught.value)


ALL = {"split_hash": {"all": 100}}
PLACES = ["coco/train2017/000000000009.jpg", "llava/llava_pretrain/images/00453/004539375.jpg", "sam/images/sa_1.jpg"]


def conversation(image, caption="A cat.\n\nIt sleeps."):
    prompt = {"from": "human", "value": "<image>\nWhat do you see?"}
    return {"id": image[-10:-4], "image": image, "conversations": [prompt, {"from": "gpt", "value": caption}]}


@pytest.fixture
def shared(tmp_path):
    for seed, place in enumerate(PLACES):
        picture(tmp_path / "images" / place, seed)
    return tmp_path


def test_sharegpt4v_keeps_every_caption_whole(shared):
    captions = ["In the image, a cat.\n\nIt sleeps.", " écorce ☃ ", "Dr. Who stands there. A box."]
    path = write(shared / "share.json", [conversation(*both) for both in zip(PLACES, captions, strict=True)])
    found = made(shared, path, **ALL)["all"]
    assert found.caption.tolist() == captions and found.id.tolist() == PLACES
    assert found.image.tolist() == [str(shared / "images" / place) for place in PLACES]
    found = made(shared, path, layout="sharegpt4v", id_column="id", **ALL)["all"]
    assert found.id.tolist() == [place[-10:-4] for place in PLACES]


def test_sharegpt4v_may_stand_in_lines_and_have_a_byte_order_mark(shared):
    lines = "".join(json.dumps(conversation(place)) + "\n" for place in PLACES)
    (shared / "share.jsonl").write_text("\ufeff" + lines, encoding="utf-8")
    table = read_captions(shared / "share.jsonl", "sharegpt4v", Problems())
    assert [row["caption"] for _, row in table.rows] == ["A cat.\n\nIt sleeps."] * 3
    (shared / "share.json").write_text("\ufeff" + json.dumps([conversation(place) for place in PLACES]), "utf-8")
    same = read_captions(shared / "share.json", None, Problems())
    assert [row for _, row in same.rows] == [row for _, row in table.rows]
    assert same.columns == ["id", "image", "prompt", "caption"] and same.rows[1][0] == "entry 2"


def test_sharegpt4v_entries_that_are_no_caption_are_all_named(shared):
    entries = [conversation(place) for place in PLACES]
    turns = entries[0]["conversations"]
    entries += [
        {"image": PLACES[0]},
        {"image": PLACES[0], "conversations": turns * 2},
        {"image": PLACES[0], "conversations": turns[::-1]},
        {"conversations": turns},
        {"image": PLACES[0], "conversations": [turns[0], {"from": "gpt", "value": " "}]},
        {"image": PLACES[0], "conversations": [turns[0], {"from": "gpt"}]},
        {"image": "gone.jpg", "conversations": turns},
        "text",
        conversation(PLACES[0], "half \ud800"),
    ]
    message = refused(shared, write(shared / "share.json", entries), **ALL)
    assert "entry 4: no list of conversations" in message and "entry 5: a conversation of 4 turns" in message
    assert "entry 6: the second turn is not the caption, it is from 'human'" in message
    assert "entry 7: no image" in message and "empty 'caption' (fill them in or remove the rows): 2" in message
    assert "entry 8\n" in message and "entry 9\n" in message and "gone.jpg: no such file" in message
    assert "entry 11: expected an object, got str" in message and "entry 12: \\ud800 is half a character" in message


def karpathy(name, split, captions, cocoid, filepath="val2014"):
    sentences = [
        {"tokens": caption.lower().split(), "raw": caption, "imgid": cocoid, "sentid": cocoid * 10 + number}
        for number, caption in enumerate(captions)
    ]
    entry = {"sentids": [one["sentid"] for one in sentences], "imgid": 0, "sentences": sentences, "split": split}
    entry |= {"filename": name, "cocoid": cocoid}
    return entry | ({"filepath": filepath} if filepath else {})


SPLITS = ["train", "train", "restval", "restval", "val", "val", "test", "test"]


def coco(count=5, filepath="val2014"):
    return {
        "dataset": "coco",
        "images": [
            karpathy(f"COCO_{i}.jpg", split, [f"Thing {i} is {j}. " for j in range(count)], 100 + i, filepath)
            for i, split in enumerate(SPLITS)
        ],
    }


@pytest.fixture
def five(tmp_path):
    for seed in range(len(SPLITS)):
        picture(tmp_path / "images" / "val2014" / f"COCO_{seed}.jpg", seed)
        picture(tmp_path / "images" / f"COCO_{seed}.jpg", seed)
    return tmp_path


def test_karpathy_gives_five_captions_an_image_and_its_splits(five):
    found = made(five, write(five / "dataset_coco.json", coco()), split_column="split")
    assert set(found) == {"train", "restval", "val", "test"}
    assert found["test"].id.tolist() == [f"val2014/COCO_{i}.jpg" for i in (6, 7) for _ in range(5)]
    assert found["test"].caption.tolist() == [f"Thing {i} is {j}. " for i in (6, 7) for j in range(5)]
    assert found["test"].image[0] == str(five / "images/val2014/COCO_6.jpg")


def test_restval_counts_as_train_by_option(five):
    path = write(five / "dataset_coco.json", coco())
    options = {"split_column": "split", "merge_splits": {"restval": "train"}, "id_column": "cocoid"}
    found = made(five, path, splits=["train", "val", "test"], **options)
    assert set(found) == {"train", "val", "test"}
    assert list(dict.fromkeys(found["train"].id)) == ["100", "101", "102", "103"]
    assert set(found["train"].split) == {"train"}


def test_wrong_merges_are_refused(five):
    path = write(five / "dataset_coco.json", coco())
    message = refused(five, path, split_column="split", merge_splits={"rest_val": "train"})
    assert "merge_splits: unknown split 'rest_val' (did you mean 'restval'?)" in message
    assert "with split_column alone" in refused(five, path, merge_splits={"restval": "train"}, **ALL)


def test_flickr30k_has_no_folder_in_its_entries(five):
    found = made(five, write(five / "dataset_flickr30k.json", coco(filepath=None)), split_column="split")
    assert found["val"].id.tolist()[::5] == ["COCO_4.jpg", "COCO_5.jpg"]


def test_the_first_captions_of_each_image(five, capsys):
    record = coco(count=7)
    record["images"][6]["sentences"] = record["images"][6]["sentences"][:3]
    path = write(five / "dataset_coco.json", record)
    found = made(five, path, split_column="split", captions_per_image=5)
    assert len(found["train"]) == 10 and found["train"].caption[4] == "Thing 0 is 4. " and len(found["test"]) == 8
    assert "images with fewer than 5 captions: 1\nwarning:   'val2014/COCO_6.jpg': 3" in capsys.readouterr().out
    assert "at least 1, got 0" in refused(five / "none", path, split_column="split", captions_per_image=0)


def test_what_is_odd_in_a_published_file_stays_and_is_told(five, capsys):
    record = coco()
    record["images"][0]["sentences"][1]["raw"] = record["images"][0]["sentences"][0]["raw"]
    (five / "images/val2014/COCO_7.jpg").write_bytes((five / "images/val2014/COCO_0.jpg").read_bytes())
    found = made(five, write(five / "dataset_coco.json", record), split_column="split")
    assert len(found["train"]) == 10 and found["train"].caption[0] == found["train"].caption[1]
    said = capsys.readouterr().out
    assert "captions that an image has twice, kept: 1" in said and "the same image in two splits" in said


def test_karpathy_entries_that_cannot_be_read_are_all_named(five):
    record = coco()
    record["images"][0]["sentences"] = []
    record["images"][1]["sentences"] = ["text"]
    record["images"][2]["filename"] = None
    record["images"][3]["sentences"][2]["raw"] = ""
    del record["images"][4]["split"]
    message = refused(five, write(five / "c.json", record), split_column="split")
    assert "entry 1: no list of sentences" in message and "entry 2: no list of sentences" in message
    assert "entry 3: filename and filepath must be texts, got None" in message
    assert "empty 'caption' (fill them in or remove the rows): 1\n    entry 4" in message
    assert "empty 'split' (fill them in or remove the rows): 1\n    entry 5" in message


def test_a_list_of_rows_is_a_table(five):
    rows = [{"image": f"COCO_{i}.jpg", "caption": [f"a{i}", f"b{i}"], "part": split} for i, split in enumerate(SPLITS)]
    found = made(five, write(five / "rows.json", rows), split_column="part")
    assert found["val"].caption.tolist() == ["a4", "b4", "a5", "b5"]
    rows[1]["caption"] = ["a", "a"]
    assert "repeated image and caption (remove one): 1" in refused_again(five, write(five / "rows.json", rows))


def refused_again(folder, captions):
    for path in folder.glob("out/*.parquet"):
        path.unlink()
    return refused(folder, captions, split_column="part")


@pytest.mark.parametrize(
    "record, said",
    [
        ({"images": [{"id": 1}], "annotations": []}, "COCO's own annotation file"),
        ({"data": []}, "none of the known layouts"),
        ("text", "none of the known layouts"),
        ([], "the list is empty"),
        ({"images": []}, "the list is empty"),
        (["a", 2], "no entry can be read\n  "),
    ],
)
def test_other_json_says_what_is_expected(five, record, said):
    assert said in refused(five, write(five / "a.json", record), **ALL)


def test_broken_files_and_wrong_layouts_say_so(five):
    (five / "a.json").write_text(json.dumps(coco())[:-20])
    assert "a.json is no valid JSON" in refused(five, five / "a.json", **ALL)
    (five / "a.json").write_bytes(b'["caf\xe9"]')
    assert "is not UTF-8" in refused(five, five / "a.json", **ALL)
    assert "no such captions file" in refused(five, five / "none.json", **ALL)
    path = write(five / "c.json", coco())
    assert "has the layout 'karpathy', not 'sharegpt4v'" in refused(five, path, layout="sharegpt4v", **ALL)
    assert "'table' or 'sharegpt4v' or 'karpathy'" in refused(five, path, layout="coco", **ALL)
    path.rename(five / "c.jsonl")
    assert "layout 'karpathy' is one .json file" in refused(five, five / "c.jsonl", layout="karpathy", **ALL)


def test_a_layout_named_table_is_the_ordinary_one(five):
    rows = "".join(f"COCO_{i}.jpg,c{i}\n" for i in range(3))
    (five / "a.csv").write_text("image,caption\n" + rows)
    assert made(five, five / "a.csv", layout="table", **ALL)["all"].equals(made(five, five / "a.csv", **ALL)["all"])
