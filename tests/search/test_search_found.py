"""What a search finds, and how it is shown: tables, JSON and a page."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from search_stub import Stub, paint
from typer.testing import CliRunner

from hnclip.cli.app import app
from hnclip.search import build, model, open_index
from hnclip.search.gallery import write_gallery

NAMES = ['it\'s "q" & é 図.png', "<script>alert(1).png", "tall.png", "[bold]red[bold].png"]


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("found") / "photos"
    for name, colour in zip(NAMES, ("red", "green", "blue", "white"), strict=True):
        paint(folder / name, colour, (2, 900) if name.startswith("tall") else (30, 20))
    (folder / "same.png").write_bytes((folder / NAMES[1]).read_bytes())
    build(Stub(), folder)
    return folder


@pytest.fixture
def index(photos):
    return open_index(photos.parent / "photos.index", Stub())


@pytest.fixture
def command(photos, monkeypatch):
    """`hnclip search` on the index, with the stub for its model."""
    monkeypatch.setattr(model, "encoder_of", lambda name: Stub())
    monkeypatch.setattr("hnclip.search.index.encoder_of", lambda name: Stub())
    return lambda *arguments: CliRunner().invoke(app, ["search", str(photos.parent / "photos.index"), *arguments])


def test_by_text_by_picture_and_by_vector(index, photos):
    hits = index.search("blue", 3)
    assert hits[0].path == str(photos / "tall.png") and [hit.rank for hit in hits] == [1, 2, 3]
    assert hits[0].cosine == pytest.approx(1, abs=1e-5) and hits[1].cosine < 0.99
    assert index.search(Stub().texts(["red"])[0], 1)[0].path == str(photos / NAMES[0])
    assert len(index.search("red", 99)) == len(index) == 5


def test_a_picture_of_the_index_comes_first_and_needs_no_model(photos):
    index = open_index(photos.parent / "photos.index", "no such model")
    for name in (NAMES[1], "same.png"):  # equal pictures
        first, second = index.search(photos / name, 2)
        assert first.path == str(photos / name) and first.cosine == second.cosine


def test_a_picture_from_elsewhere_is_embedded(index, tmp_path, photos):
    paint(tmp_path / "dark red.png", (200, 0, 0))
    assert index.search(tmp_path / "dark red.png", 1)[0].path == str(photos / NAMES[0])


def test_what_cannot_be_looked_for(index, photos, tmp_path):
    with pytest.raises(ValueError, match="empty query"):
        index.search("  ")
    with pytest.raises(ValueError, match="at least one"):
        index.search("red", 0)
    with pytest.raises(ValueError, match="of 4 numbers, not of shape"):
        index.search(np.ones(3))
    with pytest.raises(ValueError, match="made with stub, which cannot be opened .*--model"):
        open_index(photos.parent / "photos.index").search("red")
    with pytest.raises(FileNotFoundError, match="is no index"):
        open_index(tmp_path)


def test_json_has_all_queries(command, photos, tmp_path):
    (tmp_path / "queries.txt").write_text("green\n\none two three four blue six\n", encoding="utf-8")
    done = command("red", "--queries", str(tmp_path / "queries.txt"), "--image", str(photos / "tall.png"), "--json")
    assert done.exit_code == 0 and "longer than the model reads" in done.stderr
    told = json.loads(done.stdout)
    assert [(one["kind"], one["cut"]) for one in told["queries"]] == [("text", False)] * 2 + [
        ("text", True),
        ("image", False),
    ]
    assert told["queries"][0]["results"][0]["path"] == str(photos / NAMES[0])
    assert set(told["queries"][0]["results"][0]) == {"rank", "cosine", "path", "id", "missing"}


def test_what_a_model_prints_stays_out_of_the_document(command, monkeypatch):
    texts = Stub.texts
    monkeypatch.setattr(Stub, "texts", lambda self, asked: print("waiting for weights") or texts(self, asked))
    done = command("red", "--json")
    assert json.loads(done.stdout)["images"] and "waiting for weights" in done.stderr


def test_the_table_shows_names_as_they_are(command):
    shown = command("white", "--top", "5").stdout
    assert "[bold]red[bold].png" in shown and "<script>alert(1).png" in shown and "é 図.png" in shown


def test_a_search_for_nothing_is_wrong_usage(command):
    assert command().exit_code == 2
    assert command("red", "--top", "0").exit_code == 2


def test_the_page_holds_its_pictures_and_no_script(index, photos, tmp_path):
    gone = photos / "same.png"
    kept = gone.read_bytes()
    gone.unlink()
    try:
        asked = [index.image(photos / "tall.png"), *index.texts(["<i>red</i> & green"])]
        write_gallery(tmp_path / "page.html", index, [(one, index.search(one)) for one in asked])
    finally:
        gone.write_bytes(kept)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    seen = Tags(text)
    assert "script" not in seen.tags and "i" not in seen.tags and not re.search(r"https?:", text)
    assert (
        all(source.startswith("data:image/") for source in seen.all["img", "src"]) and len(seen.all["img", "src"]) == 9
    )
    assert any("%3Cscript%3E" in link for link in seen.all["a", "href"]) and "“<i>red</i> & green”" in seen.words
    assert text.count("the file has gone") == 2


class Tags(HTMLParser):
    """Tags, attributes and words of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: set[str] = set()
        self.all: dict[tuple[str, str], list[str]] = {}
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        for name, value in attrs:
            self.all.setdefault((tag, name), []).append(value)

    def handle_data(self, data):
        self.words += data
