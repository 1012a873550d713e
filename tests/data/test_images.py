import numpy as np
import pytest
from PIL import EpsImagePlugin, Image

from hnclip.data.images import Transform, count_pixels, read_image, transform_image


def noise(width=12, height=9, seed=0, bands=3):
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, bands), dtype=np.uint8)
    return Image.fromarray(pixels[..., 0] if bands == 1 else pixels)


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
    found = transform_image(image, Transform(8, interpolation, resize))
    assert found.dtype == np.uint8 and np.array_equal(found, expected)


def test_wrong_images_and_transforms_are_refused(tmp_path):
    with pytest.raises(ValueError, match="size must be at least 1"):
        Transform(size=0)
    with pytest.raises(FileNotFoundError, match="no such image file"):
        read_image(tmp_path / "none.png", "ignore")


@pytest.mark.parametrize("kind", ["EPS", "PDF", "SVG", "PCX"])
def test_no_other_program_is_started_for_a_file_that_is_called_a_jpg(kind, tmp_path, monkeypatch):
    path, started = tmp_path / "drawing.jpg", []
    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", lambda *arguments, **more: started.append(arguments))
    monkeypatch.setattr(EpsImagePlugin, "gs_binary", "gs")
    if kind == "SVG":
        path.write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    else:
        noise().save(path, format=kind)
    with pytest.raises(ValueError, match=r"drawing\.jpg: .*not a known image format; known: JPEG, PNG"):
        read_image(path, "ignore")
    assert not started


@pytest.mark.parametrize("kind", ["JPEG", "MPO", "PNG", "WEBP", "GIF", "BMP", "TIFF", "PPM"])
def test_a_files_content_tells_what_it_is(kind, tmp_path):
    noise().save(tmp_path / "picture.dat", format=kind)
    assert read_image(tmp_path / "picture.dat", "ignore").size == (12, 9)
    assert count_pixels((tmp_path / "picture.dat").read_bytes()) == 108
