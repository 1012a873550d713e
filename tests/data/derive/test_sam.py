"""Segment Anything through transformers: a tiny model with random weights, and the arithmetic around it."""

import numpy as np
import pytest
from PIL import Image
from regions_world import make_scenes, segmented

from hnclip.data.derive.region import scaled
from hnclip.data.derive.segment_table import read_segments
from hnclip.data.derive.segmenters import sam


def runs(mask_HW):
    """A mask as runs of pixels, column after column, outside and inside in turn."""
    flat = mask_HW.T.ravel()
    edges = np.flatnonzero(np.diff(flat)) + 1
    counts = np.diff([0, *edges, flat.size]).tolist()
    return {"size": list(mask_HW.shape), "counts": [0, *counts] if flat[0] else counts}


def test_the_region_of_a_mask_is_its_tight_rectangle_and_its_area_the_masks():
    mask = np.zeros((6, 10), bool)
    mask[1, 2] = mask[4, 7] = True
    region = sam.run_region(runs(mask), (10, 6))
    assert region.box == (2, 1, 8, 5) and region.area == pytest.approx(2 / 60)
    assert sam.run_region(runs(mask), (25, 15)).box == (5, 2, 20, 13)
    assert sam.run_region(runs(np.zeros((6, 10), bool)), (10, 6)) is None
    assert scaled((0, 0, 10, 6), (10, 6), (4097, 3001)) == (0, 0, 4097, 3001)


def test_the_region_of_any_mask_is_that_of_its_pixels():
    random = np.random.default_rng(0)
    for share in (0.02, 0.1, 0.5, 0.99, 1.0) * 20:
        mask = random.random((5, 7)) < share
        mask[: random.integers(3)] = mask[:, 6 - random.integers(3) :] = False
        rows, columns = np.nonzero(mask)
        region = sam.run_region(runs(mask), (7, 5))
        if not len(rows):
            assert region is None
            continue
        assert region.box == (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
        assert region.area == pytest.approx(mask.mean())


def test_large_images_are_asked_about_few_points_at_once():
    options = sam.Options("none")
    assert sam.points_at_once(options, (64, 64)) == 128
    for size in ((4000, 3000), (2048, 1536), (1024, 1024)):
        points = sam.points_at_once(options, size)
        assert 1 <= points <= 128 and points * 3 * size[0] * size[1] <= 2**29
    assert sam.points_at_once(options, (40_000, 30_000)) == 1


@pytest.mark.parametrize(
    ("size", "seen"),
    [
        ((4000, 3000), (4000, 3000)),
        ((4001, 3000), (2048, 1536)),
        ((600, 3001), (307, 1536)),
        ((4096, 1000), (2048, 500)),
    ],
)
def test_only_large_images_are_segmented_as_thumbnails(monkeypatch, size, seen):
    sizes = []

    def generate(image):
        sizes.append(image.size)
        mask = np.zeros(image.size[::-1], bool)
        mask[:, : image.width // 2] = True
        return [runs(mask)]

    monkeypatch.setattr(sam, "_pipeline", lambda options: generate)
    image = Image.new("RGB", size)
    (region,) = sam.proposer(sam.Options("none"), None)(image, [0])
    assert sizes == [seen] and image.size == size
    assert region.area == pytest.approx(0.5, abs=0.01)
    assert region.box[:2] == (0, 0) and region.box[3] == size[1] and abs(region.box[2] - size[0] / 2) <= 10


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A folder with a Segment Anything model of random weights, four layers in all."""
    transformers = pytest.importorskip("transformers")
    import torch

    torch.manual_seed(0)
    config = transformers.SamConfig(
        vision_config={
            "hidden_size": 16, "output_channels": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
            "image_size": 64, "patch_size": 8, "window_size": 4, "global_attn_indexes": [1], "mlp_dim": 32,
            "num_pos_feats": 8,
        },
        prompt_encoder_config={"hidden_size": 16, "image_size": 64, "patch_size": 8, "image_embedding_size": 8,
                               "mask_input_channels": 4},
        mask_decoder_config={"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "mlp_dim": 32,
                             "iou_head_hidden_dim": 16},
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("sam")
    made = transformers.SamModel(config)
    with torch.no_grad():  # uneven, steep and sure masks, or the pipeline would drop all of them
        for weights in made.parameters():
            if weights.ndim > 1:
                weights.normal_(std=0.3)
        for head in made.mask_decoder.output_hypernetworks_mlps:
            head.proj_out.weight.mul_(1e5)
        made.mask_decoder.iou_prediction_head.proj_out.weight.zero_()
        made.mask_decoder.iou_prediction_head.proj_out.bias.fill_(1)
    made.save_pretrained(folder)
    size = {"longest_edge": 64}
    transformers.SamImageProcessor(
        size=size, pad_size={"height": 64, "width": 64}, mask_size={"longest_edge": 16},
        mask_pad_size={"height": 16, "width": 16},
    ).save_pretrained(folder)  # fmt: skip
    return folder


@pytest.mark.slow
def test_the_pipeline_of_transformers_finds_regions(tmp_path, model):
    from transformers import pipeline

    manifest = make_scenes(tmp_path, 2)
    regions = read_segments(segmented(manifest, "sam", model=str(model), area=[0.001, 0.999]))
    generate = pipeline("mask-generation", model=str(model))
    for index in range(2):
        masks = generate(str(tmp_path / "images" / f"s {index}.png"), points_per_batch=128)["masks"]
        expected = []
        for mask in (np.asarray(mask) for mask in masks if 0.001 <= np.asarray(mask).mean() <= 0.999):
            rows, columns = np.nonzero(mask)
            expected.append([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])
        mine = regions[regions["id"] == f"s{index}"]
        assert len(expected) > 0
        assert sorted(mine[["left", "top", "right", "bottom"]].to_numpy().tolist()) == sorted(expected)


def test_a_model_that_is_not_there_is_told(tmp_path, monkeypatch):
    pytest.importorskip("transformers")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(OSError, match="none"):
        sam.proposer(sam.Options(str(tmp_path / "none")), None)
