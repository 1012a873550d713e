"""A pixel cache whose job was killed: the rest is decoded, the bytes are the same; and memory whatever the images."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from PIL import Image
from world import TRANSFORM, make_split

from hnclip.data import bounded as bounding
from hnclip.data import decoded as decoding
from hnclip.data import folder_checks, stack
from hnclip.data import pixels as caches
from hnclip.data.bounded import Room, bounded
from hnclip.data.images import decode
from hnclip.data.manifest import read_manifest, write_manifest
from hnclip.data.pixels import open_pixels, write_pixels
from hnclip.data.problems import Problems
from hnclip.data.rows import Row
from hnclip.store import write_json

IMAGES = 12
KILLED = """
import os, signal, sys, time
from hnclip.data import pixels, stack
from hnclip.store import read_json
made, stack.IMAGES, seen = pixels.transform_image, 4, []
def die(image, wanted):
    seen.append(1)
    while len(seen) > 10:
        if any(read_json(path)["images"] == 8 for path in stack.unfinished(out).glob("[!.]*.json")):
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.01)
    return made(image, wanted)
pixels.transform_image = die
manifest, transform, out = map(pixels.Path, sys.argv[1:])
pixels.write_pixels(manifest, read_json(transform), out, threads=1)
"""

# Keeps two groups of images, then waits for the file `go`.
SLOW = """
import sys, time
from hnclip.data import pixels, stack
from hnclip.store import read_json
made, stack.IMAGES, seen = pixels.transform_image, 4, []
def wait(image, wanted):
    seen.append(1)
    while len(seen) > 10 and not pixels.Path("go").exists():
        time.sleep(0.01)
    return made(image, wanted)
pixels.transform_image = wait
manifest, transform, out = map(pixels.Path, sys.argv[1:])
pixels.write_pixels(manifest, read_json(transform), out, threads=1)
"""


@pytest.fixture
def split(tmp_path, monkeypatch):
    """A split of twelve pictures, its whole cache, and the list that every decoded picture's file is put on."""
    record = make_split(tmp_path, "test", IMAGES)
    seen, real = [], decoding.decode

    def counted(data, name, exif):
        seen.append(name)
        return real(data, name, exif)

    monkeypatch.setattr(decoding, "decode", counted)
    monkeypatch.setattr(stack, "IMAGES", 4)
    return tmp_path / "test.parquet", open(record["pixels"], "rb").read(), seen


def stopped(path, out, monkeypatch, after, transform=TRANSFORM):
    """Write the cache until the transform of picture number `after` fails."""
    real, count = caches.transform_image, []

    def transform_image(image, wanted):
        count.append(1)
        if len(count) > after:
            raise KeyboardInterrupt
        return real(image, wanted)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(caches, "transform_image", transform_image)
        write_pixels(path, transform, out, threads=1)


def test_a_killed_job_goes_on_where_it_was(split, tmp_path):
    path, whole, seen = split
    out = tmp_path / "out.npy"
    write_json(tmp_path / "transform.json", TRANSFORM)
    command = [sys.executable, "-c", KILLED, path, tmp_path / "transform.json", out]
    assert subprocess.run(command).returncode == -signal.SIGKILL
    assert not out.exists() and stack.unfinished(out).is_dir()
    write_pixels(path, TRANSFORM, out)
    assert out.read_bytes() == whole and not stack.unfinished(out).exists()
    assert len(seen) == IMAGES - 8


def test_only_the_rest_is_decoded_however_often_it_is_stopped(split, tmp_path, monkeypatch):
    path, whole, seen = split
    out = tmp_path / "out.npy"
    for after in (5, 3, 7):
        stopped(path, out, monkeypatch, after)
    seen.clear()
    write_pixels(path, TRANSFORM, out)
    assert out.read_bytes() == whole
    assert sorted(name.rpartition("/")[2] for name in seen) == [
        "test-10.png",
        "test-11.png",
        "test-8.png",
        "test-9.png",
    ]


def test_another_transform_or_manifest_takes_nothing_over(split, tmp_path, monkeypatch):
    path, whole, seen = split
    out = tmp_path / "out.npy"
    stopped(path, out, monkeypatch, 11, {**TRANSFORM, "resize": "squash"})
    seen.clear()
    write_pixels(path, TRANSFORM, out)
    assert out.read_bytes() == whole and len(seen) == IMAGES
    out.unlink()
    stopped(path, out, monkeypatch, 11)
    rows = read_manifest(path).to_dict("records")
    write_manifest(path, rows[::-1])
    seen.clear()
    write_pixels(path, TRANSFORM, out)
    backwards = np.frombuffer(whole[-open_pixels(out).size :], np.uint8).reshape(open_pixels(out).shape)[::-1]
    assert np.array_equal(open_pixels(out), backwards) and len(seen) == IMAGES


