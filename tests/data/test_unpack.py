"""Archives from elsewhere: whole or nothing, and never outside their folder."""

import gzip
import io
import shutil
import stat
import tarfile
import zipfile
from collections import namedtuple
from pathlib import Path

import pytest

from hnclip.data.archives import PADDING
from hnclip.data.members import Limits
from hnclip.data.unpack import is_unpacked, unpack

FILES = {"images/a.jpg": b"a" * 5000, "images/é.jpg": b"", "./list.json": b"[1]"}


def tar_bytes(members, mode: str = "w") -> bytes:
    """A tar of `members`: names with contents, or TarInfo items."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=mode) as tar:
        for member in members.items() if isinstance(members, dict) else members:
            if isinstance(member, tarfile.TarInfo):
                tar.addfile(member, io.BytesIO(b"x" * member.size) if member.isreg() else None)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                tar.addfile(info, io.BytesIO(member[1]))
    return data.getvalue()


def zip_bytes(members: dict[str, bytes], mode: int = 0) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    return data.getvalue()


def item(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


WAYS = {"tar": tar_bytes, "tar.gz": lambda members: tar_bytes(members, "w:gz"), "zip": zip_bytes}


def put(folder: Path, data: bytes) -> Path:
    path = folder / "archive"  # what it is, its bytes say
    path.write_bytes(data)
    return path


def refusal(folder: Path, data: bytes, limits: Limits | None = None, error: type[Exception] = ValueError) -> str:
    """The message with which an archive is refused; nothing of it is left."""
    archive = put(folder, data)
    with pytest.raises(error) as caught:
        unpack(archive, folder / "out", "0", limits)
    assert [path.name for path in folder.iterdir()] == ["archive"]
    return str(caught.value)


@pytest.mark.parametrize("way", WAYS)
def test_all_files_are_there_and_the_folder_says_so(tmp_path, way):
    out = tmp_path / "folder" / "out"
    assert unpack(put(tmp_path, WAYS[way](FILES)), out, "hash") == 3
    assert {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file() and path.name[0] != "."} == {
        "images/a.jpg",
        "images/é.jpg",
        "list.json",
    }
    assert (out / "images/a.jpg").read_bytes() == FILES["images/a.jpg"]
    assert is_unpacked(out, "hash") and not is_unpacked(out, "other")
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_folders_may_be_empty_and_may_be_listed_twice(tmp_path):
    folder = item("photos/", tarfile.DIRTYPE)
    members = [item("./", tarfile.DIRTYPE), folder, item("photos/a"), folder, item("empty", tarfile.DIRTYPE)]
    assert unpack(put(tmp_path, tar_bytes(members)), tmp_path / "out", "0") == 1
    assert (tmp_path / "out/empty").is_dir()


def test_what_a_killed_run_left_beside_the_folder_goes(tmp_path):
    (tmp_path / ".out.node.7.part").mkdir()
    (tmp_path / ".out.node.7.part/a.jpg").write_bytes(b"half")
    unpack(put(tmp_path, tar_bytes({"b.jpg": b"1"})), tmp_path / "out", "0")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["archive", "out"]
    assert not (tmp_path / "out/a.jpg").exists()


def test_a_new_archive_takes_the_place_of_the_old(tmp_path):
    unpack(put(tmp_path, tar_bytes({"old": b"1"})), tmp_path / "out", "old")
    unpack(put(tmp_path, tar_bytes({"new": b"1"})), tmp_path / "out", "new")
    assert not (tmp_path / "out/old").exists() and is_unpacked(tmp_path / "out", "new")


def test_a_folder_that_an_interrupted_run_left_is_no_unpacked_one(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/a.jpg").write_bytes(b"half")
    assert not is_unpacked(tmp_path / "out", "0")
    unpack(put(tmp_path, tar_bytes(FILES)), tmp_path / "out", "0")
    assert not (tmp_path / "out/a.jpg").exists()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("../out.txt", "leads out"),
        ("a/../../out.txt", "leads out"),
        ("/tmp/out.txt", "absolute"),
        ("C:/out.txt", "absolute"),
        ("a\\..\\out.txt", "leads out"),
        ("a\nb", "no file name"),
        ("a" * 300, "too long"),
    ],
)
def test_names_that_lead_elsewhere_are_refused(tmp_path, way, name, said):
    assert said in refusal(tmp_path, WAYS[way]({"good": b"1", name: b"2"}))


@pytest.mark.parametrize(
    ("member", "said"),
    [
        (item("link", tarfile.SYMTYPE, "/etc/passwd"), "link to '/etc/passwd'"),
        (item("link", tarfile.LNKTYPE, "good"), "link to 'good'"),
        (item("null", tarfile.CHRTYPE), "device"),
        (item("disk", tarfile.BLKTYPE), "device"),
        (item("pipe", tarfile.FIFOTYPE), "device or pipe"),
    ],
)
def test_links_and_devices_are_refused(tmp_path, member, said):
    assert said in refusal(tmp_path, tar_bytes([item("good"), member]))
    assert said in refusal(tmp_path, gzip.compress(tar_bytes([item("good"), member])))


@pytest.mark.parametrize("mode", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO])
def test_links_and_devices_in_a_zip_are_refused(tmp_path, mode):
    assert "link" in (said := refusal(tmp_path, zip_bytes({"a": b"/etc/passwd"}, mode))) or "device" in said


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("names", [("a/B.jpg", "a/b.jpg"), ("A/1", "a/2"), ("é", "e\u0301")])
def test_names_that_differ_only_in_case_are_refused(tmp_path, way, names):
    assert "ignores case" in refusal(tmp_path, WAYS[way](dict.fromkeys(names, b"")))


def test_a_file_that_stands_twice_or_is_a_folder_too_is_refused(tmp_path):
    said = refusal(tmp_path, tar_bytes([("a", b"1"), ("a", b"2"), ("b", b""), ("b/c", b"")]))
    assert "'a' stands there twice" in said and "'b' is both a file and a folder" in said


def test_everything_that_is_wrong_is_named_up_to_a_bound(tmp_path):
    said = refusal(tmp_path, tar_bytes({"good": b"1", **{f"../{number}": b"" for number in range(30)}}))
    assert "'../0'" in said and "'../19'" in said and "and 10 more" in said and "'../20'" not in said


def test_too_many_files_and_too_many_bytes_are_refused(tmp_path):
    assert "more than 2 files" in refusal(tmp_path, tar_bytes(FILES), Limits(2, 10**9))
    for way in WAYS.values():
        assert "too much" in refusal(tmp_path, way(FILES), Limits(10, 4999))


def test_a_bomb_is_refused_by_the_size_of_its_archive(tmp_path):
    bomb = zip_bytes({"zeros": bytes(2**27)})
    assert "too much for an archive of its size" in refusal(tmp_path, bomb)


def test_an_archive_larger_than_the_disk_is_refused(tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10, 0, 10))
    assert "no room" in refusal(tmp_path, tar_bytes(FILES), error=OSError)


@pytest.mark.parametrize("way", WAYS)
def test_a_cut_archive_is_refused_wherever_it_was_cut(tmp_path, way):
    data = WAYS[way]({f"{number}.jpg": bytes([number]) * 700 for number in range(5)})
    ends = range(0, len(data), 64) if way != "tar" else range(0, 5 * 1536 + 1, 512)
    for end in ends:
        assert "archive" in (said := refusal(tmp_path, data[:end])) and ("damaged" in said or "no file" in said), end


@pytest.mark.parametrize("way", [bytes, gzip.compress])
def test_a_tar_with_more_than_zeros_after_its_end_mark_or_with_many_is_refused(tmp_path, way):
    data = tar_bytes({f"{number}.jpg": bytes([1]) * 700 for number in range(5)})
    zeroed = data[:3072] + bytes(len(data) - 3072)
    for after in (b"1", bytes(2000) + b"1" + bytes(600), data):
        assert "data follows its end mark" in refusal(tmp_path, way(data + after))
    assert "data follows its end mark" in refusal(tmp_path, way(zeroed[:-1] + b"1"))
    assert "zeros follow its end mark" in refusal(tmp_path, way(zeroed + bytes(PADDING)))
    assert unpack(put(tmp_path, way(data + bytes(PADDING // 2))), tmp_path / "out", "0") == 5


def test_implied_folders_count_and_may_not_be_deep(tmp_path):
    assert "more than 7 files and folders" in refusal(
        tmp_path, tar_bytes({"a/b/c/d/e/f/1": b"", "2": b""}), Limits(7, 9)
    )
    unpack(put(tmp_path, tar_bytes({"a/b/c/d/e/f/1": b"", "2": b""})), tmp_path / "out", "0", Limits(8, 9))
    shutil.rmtree(tmp_path / "out")
    assert "over 32 levels deep" in refusal(tmp_path, tar_bytes({"good": b"", "a/" * 32 + "b": b""}))


def test_a_tars_headers_are_not_all_kept(tmp_path, monkeypatch):
    opened = []
    original = tarfile.open
    archive = put(tmp_path, tar_bytes({f"{number}": b"" for number in range(50)}))
    monkeypatch.setattr(tarfile, "open", lambda **options: opened.append(original(**options)) or opened[0])
    assert unpack(archive, tmp_path / "out", "0") == 50
    assert len(opened[0].members) <= 1


@pytest.mark.parametrize("way", WAYS)
def test_a_changed_byte_is_no_other_file(tmp_path, way):
    data = bytearray(WAYS[way]({f"{number}.jpg": bytes([number]) * 700 for number in range(5)}))
    place = {"tar": 1536 * 2 + 3, "tar.gz": len(data) - 6, "zip": data.find(b"2.jpg") + 8}[way]
    data[place] ^= 255
    assert "damaged" in refusal(tmp_path, bytes(data))


def test_a_header_that_wants_all_the_memory_is_refused(tmp_path):
    info = item("pax", tarfile.XHDTYPE)
    info.size = 2**32
    header = info.tobuf(tarfile.USTAR_FORMAT)
    assert "announces" in refusal(tmp_path, tar_bytes({"good": b"1"})[:1024] + header + bytes(1024))


def test_a_file_behind_a_password_is_refused(tmp_path):
    data = bytearray(zip_bytes({"a": b"1"}))
    for place in (6, data.index(b"PK\x01\x02") + 8):
        data[place] |= 1
    assert "password" in refusal(tmp_path, bytes(data))


@pytest.mark.parametrize(
    ("data", "said"), [(b"<!DOCTYPE html>", "a web page"), (b"", "empty"), (b"\x89PNG", "begins with")]
)
def test_what_is_no_archive_is_called_so(tmp_path, data, said):
    assert said in refusal(tmp_path, data)
