"""Downloads recover from what networks and servers do, and never hand on another file."""

import gzip
import hashlib
import shutil
import signal
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path
from threading import Event

import pytest
from file_server import FileServer, serving

from hnclip.data import downloads
from hnclip.data.downloads import download

DATA = bytes(range(256)) * 2000
HASH = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def server(monkeypatch) -> FileServer:
    monkeypatch.setattr(downloads, "PAUSE", 0.0)
    monkeypatch.setattr(downloads, "CHUNK", 1000)
    with serving() as server:
        server.files["photos.tar"] = DATA
        yield server


@pytest.fixture
def target(tmp_path) -> Path:
    return tmp_path / "downloads" / "photos.tar"


def get(server: FileServer, target: Path, sha256: str | None = None) -> None:
    target.parent.mkdir(exist_ok=True)
    download(f"{server.url}/photos.tar", target, sha256)


def ranges(server: FileServer) -> list[str | None]:
    return [asked for _, asked in server.requests]


def parts(target: Path) -> list[str]:
    return sorted(str(path.relative_to(target.parent)) for path in target.parent.rglob("*") if path.is_file())


@pytest.mark.parametrize("sha256", [None, HASH])
def test_a_file_is_whole_and_nothing_else_is_left(server, target, sha256):
    get(server, target, sha256)
    assert target.read_bytes() == DATA and parts(target) == ["photos.tar"]
    assert ranges(server) == [None]


def test_dropped_connections_are_taken_up_where_they_ended(server, target):
    server.faults = [("cut", 100_000), ("cut", 200_000), ("cut", 1500)]
    get(server, target)
    assert target.read_bytes() == DATA
    assert ranges(server) == [None, "bytes=100000-", "bytes=300000-", "bytes=301500-"]


def test_busy_servers_are_asked_again(server, target, capsys):
    server.faults = [500, 503, 429]
    get(server, target)
    assert target.read_bytes() == DATA and len(server.requests) == 4
    assert "answered 503 Service Unavailable; trying again" in capsys.readouterr().out


def test_a_server_that_stays_broken_ends_it_and_what_came_is_kept(server, target):
    server.faults = [("cut", 1000)] + [500] * 20
    with pytest.raises(OSError, match=r"failed 6 times in a row.*answered 500.*1.0 kB are kept, run again"):
        get(server, target)
    assert len(server.requests) == 6
    server.faults = []
    get(server, target)
    assert target.read_bytes() == DATA and ranges(server)[-1] == "bytes=1000-"


def test_a_slow_link_that_brings_something_each_time_is_never_given_up(server, target):
    server.faults = [("cut", 1000)] * 20
    get(server, target)
    assert target.read_bytes() == DATA


def test_a_server_without_ranges_that_cuts_anywhere_is_given_up(server, target):
    server.ranges = False
    server.faults = [("cut", 1000 + number % 3 * 1000) for number in range(100)]
    with pytest.raises(OSError, match="failed 6 times in a row"):
        get(server, target)
    assert len(server.requests) == 8


def test_all_tries_together_are_bounded(server, target, monkeypatch):
    monkeypatch.setattr(downloads, "MOST", 10)
    server.faults = [("cut", 1000)] * 100
    with pytest.raises(OSError, match="failed 10 times, at last.*10.0 kB are kept"):
        get(server, target)


@pytest.mark.parametrize("announces", [True, False])
@pytest.mark.parametrize("name", ["photos.tar.gz", "photos.tar"])
def test_an_encoding_is_undone_only_where_the_file_is_not_compressed_itself(server, target, name, announces):
    server.announces, server.headers = announces, {"Content-Encoding": "gzip"}
    server.files = {name: gzip.compress(DATA)}
    target.parent.mkdir()
    download(f"{server.url}/{name}", target.with_name(name))
    assert target.with_name(name).read_bytes() == (server.files[name] if name.endswith("gz") else DATA)
    assert len(server.requests) == 1


def test_more_than_was_announced_ends_it(server, target):
    target.parent.mkdir()
    server.faults = [("cut", 1000), ("more", 5)] * 20
    with pytest.raises(OSError, match=f"photos.tar: the server sends more than the {len(DATA)} bytes"):
        get(server, target)
    assert parts(target) == []


