"""A language model behind a local server: its answers are kept, its failures told by caption."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from world import manifest_row

from hnclip.data.derive import lexicon
from hnclip.data.derive.language_model import KEY, LanguageModel, answer_path, rewrite
from hnclip.data.manifest import write_manifest
from hnclip.store import read_json


class Server(ThreadingHTTPServer):
    """Answers with the caption without `red`; fails on captions in `broken`, is empty on those in `silent`."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked, self.keys, self.broken, self.silent, self.flaky = [], set(), set(), set(), set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        caption = sent["messages"][-1]["content"]
        self.server.asked.append(sent)
        self.server.keys.add(self.headers.get("Authorization"))
        failed = self.path != "/v1/chat/completions" or caption in self.server.broken | self.server.flaky
        self.server.flaky.discard(caption)
        answer = "  " if caption in self.server.silent else caption.replace("red ", "") + "\n"
        data = json.dumps({"choices": [{"message": {"content": answer}}]}).encode()
        self.send_response(500 if failed else 200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def model(server, **more) -> LanguageModel:
    return LanguageModel(server.url, "m", **{"pause": 0.0, "tries": 2, **more})


def test_each_caption_is_asked_once_and_kept(server, tmp_path, monkeypatch):
    monkeypatch.delenv(KEY, raising=False)
    captions = ["a red dog", "a red cat"]
    for _ in range(2):
        assert rewrite(captions, model(server), ("colours", "textures"), tmp_path) == ["a dog", "a cat"]
    assert sorted(sent["messages"][1]["content"] for sent in server.asked) == ["a red cat", "a red dog"]
    assert "any word for colours or textures." in server.asked[0]["messages"][0]["content"]
    assert server.asked[0]["model"] == "m" and server.keys == {None}
    rewrite(captions, model(server, prompt="Other"), ("colours",), tmp_path)
    assert len(server.asked) == 4


def test_equal_captions_are_asked_once(server, tmp_path):
    captions = ["a red dog"] * 40 + ["a red cat"]
    assert rewrite(captions, model(server), ("colours",), tmp_path) == ["a dog"] * 40 + ["a cat"]
    assert len(server.asked) == 2


def test_the_key_comes_from_the_environment_and_is_kept_nowhere(server, tmp_path, monkeypatch):
    monkeypatch.setenv(KEY, "hidden")
    rewrite(["a red dog"], model(server), ("colours",), tmp_path)
    assert server.keys == {"Bearer hidden"}
    assert not any("hidden" in path.read_text() for path in tmp_path.iterdir())


def test_failures_are_named_and_the_answers_that_came_are_kept(server, tmp_path):
    server.broken, server.silent, server.flaky = {"red one"}, {"red two"}, {"red four"}
    captions = ["red one", "red two", "red three", "red four"]
    with pytest.raises(ValueError, match="gave no answer") as caught:
        rewrite(captions, model(server), ("colours",), tmp_path)
    message = str(caught.value)
    assert "row 0: 'red one': HTTPError: HTTP Error 500" in message and "row 1: 'red two': an empty answer" in message
    assert "row 2" not in message and "row 3" not in message and str(tmp_path) in message
    assert len(list(tmp_path.iterdir())) == 2 and len(server.asked) == 7
    server.broken, server.silent = set(), set()
    assert rewrite(captions, model(server), ("colours",), tmp_path) == ["one", "two", "three", "four"]
    assert len(server.asked) == 9


def test_it_stops_at_the_first_failures_of_a_server_that_is_away(server, tmp_path):
    captions = [f"red {number}" for number in range(100)]
    server.broken = set(captions)
    with pytest.raises(ValueError, match="row 15: ") as caught:
        rewrite(captions, model(server, parallel=1, tries=1), ("colours",), tmp_path)
    assert "row 16" not in str(caught.value) and len(server.asked) == 16


def test_the_command_takes_the_models_answers(server, tmp_path):
    captions = ["A red dog runs home.", "red dog", "Nothing to do here, dog."]
    write_manifest(tmp_path / "m.parquet", [manifest_row(text, "i.png", text, "train") for text in captions])
    entry = {"remove": ["colours"], "llm": {"url": server.url, "model": "m"}}
    lexicon.write(tmp_path / "m.parquet", entry, tmp_path / "l.parquet", tmp_path / "l.json")
    assert lexicon.read_lexicon(tmp_path / "l.parquet") == ["A dog runs home.", "red dog", captions[2]]
    counts = {"captions": 3, "words_removed_mean": 0.33, "unchanged": 2, "kept_original": 1}
    assert read_json(tmp_path / "l.json").items() >= counts.items()
    assert len(list((tmp_path / "l.answers").iterdir())) == 3


def test_answers_are_told_apart_by_all_that_was_asked(tmp_path):
    asked = [("m", "p", "c"), ("n", "p", "c"), ("m", "q", "c"), ("m", "p", "d"), ("m", "pc", "")]
    assert len({answer_path(tmp_path, *one) for one in asked}) == len(asked)


@pytest.mark.parametrize(("option", "value"), [("url", "localhost:8000"), ("parallel", 0), ("tries", 0)])
def test_impossible_options_are_refused(option, value):
    with pytest.raises(ValueError, match=option):
        LanguageModel(**{"url": "http://x/v1", "model": "m", option: value})
