"""Entries of the config: what each kind takes, told without torch."""

import subprocess
import sys

import pytest

from hnclip.data.derive.entries import EdgesEntry, SegmentsEntry
from hnclip.data.derive.segmenters import kinds
from hnclip.options import from_dict


def segments(kind, **options):
    return from_dict(SegmentsEntry, {"kind": kind, "backbone": "tiny", "options": options}, "segments.mine")


def test_each_kind_reads_its_own_options():
    assert kinds() == ["felzenszwalb", "given", "json", "sam"]
    assert segments("given").read_options().area == (0.01, 0.8)
    assert segments("felzenszwalb", scales=[1, 2]).read_options().scales == (1.0, 2.0)
    assert segments("sam", model="x").read_options().points_per_batch == 128
    assert segments("json", path="x").read_options().path == "x"
    assert from_dict(SegmentsEntry, {"kind": "given", "backbone": "tiny"}, "x").options == {}


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("mask", {}, "unknown kind of segments 'mask'.*known: felzenszwalb, given, json, sam"),
        ("given", {"scale": 1}, "segments.mine: options of given: unknown option 'scale'"),
        ("given", {"area": [0.5, 0.1]}, r"area must be \[least, most\]"),
        ("sam", {}, "option 'model' is missing"),
        ("sam", {"model": "x", "points_per_batch": 0}, "at least 1, got 0"),
        ("json", {}, "option 'path' is missing"),
        ("felzenszwalb", {"scales": []}, "one or more numbers above 0"),
        ("felzenszwalb", {"min_size": 0}, "min_size and longest must be at least 1"),
        ("felzenszwalb", {"area": [0, 80]}, "within 0 to 1"),
    ],
)
def test_wrong_segments_are_refused(kind, options, message):
    with pytest.raises(ValueError, match=message):
        segments(kind, **options)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"kind": "canny", "low": 100}, "'canny' needs 'high'"),
        ({"kind": "canny", "low": 1, "high": 2, "sigma": 2}, "'canny' does not read 'sigma'"),
        ({"kind": "canny", "low": 3, "high": 2}, "low must not be above high"),
        ({"kind": "log", "sigma": 2}, "'log' needs 'threshold'"),
        ({"kind": "log", "sigma": 0, "threshold": 1}, "sigma must be above 0"),
        ({"kind": "log", "sigma": 1, "threshold": -1}, "threshold must not be negative"),
        ({"kind": "hed"}, "expected 'canny' or 'log', got 'hed'"),
    ],
)
def test_wrong_edges_are_refused(entry, message):
    with pytest.raises(ValueError, match=message):
        from_dict(EdgesEntry, entry, "edges.mine")


def test_nothing_heavy_is_loaded_to_check_entries_or_to_cut_crops():
    code = (
        "import sys\nfrom hnclip.data.derive import crops, edge_crops, edges, entries, exchange\n"
        "from hnclip.data.derive.segmenters import kinds, segmenter\n"
        "assert [segmenter(kind).Options for kind in kinds()]\n"
        "assert not {'torch', 'open_clip', 'cv2', 'skimage', 'transformers'} & set(sys.modules)\nprint('done')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr
