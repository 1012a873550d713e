"""A source's files, from their publisher, a mirror, the hub or a person's disk: checked, unpacked, recorded."""

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from pathlib import Path

import huggingface_hub
import pytest
from file_server import FileServer, serving
from huggingface_hub import constants
from huggingface_hub.errors import HfHubHTTPError

from hnclip.data import downloads, hub, sources
from hnclip.data.fetch import fetch
from hnclip.data.source_options import Options
from hnclip.data.sources import File, Source, fetched
from hnclip.models.longclip import weights_file

LIST = b'{"image": "a.jpg"}\n'


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def tar(**files: bytes) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(f"images/{name}.jpg")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return data.getvalue()


PHOTOS = tar(a=b"photo", b=b"other")


class World:
    """A source `pets` on a local server, fetched into results/downloads/pets."""

    def __init__(self, folder: Path, server: FileServer):
        self.server = server
        self.folder = folder / "results" / "downloads" / "pets"
        self.benchmark = folder / "results" / "data" / "cats"
        server.files = {"list.jsonl": LIST, "photos.tar.gz": PHOTOS}
        self.files = [
            File("list.jsonl", f"{server.url}/list.jsonl", bytes=16, about="one line an image"),
            File("photos.tar.gz", f"{server.url}/photos.tar.gz", bytes=1000, unpack=True),
        ]

    def fetch(self, **options) -> dict:
        source = Source("pets", "https://example.org/pets", "CC BY-NC 4.0", True, tuple(self.files))
        fetch(source, Options(**options), self.folder, self.folder / "fetched.json")
        return json.loads((self.folder / "fetched.json").read_text())

    def refused(self, **options) -> str:
        with pytest.raises((ValueError, OSError)) as caught:
            self.fetch(**options)
        return str(caught.value)

    def lock(self) -> dict:
        return json.loads((self.folder / "lock.json").read_text())["files"]


@pytest.fixture
def world(tmp_path, monkeypatch) -> World:
    monkeypatch.setattr(downloads, "PAUSE", 0.0)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    with serving() as server:
        yield World(tmp_path, server)


def test_the_record_says_what_is_there_under_which_licence(world, capsys):
    record = world.fetch()
    assert record["source"] == "pets" and record["noncommercial"] is True and record["licence"] == "CC BY-NC 4.0"
    assert record["files"]["photos.tar.gz"] == {
        "path": "photos.tar.gz",
        "bytes": len(PHOTOS),
        "sha256": sha256(PHOTOS),
        "from": f"{world.server.url}/photos.tar.gz",
        "unpacked": "photos.tar.gz.unpacked",
    }
    said = capsys.readouterr().out
    assert "licence CC BY-NC 4.0; non-commercial use only" in said and "photos.tar.gz: 2 files" in said
    assert sorted(path.name for path in world.folder.iterdir()) == [
        "fetched.json",
        "list.jsonl",
        "lock.json",
        "photos.tar.gz",
        "photos.tar.gz.unpacked",
    ]


def test_a_preparation_finds_files_and_unpacked_folders(world):
    world.fetch()
    found = fetched(world.benchmark, "pets")
    assert set(found) == {"list.jsonl", "photos.tar.gz", "photos.tar.gz/"}
    assert (found["photos.tar.gz/"] / "images/a.jpg").read_bytes() == b"photo"
    assert found["list.jsonl"].read_bytes() == LIST


def test_a_preparation_is_told_what_was_not_fetched_or_is_gone(world):
    with pytest.raises(
        FileNotFoundError, match="'pets' was not fetched.*snakemake results/downloads/pets/fetched.json"
    ):
        fetched(world.benchmark, "pets")
    world.fetch()
    (world.folder / "list.jsonl").unlink()
    (world.folder / "photos.tar.gz.unpacked").rename(world.folder / "other")
    with pytest.raises(FileNotFoundError) as caught:
        fetched(world.benchmark, "pets")
    assert "list.jsonl" in str(caught.value) and "photos.tar.gz.unpacked/" in str(caught.value)


def test_what_is_there_is_not_fetched_again_and_the_record_stays(world):
    first = world.fetch()
    count = len(world.server.requests)
    unpacked = world.folder / "photos.tar.gz.unpacked" / "images" / "a.jpg"
    state = unpacked.stat().st_mtime_ns
    assert world.fetch() == world.fetch(offline=True) == world.fetch(mirror="http://127.0.0.1:9") == first
    assert len(world.server.requests) == count and unpacked.stat().st_mtime_ns == state


