import json

import pytest
from PIL import Image

from hnclip.data.captions_of import Source
from hnclip.doctor.captions import read, record


@pytest.fixture
def broken(tmp_path):
    """Captions with every fault that can be: the folder of their images, and their file."""
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for number in range(8):
        Image.new("RGB", (9, 9), (number * 30, 90, 200)).save(pictures / f"{number}.png")
    (pictures / "1.png").write_bytes((pictures / "1.png").read_bytes()[:40])
    (pictures / "2.png").write_text("not found")
    (pictures / "3.png").unlink()
    texts = ["a whole one", "cut", "text", "gone away", "", "None", "[red]shared[/red]", "[red]shared[/red]"]
    rows = [{"file_name": f"{number}.png", "text": text} for number, text in enumerate(texts)]
    lines = [json.dumps(row) for row in [*rows, rows[0]]]
    captions = tmp_path / "captions.jsonl"
    captions.write_text("\n".join([*lines, "{broken"]))
    Image.new("RGB", (9, 9)).save(pictures / "lonely.png")
    return captions, pictures


def test_every_fault_is_named_and_stops_nothing(broken, tmp_path):
    captions, pictures = broken
    found = read(Source(str(captions), images=str(pictures)), tmp_path / "unpacked")
    said = record(found)
    faults = "\n".join(found.problems.lines())
    for name in ("1.png", "2.png", "3.png", "line 5", "line 9, as line 1", "line 10"):
        assert name in faults
    warnings = said["warnings"]
    assert warnings["captions that look like a placeholder"] == ["line 6: 'None' (5.png)"]
    assert [path.rsplit("/")[-1] for path in warnings["images without a caption"]] == ["4.png", "lonely.png"]
    assert said["columns"]["image"] == "file_name" and said["images"] == 7 and len(found.facts) == 4


def test_copies_and_a_caption_twice_in_one_list_say_what_is_meant(tmp_path):
    for name in ("yak.png", "copy.png"):
        Image.new("RGB", (9, 9)).save(tmp_path / name)
    rows = [{"image": "yak.png", "caption": ["Yak.", "A yak.", "Yak."]}, {"image": "copy.png", "caption": "B" * 99}]
    path = tmp_path / "captions.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in [*rows, rows[1]]))
    found = read(Source(str(path), images=str(tmp_path)), tmp_path / "unpacked")
    repeated = ["twice in line 1: 'Yak.'", f"line 3, as line 2: 'copy.png', '{'B' * 60}'"]
    assert found.problems.kinds() == {"repeated image and caption (remove one)": repeated}
    (kind,) = (kind for kind in found.warnings.kinds() if kind.startswith("the same image under two ids"))
    assert "a study whose split puts them apart refuses them as a leak: remove the copies, give them one id" in kind
    assert "family column" in kind


def test_captions_alone_need_no_images(broken, tmp_path):
    found = read(Source(str(broken[0])), tmp_path / "unpacked")
    assert not found.pictured and found.facts == {} and "cannot be used" not in str(found.problems.kinds())


def test_a_table_without_images_counts_each_caption_as_one(tmp_path):
    path = tmp_path / "captions.csv"
    path.write_text("caption\none\ntwo\n")
    found = read(Source(str(path)), tmp_path / "unpacked")
    assert found.images == 2 and not found.named
    assert any("every caption counts as that of an image of its own" in line for line in found.told)


def test_captions_of_an_image_come_together_and_one_split_may_be_looked_at(tmp_path):
    path = tmp_path / "captions.csv"
    path.write_text("image,caption,split\na.jpg,one,train\nb.jpg,two,train\na.jpg,three,train\nc.jpg,four,test\n")
    assert read(Source(str(path)), tmp_path / "x", "train").captions_N == ["one", "three", "two"]
    with pytest.raises(ValueError, match="no captions of split 'val'; its splits: 'test', 'train'"):
        read(Source(str(path)), tmp_path / "x", "val")


def test_what_cannot_be_read_at_all_is_refused(tmp_path):
    path = tmp_path / "captions.csv"
    path.write_text("image,caption\na.jpg,\n")
    with pytest.raises(ValueError, match=r"no row has a caption that can be read\n .*empty"):
        read(Source(str(path)), tmp_path / "x")
    with pytest.raises(OSError, match="is no folder"):
        read(Source(str(path), images=str(tmp_path / "nowhere")), tmp_path / "x")


def test_a_wrong_folder_of_images_is_told(broken, tmp_path):
    (tmp_path / "empty").mkdir()
    found = read(Source(str(broken[0]), images=str(tmp_path / "empty")), tmp_path / "unpacked")
    assert any("no image was found" in line for line in found.told)


def test_swapped_columns_are_asked_about_and_no_other_folder(tmp_path):
    for number in range(3):
        Image.new("RGB", (9, 9)).save(tmp_path / f"{number}.png")
    path = tmp_path / "captions.csv"
    path.write_text("image,caption\n" + "".join(f"Tree {number}.,{number}.png\n" for number in range(3)))
    found = read(Source(str(path), images=str(tmp_path)), tmp_path / "x")
    (kind,) = (kind for kind in found.problems.kinds() if "swapped" in kind)
    assert found.problems.kinds()[kind] == ["line 2: the caption is '0.png'"]
    assert not any("no image was found" in line for line in found.told)


def test_control_characters_are_a_fault_of_ones_own_and_kept_in_what_is_published(tmp_path):
    path = tmp_path / "captions.csv"
    path.write_text("image,caption\na.jpg,one\nb.jpg,t\0wo\n")
    found = read(Source(str(path)), tmp_path / "x")
    kind = "captions with control characters, which no text has (remove them)"
    assert found.problems.kinds() == {kind: [r"line 3: 't\x00wo'"]} and found.captions_N == ["one", "t\0wo"]
    images = [{"filename": "b.jpg", "split": "test", "sentences": [{"raw": "t\0wo"}]}]
    path = tmp_path / "dataset.json"
    path.write_text(json.dumps({"images": images}))
    found = read(Source(str(path)), tmp_path / "x")
    assert found.problems.kinds() == {}
    assert [len(rows) for kind, rows in found.warnings.kinds().items() if kind.endswith("characters, kept")] == [1]
