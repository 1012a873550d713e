"""The files that hold splits: names and paths with one spelling."""

from pathlib import Path

import yaml

from hnclip.split_files import named_tokens, overlap_path, parse_overlap, parse_transform, tokens_name, transform_name

ROOT = Path(__file__).parents[1]


def test_the_names_of_transforms_and_tokens_parse_back():
    backbone = yaml.safe_load((ROOT / "config.yaml").read_text())["backbones"]["tiny"]
    assert transform_name(backbone["transform"]) == "48-bicubic-shortest-ignore"
    assert parse_transform("48-bicubic-shortest-ignore") == backbone["transform"]
    assert tokens_name(backbone) == "clip-248"
    assert named_tokens({"backbones": {"one": backbone}}, "clip-248") == {"tokenizer": "clip", "context": 248}


def test_a_list_of_shared_images_parses_back():
    path = overlap_path("vg", "train", "urban1k", "test")
    assert parse_overlap(path) == ("vg", "train", "urban1k", "test")
    for other in ("lists/a.txt", "results/overlap/a/b/c.txt", f"./{path}", f"/x/{path}", path.removesuffix(".txt")):
        assert parse_overlap(other) is None