def test_a_file_that_changed_upstream_is_refused_by_the_lock_with_both_hashes(world):
    world.fetch()
    (world.folder / "list.jsonl").unlink()
    world.server.files["list.jsonl"] = b"changed\n"
    said = world.refused()
    assert sha256(LIST) in said and sha256(b"changed\n") in said
    assert "lock.json recorded it at the first download" in said and "delete its entry" in said
    assert not (world.folder / "list.jsonl").exists()
    lock = {name: entry for name, entry in world.lock().items() if name != "list.jsonl"}
    (world.folder / "lock.json").write_text(json.dumps({"files": lock}))
    assert world.fetch()["files"]["list.jsonl"]["sha256"] == sha256(b"changed\n")


def test_a_file_that_changed_on_disk_is_refused_and_kept(world):
    world.fetch()
    (world.folder / "list.jsonl").write_bytes(b"edited")
    assert sha256(LIST) in world.refused() and (world.folder / "list.jsonl").read_bytes() == b"edited"


def test_a_published_hash_is_enforced_from_the_first_download_on(world):
    world.files[0] = File("list.jsonl", f"{world.server.url}/list.jsonl", sha256="0" * 64)
    said = world.refused()
    assert "0" * 64 + ", as published" in said and sha256(LIST) in said and "sha256: {list.jsonl: HASH}" in said
    assert not (world.folder / "fetched.json").exists()
    assert world.fetch(sha256={"list.jsonl": None})["files"]["list.jsonl"]["sha256"] == sha256(LIST)
    assert "the config sets it" in world.refused(sha256={"list.jsonl": "1" * 64})
    world.fetch(sha256={"list.jsonl": sha256(LIST)})


def test_every_file_that_fails_is_named_and_the_others_are_had(world):
    del world.server.files["list.jsonl"]
    world.server.files["photos.tar.gz"] = b"<html>log in</html>"
    world.files.append(File("notes.txt", f"{world.server.url}/notes.txt"))
    world.server.files["notes.txt"] = b"notes"
    said = world.refused()
    assert "2 files could not be had" in said and "list.jsonl: answered 404" in said and "a web page" in said
    assert (world.folder / "notes.txt").read_bytes() == b"notes"
    assert set(world.lock()) == {"notes.txt"}
    assert not (world.folder / "photos.tar.gz").exists()  # no damaged file is taken for a download


@pytest.mark.parametrize(("data", "said"), [(b"\n<html>log in</html>", "a web page"), (LIST[:7], "has 7 bytes where")])
def test_what_is_no_such_file_is_no_hash_for_later_runs(world, data, said):
    world.server.files["list.jsonl"] = data
    assert said in world.refused() and not (world.folder / "list.jsonl").exists()
    world.fetch(sha256={"list.jsonl": sha256(data)})  # which is the way out
    (world.folder / "list.jsonl").unlink()
    (world.folder / "lock.json").unlink()
    if said == "a web page":
        assert said in world.refused(mirror=world.server.url)
    else:
        world.fetch(mirror=world.server.url)  # what it holds may be smaller


def test_passwords_in_addresses_are_neither_said_nor_recorded(world, capsys):
    address = world.server.url.replace("//", "//me:secret@")
    record = world.fetch(mirror=address)
    assert record["files"]["list.jsonl"]["from"] == f"{world.server.url}/list.jsonl"
    assert "secret" not in str(world.lock()) + capsys.readouterr().out


def test_a_damaged_archive_is_no_hash_for_later_runs(world):
    world.server.files["photos.tar.gz"] = PHOTOS[:-9]
    assert "damaged or cut short" in world.refused()
    world.server.files["photos.tar.gz"] = PHOTOS
    assert world.fetch()["files"]["photos.tar.gz"]["sha256"] == sha256(PHOTOS)


def test_an_interrupted_unpacking_is_done_again(world):
    world.fetch()
    (world.folder / "photos.tar.gz.unpacked" / ".unpacked.json").unlink()
    (world.folder / "photos.tar.gz.unpacked" / "images" / "a.jpg").unlink()
    world.fetch()
    assert (fetched(world.benchmark, "pets")["photos.tar.gz/"] / "images" / "a.jpg").exists()


def test_a_mirror_holds_the_files_under_their_names(world):
    world.server.files = {f"mirror/{name}": data for name, data in world.server.files.items()}
    record = world.fetch(mirror=f"{world.server.url}/mirror/")
    assert record["files"]["list.jsonl"]["from"] == f"{world.server.url}/mirror/list.jsonl"


def test_files_of_ones_own_are_checked_and_used_where_they_are(world, tmp_path):
    own = tmp_path / "own.tar.gz"
    own.write_bytes(PHOTOS)
    entry = world.fetch(files={"photos.tar.gz": str(own)})["files"]["photos.tar.gz"]
    assert entry["path"] == entry["from"] == str(own) and entry["sha256"] == sha256(PHOTOS)
    assert not (world.folder / "photos.tar.gz").exists()
    assert (fetched(world.benchmark, "pets")["photos.tar.gz/"] / "images" / "a.jpg").exists()
    own.write_bytes(tar(a=b"another"))
    assert "lock.json recorded it" in world.refused(files={"photos.tar.gz": str(own)}) and own.exists()


