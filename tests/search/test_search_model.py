"""The commands with a real model, as a person runs them."""

import json
from random import Random

import pytest
from PIL import Image
from typer.testing import CliRunner

from hnclip.cli.app import app
from hnclip.data.scene import draw, random_scene

pytestmark = pytest.mark.slow


def hnclip(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model") / "photos"
    folder.mkdir()
    random = Random(0)
    for number in range(12):
        Image.fromarray(draw(random_scene(random, 3), 64)).save(folder / f"{number}.png")
    for colour in ("red", "green", "blue"):
        Image.new("RGB", (64, 64), colour).save(folder / f"{colour}.png")
    assert hnclip("index", "tiny", folder).exit_code == 0
    return folder


def test_colours_are_found_by_their_names(photos):
    for colour in ("red", "blue"):
        done = hnclip("search", f"{photos}.index", f"a {colour} square, all {colour}", "--json", "--top", 15)
        ranks = {
            hit["path"].rpartition("/")[2]: hit["rank"] for hit in json.loads(done.stdout)["queries"][0]["results"]
        }
        assert len(ranks) == 15 and all(
            ranks[f"{colour}.png"] < ranks[f"{other}.png"] for other in {"red", "blue"} - {colour}
        )


def test_one_by_one_and_together_give_the_same_embedding(photos):
    from hnclip.encoder import Encoder
    from hnclip.search import open_index

    index = open_index(f"{photos}.index")
    path = photos / "3.png"
    vector_D = Encoder("tiny").images([("3.png", path.read_bytes())])[0]
    assert index.image(path).vector_D @ vector_D == pytest.approx(1, abs=1e-4)


def test_an_update_and_a_page(photos, tmp_path):
    Image.new("RGBA", (50, 90), (250, 250, 0, 99)).save(photos / "cut out.png")
    told = json.loads(hnclip("index", "tiny", photos, "--json").stdout)
    assert (told["added"], told["embedded"], told["unchanged"]) == (1, 1, 15)
    done = hnclip("search", f"{photos}.index", "--image", photos / "cut out.png", "--html", tmp_path / "page.html")
    assert done.exit_code == 0 and "cut out.png" in done.stdout.split("│")[3]
    assert (tmp_path / "page.html").read_text(encoding="utf-8").count("<img") == 11


def test_a_long_query_is_said_to_be_cut(photos):
    done = hnclip("search", f"{photos}.index", "word " * 300)
    assert done.exit_code == 0 and "longer than the model reads" in done.stderr
