"""The documentation becomes a site without a network, with every link sound, that loads nothing from elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("site")
    closed = "http://127.0.0.1:9"  # nothing listens there
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)],
        cwd=ROOT,
        env={**os.environ, "http_proxy": closed, "https_proxy": closed, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return out


def test_every_page_is_there_and_the_search_has_them(site):
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")}
    assert pages <= {page.stem for page in site.glob("*.html")}
    index = (site / "search" / "search_index.json").read_text(encoding="utf-8")
    assert all(f"{page}.html" in index for page in pages - {"index"})
    assert not (site / "scripts").exists()


def test_pages_load_nothing_from_elsewhere(site):
    loads = r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?(?:https?:)?//"""
    loads += r"""|<link\b[^>]*\brel=["']?(?:stylesheet|preconnect|icon)[^>]*https?://"""
    for page in site.glob("*.html"):
        assert not re.search(loads, page.read_text(encoding="utf-8")), page.name
    for style in site.rglob("*.css"):
        assert not re.search(r"@import[^;]*//|url\(['\"]?(?:https?:)?//", style.read_text(encoding="utf-8")), style.name


def test_pictures_are_small_and_named_with_their_command():
    told = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md"))
    for picture in (ROOT / "docs" / "images").iterdir():
        assert picture.stat().st_size < 200_000, picture.name
        assert f"images/{picture.name})" in told, picture.name