def test_an_archive_that_was_unpacked_elsewhere_is_a_folder(world, tmp_path):
    (tmp_path / "mine" / "images").mkdir(parents=True)
    entry = world.fetch(files={"photos.tar.gz": str(tmp_path / "mine")})["files"]["photos.tar.gz"]
    assert entry["sha256"] is None
    assert fetched(world.benchmark, "pets")["photos.tar.gz/"] == tmp_path / "mine"


def test_a_folder_in_place_of_a_file_and_an_empty_one_are_no_files(world, tmp_path):
    (world.folder / "list.jsonl").mkdir(parents=True)
    (world.folder / "photos.tar.gz").mkdir()
    said = world.refused()
    assert f"{world.folder / 'photos.tar.gz'} is a folder; move it away" in said and "list.jsonl is a folder" in said
    (tmp_path / "mine").mkdir()
    said = world.refused(files={"photos.tar.gz": str(tmp_path / "mine"), "list.jsonl": str(tmp_path / "mine")})
    assert "mine is an empty folder" in said and f"there is no file {tmp_path / 'mine'}" in said
    assert world.server.requests == []


@pytest.mark.parametrize("record", ["{}", "[]", '{"files": []}', '{"files": {"list.jsonl": {}}}'])
def test_a_spoiled_lock_is_named(world, record):
    world.folder.mkdir(parents=True)
    (world.folder / "lock.json").write_text(record)
    assert "lock.json" in (said := world.refused()) and "restore it, or delete it" in said


def test_a_damaged_file_in_place_is_named_with_what_to_do(world, tmp_path):
    world.folder.mkdir(parents=True)
    (path := world.folder / "photos.tar.gz").write_bytes(PHOTOS[:-9])
    assert f"to have it fetched again, delete {path}" in world.refused()
    path.unlink()
    (own := tmp_path / "own.tar.gz").write_bytes(PHOTOS[:-9])
    assert f"replace {own}" in world.refused(files={"photos.tar.gz": str(own)})


@pytest.mark.parametrize("how", ["config", "environment"])
def test_offline_everything_to_be_put_in_place_is_said_at_once(world, monkeypatch, how):
    if how == "environment":
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    said = world.refused(offline=how == "config")
    assert "2 files to be put in place by hand, since downloads are off" in said
    assert f"list.jsonl, 16 bytes: put it at {world.folder / 'list.jsonl'}, or name it in the config" in said
    assert "`sources: {pets: {files: {photos.tar.gz: PATH}}}`" in said
    assert f"{world.server.url}/photos.tar.gz" in said and "one line an image" in said
    assert world.server.requests == []
    (world.folder / "list.jsonl").write_bytes(LIST)
    (world.folder / "photos.tar.gz").write_bytes(PHOTOS)
    world.fetch(offline=True)


def test_a_file_behind_a_licence_is_asked_for_before_anything_is_downloaded(world):
    world.files.append(File("shard.tar", None, unpack=True, about="accept the licence at https://example.org"))
    said = world.refused(files={"list.jsonl": "none.jsonl"})
    assert "shard.tar: put it at" in said and "accept the licence at https://example.org" in said
    assert "list.jsonl, 16 bytes: there is no file none.jsonl (sources.pets.files" in said
    assert world.server.requests == []


def test_downloads_that_the_disk_has_no_room_for_are_not_begun(world):
    world.files[1] = File("photos.tar.gz", f"{world.server.url}/photos.tar.gz", bytes=10**15, unpack=True)
    assert "about 2.0 PB are needed" in world.refused() and world.server.requests == []
    world.fetch(mirror=world.server.url)  # of which nothing is known


def test_names_of_no_file_are_refused_with_the_nearest(world):
    said = world.refused(files={"list.json": "x"}, sha256={"photo.tar.gz": None})
    assert "files: unknown file 'list.json' (did you mean 'list.jsonl'?)" in said
    assert "sha256: unknown file 'photo.tar.gz' (did you mean 'photos.tar.gz'?)" in said


def command(folder: Path, config: dict, **environment: str) -> subprocess.CompletedProcess:
    (folder / "source.json").write_text(json.dumps(config))
    return subprocess.run(
        [sys.executable, "-m", "hnclip.data.fetch", "source.json", "out", "out/fetched.json"],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "HF_HOME": str(folder / "hub"), **environment},
    )