@pytest.mark.parametrize("damage", ["cut", "journal", "no file"])
def test_what_is_damaged_is_made_again(split, tmp_path, monkeypatch, damage):
    path, whole, _ = split
    out = tmp_path / "out.npy"
    stopped(path, out, monkeypatch, 11)
    (part,) = stack.unfinished(out).glob("*.npy")
    (journal,) = stack.unfinished(out).glob("*.json")
    {
        "cut": lambda: os.truncate(part, 200),
        "journal": lambda: journal.write_text("{"),
        "no file": lambda: part.unlink(),
    }[damage]()
    write_pixels(path, TRANSFORM, out)
    assert out.read_bytes() == whole


def test_a_picture_takes_its_bytes_and_no_more(tmp_path):
    """So 9,647 of 224 pixels are 1.45 GB."""
    shape = (3, 224, 224, 3)
    stack.write_stack(tmp_path / "out.npy", shape, "key", lambda start: [[np.zeros(shape[1:], np.uint8)]] * 3)
    assert (tmp_path / "out.npy").stat().st_size == stack._position(shape, 3)
    assert stack._position((9647, *shape[1:]), 9647) < 1.5e9


def test_threads_change_nothing(split, tmp_path):
    path, whole, _ = split
    for threads in (1, 3):
        write_pixels(path, TRANSFORM, tmp_path / "out.npy", threads=threads)
        assert (tmp_path / "out.npy").read_bytes() == whole


def test_few_results_wait_and_a_reader_that_stops_stops_the_work():
    started = []

    def work(item):
        started.append(item)
        return item

    results = bounded(work, range(1000), 4, 2)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    assert len(started) <= 3 + 4
    results.close()
    assert len(started) <= 3 + 4


def test_large_images_are_open_one_at_a_time():
    room, inside, most = Room(10), [], []

    def hold(share):
        with room.taken(share):
            inside.append(share)
            most.append(sum(inside))
            time.sleep(0.002)
            inside.remove(share)

    threads = [threading.Thread(target=hold, args=[share]) for share in (4, 99, 5, 3, 10, 2, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 7 and all(total <= 10 or total == 99 for total in most)


def test_a_persons_own_large_images_are_looked_at_one_at_a_time(tmp_path, monkeypatch):
    inside, most = [], []

    def slow(data, name, exif):
        inside.append(name)
        most.append(len(inside))
        time.sleep(0.002)
        inside.remove(name)
        return decode(data, name, exif)

    monkeypatch.setattr(folder_checks, "decode", slow)
    monkeypatch.setattr(folder_checks, "PIXELS", 100)
    monkeypatch.setattr(bounding, "cpus", lambda: 8)
    rows = [Row("", f"{side}", tmp_path / f"{side}.png", "a", "a", "") for side in range(8, 18)]
    for row in rows:
        Image.new("RGB", (int(row.id), int(row.id))).save(row.path)
    facts = folder_checks.look_at_images(rows, Problems())
    assert most == [1] * 10
    assert [facts[row.path][1:] for row in rows] == [(int(row.id), int(row.id)) for row in rows]


def test_a_job_has_the_cpus_that_it_was_given(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3, 5}, raising=False)
    assert bounding.cpus() == 2
    monkeypatch.delattr(os, "sched_getaffinity")
    assert bounding.cpus() == 64


def test_a_decompression_bomb_is_refused_with_the_way_out(tmp_path, monkeypatch):
    Image.new("RGB", (40, 40)).save(tmp_path / "bomb.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 700)
    with pytest.raises(ValueError, match=r"bomb: more than 1,400 pixels, Pillow's limit .*scale it down"):
        decode((tmp_path / "bomb.png").read_bytes(), "bomb", "ignore")


def test_of_two_jobs_at_once_the_second_waits_and_both_write_the_whole_cache(split):
    manifest, whole, _ = split
    folder = manifest.parent
    write_json(folder / "transform.json", TRANSFORM)
    out = folder / "twice.pixels.npy"
    line = [sys.executable, "-u", "-c", SLOW, manifest, folder / "transform.json", out]
    first = subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, text=True)
    while not list(stack.unfinished(out).glob("[!.]*.json")):
        assert first.poll() is None
        time.sleep(0.02)
    second = subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, text=True)
    assert f"twice.pixels.npy: waiting for process {first.pid} on " in second.stdout.readline()
    (folder / "go").touch()
    first.communicate()
    second.communicate()
    assert first.returncode == second.returncode == 0 and out.read_bytes() == whole
    assert [path.name for path in folder.glob("*twice*")] == [out.name]
