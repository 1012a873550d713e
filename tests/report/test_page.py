"""Pages are whole, load nothing from elsewhere, escape what they print, and bear pictures that cannot be shown."""

import base64
import io
import re
from html.parser import HTMLParser

import numpy
import pytest
from PIL import Image

from hnclip.report.page import escape, page, paragraph, picture, thumbnail


def decoded(source: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(source.partition("base64,")[2])))


def saved(path, size: tuple[int, int], **options):
    pixels = numpy.random.default_rng(1).integers(0, 256, (size[1], size[0], 3), dtype="uint8")
    Image.fromarray(pixels).save(path, **options)
    return path


def test_a_page_is_whole_and_loads_nothing():
    text = page("Near <twins>", paragraph("a & b", "note"))
    assert text.startswith("<!DOCTYPE html>") and text.endswith("</html>\n")
    assert "<title>Near &lt;twins&gt;</title>" in text and '<p class="note">a &amp; b</p>' in text
    assert not re.search(r"https?:|//|@import|url\(|<script|<link", text)
    HTMLParser().feed(text)


def test_what_is_printed_is_escaped():
    assert escape("<b a=\"1\" c='2'>&\x00\x1b") == "&lt;b a=&quot;1&quot; c=&#x27;2&#x27;&gt;&amp;"
    assert escape("é 木\n") == "é 木\n" and escape("two\u00a0words") == "two words"


@pytest.mark.parametrize("size", [(640, 320), (200, 90), (30, 40)])
def test_thumbnails_are_small_and_keep_their_shape(tmp_path, size):
    shown = decoded(thumbnail(saved(tmp_path / "a.png", size)))
    assert max(shown.size) == min(max(size), 200)
    assert shown.size[0] / shown.size[1] == pytest.approx(size[0] / size[1], rel=0.02)


def test_a_small_picture_keeps_its_pixels(tmp_path):
    path = saved(tmp_path / "a.png", (12, 9))
    assert numpy.array_equal(numpy.asarray(decoded(thumbnail(path))), numpy.asarray(Image.open(path)))


def test_a_turned_photograph_stands_upright(tmp_path):
    turned = Image.Exif()
    turned[0x0112] = 6
    assert decoded(thumbnail(saved(tmp_path / "a.jpg", (40, 20), exif=turned))).size == (20, 40)


def test_a_palette_picture_is_shown(tmp_path):
    Image.new("P", (5, 5)).save(tmp_path / "a.png")
    assert picture(tmp_path / "a.png", "a square", truth=True).endswith(' alt="a square" class="truth">')


def test_a_picture_that_cannot_be_shown_says_so_without_its_folder(tmp_path):
    lacking = picture(tmp_path / "lost & found.png", "words")
    assert "no picture: lost &amp; found.png is not here" in lacking and str(tmp_path) not in lacking
    (tmp_path / "spoiled.png").write_bytes(b"\x89PNG\r\n\x1a\nnothing")
    assert "spoiled.png cannot be read" in picture(tmp_path / "spoiled.png", "words")
    assert 'class="missing truth"' in picture(tmp_path, "words", truth=True)


def test_what_is_transparent_lies_on_white(tmp_path):
    clear = Image.new("RGBA", (4, 4), (255, 0, 0, 0))
    clear.putpixel((0, 0), (0, 0, 255, 255))
    clear.save(tmp_path / "clear.png")
    shown = decoded(thumbnail(tmp_path / "clear.png")).convert("RGB")
    assert shown.getpixel((0, 0)) == (0, 0, 255) and shown.getpixel((3, 3)) == (255, 255, 255)
