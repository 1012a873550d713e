import hashlib
import io

import numpy as np
import pytest
from PIL import Image

from hnclip.data.images import open_pixels, read_image, transform_image, write_pixels
from hnclip.data.manifest import write_manifest

PLAIN = {"size": 8, "interpolation": "bicubic", "resize": "shortest", "exif": "ignore"}


def noise(width=12, height=9, seed=0, bands=3):
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, bands), dtype=np.uint8)
    return Image.fromarray(pixels[..., 0] if bands == 1 else pixels)


def manifest(folder, *files):
    rows = []
    for name in files:
        path = folder / name
        data = path.read_bytes() if path.exists() else b""
        rows.append(
            {
                "id": name,
                "image": name,
                "caption": "A cat.",
                "sentences": [],
                "boxes": [],
                "family": name,
                "split": "test",
                "width": 1,
                "height": 1,
                "sha256": hashlib.sha256(data).hexdigest(),
            }
        )
    write_manifest(folder / "test.parquet", rows)
    return folder / "test.parquet"


def test_exif_rotation_is_ignored_or_applied(tmp_path):
    upright = noise(16, 8)
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held sideways: turn by 90 degrees clockwise to see it upright
    upright.rotate(90, expand=True).save(tmp_path / "turned.png", exif=exif)
    assert np.array_equal(read_image(tmp_path / "turned.png", "apply"), upright)
    assert np.array_equal(read_image(tmp_path / "turned.png", "ignore"), upright.rotate(90, expand=True))
    with pytest.raises(ValueError, match="'ignore' or 'apply'"):
        read_image(tmp_path / "turned.png", "applied")


def test_sixteen_bits_are_scaled(tmp_path):
    grey = np.array([[0, 257, 32896, 65535]], np.uint16)
    Image.fromarray(grey).save(tmp_path / "deep.png")
    assert np.asarray(read_image(tmp_path / "deep.png", "ignore"))[0, :, 1].tolist() == [0, 1, 128, 255]


def test_transparency_goes_onto_white(tmp_path):
    pixels = np.array([[[200, 0, 0, 0], [200, 0, 0, 255], [0, 0, 0, 51]]], np.uint8)
    Image.fromarray(pixels).save(tmp_path / "alpha.png")
    assert np.asarray(read_image(tmp_path / "alpha.png", "ignore"))[0].tolist() == [
        [255, 255, 255],
        [200, 0, 0],
        [204, 204, 204],
    ]


def test_palettes_keep_their_colours(tmp_path):
    image = Image.new("P", (2, 1))
    image.putpalette([10, 20, 30, 200, 100, 50])
    image.putpixel((1, 0), 1)
    image.save(tmp_path / "opaque.png")
    image.save(tmp_path / "clear.png", transparency=0)
    assert np.asarray(read_image(tmp_path / "opaque.png", "ignore"))[0].tolist() == [[10, 20, 30], [200, 100, 50]]
    assert np.asarray(read_image(tmp_path / "clear.png", "ignore"))[0].tolist() == [[255, 255, 255], [200, 100, 50]]


def test_cmyk_and_grey_become_rgb(tmp_path):
    Image.new("CMYK", (8, 8), (0, 255, 255, 0)).save(tmp_path / "red.jpg", quality=95)
    red = np.asarray(read_image(tmp_path / "red.jpg", "ignore"))[4, 4]
    assert red[0] > 200 and red[1] < 60 and red[2] < 60
    noise(bands=1).save(tmp_path / "grey.png")
    assert np.array_equal(np.asarray(read_image(tmp_path / "grey.png", "ignore"))[..., 2], noise(bands=1))


@pytest.mark.parametrize("interpolation", ["bicubic", "bilinear"])
@pytest.mark.parametrize("resize", ["shortest", "squash"])
@pytest.mark.parametrize("shape", [(13, 8), (8, 29), (61, 40), (5, 7), (333, 77), (8, 8)])
def test_pixels_are_those_of_torchvision(shape, resize, interpolation):
    transforms = pytest.importorskip("torchvision.transforms")
    image = noise(*shape)
    filter_ = transforms.InterpolationMode(interpolation)
    if resize == "shortest":
        steps = [transforms.Resize(8, filter_), transforms.CenterCrop(8)]
    else:
        steps = [transforms.Resize((8, 8), filter_)]
    expected = np.asarray(transforms.Compose(steps)(image))
    found = transform_image(image, {**PLAIN, "resize": resize, "interpolation": interpolation})
    assert found.dtype == np.uint8 and np.array_equal(found, expected)


def test_the_cache_holds_each_image_once_in_order(tmp_path):
    for index in range(3):
        noise(20 + index, 12, index).save(tmp_path / f"ü {index}.png")
    path = manifest(tmp_path, "ü 2.png", "ü 2.png", "ü 0.png", "ü 1.png")
    write_pixels(path, PLAIN, tmp_path / "out" / "test.npy")
    pixels = open_pixels(tmp_path / "out" / "test.npy")
    assert isinstance(pixels, np.memmap) and pixels.shape == (3, 8, 8, 3)
    for row, index in zip(pixels, (2, 0, 1), strict=True):
        assert np.array_equal(row, transform_image(noise(20 + index, 12, index), PLAIN))
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["test.npy"]


def test_all_bad_images_are_named_and_nothing_is_written(tmp_path):
    noise().save(tmp_path / "good.png")
    buffer = io.BytesIO()
    noise(64, 64).save(buffer, "JPEG")
    (tmp_path / "half.jpg").write_bytes(buffer.getvalue()[: buffer.tell() // 2])
    buffer = io.BytesIO()
    noise(64, 64).save(buffer, "PNG")
    (tmp_path / "half.png").write_bytes(buffer.getvalue()[: buffer.tell() // 2])
    (tmp_path / "empty.png").write_bytes(b"")
    (tmp_path / "text.png").write_text("no picture")
    noise(9, 9).save(tmp_path / "changed.png")
    Image.fromarray(np.ones((4, 4), np.float32)).save(tmp_path / "float.tif")
    names = ["half.jpg", "half.png", "empty.png", "text.png", "missing.png", "float.tif", "changed.png"]
    path = manifest(tmp_path, "good.png", *names)
    noise(9, 9, seed=1).save(tmp_path / "changed.png")
    with pytest.raises(ValueError) as caught:
        write_pixels(path, PLAIN, tmp_path / "out.npy")
    message = str(caught.value)
    assert message.startswith("7 of the 8 images") and "repair or remove" in message and "good.png" not in message
    assert all(f"{tmp_path / name}: " in message for name in names)
    assert "empty.png: the file is empty" in message and "missing.png: no such image" in message
    assert "changed since the manifest" in message and "32-bit grey" in message
    assert not list(tmp_path.glob("*.npy")) and not list(tmp_path.glob(".*part"))


def test_wrong_transforms_and_caches_are_refused(tmp_path):
    with pytest.raises(ValueError, match="'resize': expected 'shortest' or 'squash', got 'crop'"):
        transform_image(noise(), {**PLAIN, "resize": "crop"})
    with pytest.raises(ValueError, match="size must be at least 1"):
        transform_image(noise(), {**PLAIN, "size": 0})
    with pytest.raises(FileNotFoundError, match="no such image file"):
        read_image(tmp_path / "none.png", "ignore")
    with pytest.raises(FileNotFoundError, match="no pixel cache"):
        open_pixels(tmp_path / "none.npy")
    np.save(tmp_path / "other.npy", np.zeros((2, 3)))
    with pytest.raises(ValueError, match="is no pixel cache: float64"):
        open_pixels(tmp_path / "other.npy")
