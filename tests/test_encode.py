"""Several processes encode a split in turns: every row by one of them, and all take as many turns."""

import pytest
import torch
from world import BACKBONE, make_split

from hnclip import processes
from hnclip.data.split import open_split
from hnclip.encode import device, encode_split
from hnclip.models.load import backbone_from


def test_products_are_fp32_where_torch_was_told_otherwise():
    torch.set_float32_matmul_precision("high")
    device()
    assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.parametrize("world", [2, 3])
def test_turns_add_up_to_what_one_process_encodes(tmp_path, monkeypatch, world):
    split = open_split(make_split(tmp_path / "world", "test", 7, captions_an_image=2))
    backbone = backbone_from(BACKBONE).eval()
    one = encode_split(backbone, split, 2)  # 4 batches of images, 7 of captions
    called = []
    for name in ("image", "text"):
        tower = getattr(backbone, name)

        def counted(*given, name=name, tower=tower, **named):
            called.append(name)
            return tower(*given, **named)

        monkeypatch.setattr(backbone, name, counted)
    monkeypatch.setattr(processes, "world", lambda: world)
    shares, turns = [], []
    for rank in range(world):
        monkeypatch.setattr(processes, "rank", lambda rank=rank: rank)
        monkeypatch.setattr(processes, "summed", lambda tensor: tensor)
        called.clear()
        shares.append(encode_split(backbone, split, 2))
        turns.append((called.count("image"), called.count("text")))
    assert turns == [(-(-4 // world), -(-7 // world))] * world
    for whole, parts in zip(one, zip(*shares, strict=True), strict=True):
        assert torch.equal(sum(parts), whole)
        assert (torch.stack([part.abs().sum(1) > 0 for part in parts]).sum(0) == 1).all()
