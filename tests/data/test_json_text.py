"""A key that stands twice in an object is told with its place, in every JSON that a person brings."""

import json

import pytest
from formats import mine, put_images, put_tar

from hnclip.data.captions_of import Source, read_data
from hnclip.data.json_text import TWICE, parse, parse_once, read_once


def test_the_value_is_json_s_own_and_keys_of_different_objects_do_not_meet():
    text = '{"a": "x: {\\"a\\": 1", "b": {"a": [1, {"a": 2}, {"a": 3}]}, "c": "}{]["}'
    assert parse(text) == (json.loads(text), [])


def test_each_key_that_stands_again_is_placed():
    text = '{"a": 1, "b": {"a": ":", "a": "\\":{"},\n "\\u0061": [{"x": 1},\n  {"x": 2, "x": "é", "x": 3}]}'
    expected = [(1, text.split("\n")[0].rindex('"a"')), (2, 1), (3, 11), (3, 21)]
    assert parse(text)[1] == [
        f"line {line} column {column + 1}: {key!r}"
        for (line, column), key in zip(expected, ["a", "a", "x", "x"], strict=True)
    ]
    assert parse('{"a": 1, "a": 1}', 7)[1] == ["line 7 column 10: 'a'"]
    with pytest.raises(ValueError, match=r"line 3 column 12: 'x'; line 3 column 22: 'x'"):
        parse_once(text)


def test_a_whole_file_is_named(tmp_path):
    path = tmp_path / "regions.json"
    path.write_text('[{"a": 1},\n {"a": 1, "a": 2}]')
    with pytest.raises(ValueError, match=r"regions\.json: keys that stand twice[^\n]*\n  line 2 column 11: 'a'"):
        read_once(path)
    path.write_text("[{]")
    with pytest.raises(ValueError, match=r"regions\.json is no valid JSON"):
        read_once(path)


ONCE, TWICE_OVER = '{"image": "0.png", "caption": "one"}', '{"image": "%d.png", "caption": "a", "caption": "b"}'


def as_lines(folder, rows):
    (folder / "captions.jsonl").write_text("\n".join(rows))


def as_list(folder, rows):
    (folder / "captions.json").write_text("[" + ",\n".join(rows) + "]")


@pytest.mark.parametrize("write", [as_lines, as_list])
def test_captions_name_every_line(tmp_path, write):
    put_images(tmp_path, mine())
    write(tmp_path, [ONCE, TWICE_OVER % 1, TWICE_OVER % 2])
    (path,) = tmp_path.glob("captions.*")
    found = read_data(Source(str(path)), tmp_path / "unpacked").problems.kinds()
    assert found == {TWICE: ["line 2 column 36: 'caption'", "line 3 column 36: 'caption'"]}


def test_an_image_that_an_object_of_captions_names_twice(tmp_path):
    put_images(tmp_path, mine())
    (tmp_path / "captions.json").write_text('{"0.png": "one",\n"1.png": "two",\n"0.png": "three"}')
    found = read_data(Source(str(tmp_path / "captions.json")), tmp_path / "unpacked").problems.kinds()
    assert found == {TWICE: ["line 3 column 1: '0.png'"]}


def test_members_of_a_shard(tmp_path):
    data = mine()
    texts = [ONCE, TWICE_OVER % 1, TWICE_OVER % 2]
    files = [(f"{key}.{kind}", body) for key, text in enumerate(texts) for kind, body in _both(data, key, text)]
    put_tar(tmp_path / "one.tar", files)
    found = read_data(Source(str(tmp_path / "one.tar")), tmp_path / "unpacked").problems.kinds()
    (places,) = found.values()
    assert [place.split(": keys")[0] for place in places] == ["one.tar: 1.json", "one.tar: 2.json"]


def _both(data, key, text):
    return [("png", data.images[f"{key}.png"]), ("json", text.encode())]