def test_passwords_in_addresses_are_neither_said_nor_kept(server, target, capsys):
    server.faults = [("cut", 1000), 500, 404]
    target.parent.mkdir()
    with pytest.raises(OSError) as caught:
        download(f"{server.url}/photos.tar".replace("//", "//me:secret@"), target)
    state = (target.parent / ".part" / "photos.tar.json").read_text()
    assert "secret" not in str(caught.value) + capsys.readouterr().out + state


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_an_answer_that_will_not_change_is_not_asked_for_again(server, target, status):
    server.faults = [status] * 2
    with pytest.raises(OSError, match=f"photos.tar: answered {status}"):
        get(server, target)
    assert len(server.requests) == 1


def test_no_server_at_all_is_said(target, monkeypatch):
    monkeypatch.setattr(downloads, "PAUSE", 0.0)
    target.parent.mkdir()
    with pytest.raises(OSError, match="failed 6 times in a row, at last with: ConnectionError"):
        download("http://127.0.0.1:9/photos.tar", target)


def test_the_file_of_another_version_is_begun_anew(server, target):
    server.faults = [("cut", 1000)] + [404]
    with pytest.raises(OSError):
        get(server, target)
    server.files["photos.tar"] = DATA[::-1]
    get(server, target)
    assert target.read_bytes() == DATA[::-1]


@pytest.mark.parametrize("what", ["versions", "ranges", "announces"])
def test_a_server_that_cannot_continue_sends_all_again(server, target, what):
    setattr(server, what, False)
    server.faults = [("cut", 1000)] if server.announces else []
    get(server, target)
    assert target.read_bytes() == DATA


def test_a_known_hash_makes_up_for_a_server_without_versions(server, target):
    server.versions = False
    server.faults = [("cut", 1000)]
    get(server, target, HASH)
    assert target.read_bytes() == DATA and ranges(server) == [None, "bytes=1000-"]


def test_a_wrong_range_is_not_taken(server, target):
    server.faults = [("cut", 1000), ("wrong range", 5)]
    get(server, target)
    assert target.read_bytes() == DATA and ranges(server) == [None, "bytes=1000-", None]


def test_wrong_bytes_are_refused_with_both_hashes_and_not_kept(server, target):
    server.files["photos.tar"] = DATA[:-1] + b"!"
    with pytest.raises(ValueError) as caught:
        get(server, target, HASH)
    assert HASH in str(caught.value)
    assert hashlib.sha256(server.files["photos.tar"]).hexdigest() in str(caught.value)
    assert parts(target) == []


def test_wrong_bytes_before_an_interruption_are_begun_anew(server, target):
    server.versions = False
    server.files["photos.tar"] = DATA[::-1]
    server.faults = [("cut", 1000), 404]
    with pytest.raises(OSError):
        get(server, target, HASH)
    server.files["photos.tar"] = DATA
    with pytest.raises(ValueError):
        get(server, target, HASH)
    get(server, target, HASH)
    assert target.read_bytes() == DATA


def test_what_does_not_fit_on_the_disk_is_not_begun(server, target, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10, 0, 1000))
    with pytest.raises(OSError, match="photos.tar does not fit .* it lacks 512.0 kB, and 1.0 kB are free"):
        get(server, target)
    assert not target.exists()


@pytest.mark.parametrize("state", ["{}", "[]", "{", '{"url": 1, "version": 2, "size": 3}'])
def test_a_spoiled_state_begins_anew(server, target, state):
    server.faults = [("cut", 1000), 404]
    with pytest.raises(OSError):
        get(server, target)
    (target.parent / ".part" / "photos.tar.json").write_text(state)
    get(server, target)
    assert target.read_bytes() == DATA and ranges(server)[-1] is None


def test_a_killed_download_goes_on_where_it_was(server, target):
    target.parent.mkdir()
    server.faults = [("hold", held := Event())]
    code = (
        "import sys; from pathlib import Path; from hnclip.data.downloads import download\n"
        "download(sys.argv[1], Path(sys.argv[2]))"
    )
    child = subprocess.Popen([sys.executable, "-c", code, f"{server.url}/photos.tar", str(target)])
    part = target.parent / ".part" / "photos.tar"
    deadline = time.monotonic() + 30
    while not (part.exists() and part.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.02)
    child.send_signal(signal.SIGKILL)
    child.wait()
    held.set()
    have = part.stat().st_size
    assert 0 < have < len(DATA) and not target.exists()
    get(server, target)
    assert target.read_bytes() == DATA and ranges(server) == [None, f"bytes={have}-"]
    assert parts(target) == ["photos.tar"]