def urban() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("Urban1k/caption/1.txt", "A street.")
    return data.getvalue()


def test_the_command_ends_in_one_line_where_a_file_is_lacking(tmp_path):
    done = command(tmp_path, {"source": "dci", "offline": True})
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "dci.tar.gz" in done.stderr and "sa_000138.tar" in done.stderr and "segment-anything" in done.stderr
    done = command(tmp_path, {"source": "docc"})
    assert "unknown source 'docc' (did you mean 'docci'?)" in done.stderr
    assert "unknown option 'mirorr'" in command(tmp_path, {"source": "docci", "mirorr": "x"}).stderr


def test_of_two_commands_at_once_the_second_waits_and_finds_everything(tmp_path):
    with serving() as server:
        server.files["Urban1k.zip"] = urban()
        server.faults = [("hold", finished := threading.Event())]
        (tmp_path / "source.json").write_text(json.dumps({"source": "urban1k", "mirror": server.url}))
        line = [sys.executable, "-u", "-m", "hnclip.data.fetch", "source.json", "out", "out/fetched.json"]
        first = subprocess.Popen(line, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        while not server.requests:
            assert first.poll() is None
            time.sleep(0.02)
        second = subprocess.Popen(line, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        second.stdout.readline()
        assert f"out: waiting for process {first.pid} on " in second.stdout.readline()
        finished.set()  # and the first goes on from its half of the file
        assert "Urban1k.zip: 1 files" in first.communicate()[0]
        assert "downloading" not in second.communicate()[0]
    assert first.returncode == second.returncode == 0
    assert [path for path, _ in server.requests] == ["Urban1k.zip", "Urban1k.zip"]
    names = ["Urban1k.zip", "Urban1k.zip.unpacked", "fetched.json", "lock.json"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == names
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "source.json"]


def test_a_file_of_the_hub_comes_through_its_client_or_its_cache(tmp_path):
    path = "datasets/BeichenZhang/Urban1k/resolve/main/Urban1k.zip"
    with serving() as server:
        server.files[path] = zipped = urban()
        server.headers = {"X-Repo-Commit": "a" * 40}
        done = command(tmp_path, {"source": "urban1k"}, HF_ENDPOINT=server.url, HF_HUB_DISABLE_XET="1")
    assert done.returncode == 0, done.stderr
    entry = json.loads((tmp_path / "out/fetched.json").read_text())["files"]["Urban1k.zip"]
    assert entry["from"] == "hub:datasets/BeichenZhang/Urban1k/Urban1k.zip" and entry["sha256"] == sha256(zipped)
    assert (tmp_path / "out/Urban1k.zip.unpacked/Urban1k/caption/1.txt").exists()


def test_what_the_hubs_client_raises_is_tried_again_and_said_in_one_line(monkeypatch, tmp_path):
    class Cut(HfHubHTTPError.__bases__[0]):  # no OSError with a client of httpx's kind
        def __init__(self):
            Exception.__init__(self, "cut\nat the second line")

    answers = iter([Cut(), RuntimeError("xet"), "path", *[Cut()] * 100])

    def download(*names, **options):
        if isinstance(answer := next(answers), Exception):
            raise answer
        return str(tmp_path / answer)

    monkeypatch.setattr(downloads, "PAUSE", 0.0)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    assert weights_file("hub:a/b/c.pt") == tmp_path / "path"
    with pytest.raises(FileNotFoundError, match=r"\(hub:a/b/c.pt failed 6 times, at last with: cut\)"):
        weights_file("hub:a/b/c.pt")
    with pytest.raises(OSError, match="failed 6 times, at last with: cut$"):
        hub.download_from_hub("hub:datasets/a/b/c.zip", tmp_path / "c.zip")


def test_offline_a_file_in_the_hubs_cache_is_used(tmp_path):
    repository = tmp_path / "hub" / "hub" / "datasets--BeichenZhang--Urban1k"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("a" * 40)
    (repository / "snapshots" / ("a" * 40)).mkdir(parents=True)
    (repository / "snapshots" / ("a" * 40) / "Urban1k.zip").write_bytes(urban())
    done = command(tmp_path, {"source": "urban1k"}, HF_HUB_OFFLINE="1")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out/Urban1k.zip.unpacked/Urban1k/caption/1.txt").exists()


@pytest.mark.parametrize("name", sources.names())
def test_every_source_says_where_it_comes_from(name):
    source = sources.source(name)
    assert source.name == name and source.licence and source.homepage.startswith("https://")
    assert len({file.name for file in source.files}) == len(source.files)
    for file in source.files:
        assert file.about and file.bytes
        assert file.url is None or file.url.startswith(("https://", "hub:datasets/"))
        assert file.url is None or file.url.endswith(f"/{file.name}")
