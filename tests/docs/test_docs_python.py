"""The Python blocks of the pages run, as far as they are whole; those that tests of their own run are named."""

import pytest
from docs_pages import PAGES, blocks
from PIL import Image

pytestmark = pytest.mark.slow

ELSEWHERE = {  # tests that take these pages' blocks apart
    "adding_a_framework.md": "tests/test_adding_a_framework.py",
    "adding_a_loss.md": "tests/test_adding_a_loss.py",
    "benchmarks.md": "tests/test_adding_a_benchmark.py",
}
BLOCKS = [
    block
    for page in PAGES
    for block in blocks(page)
    if block.language == "python" and page.name not in (*ELSEWHERE, "api.md")
]
IMPORTS = {
    line
    for block in blocks(next(page for page in PAGES if page.name == "api.md"))
    for line in block.text.split("\n")[:1]
}
# What a reader has at hand already.
AT_HAND = """
import torch
from torch.nn.functional import normalize
image_features, text_features = (normalize(torch.randn(4, 8), dim=-1) for _ in range(2))
logit_scale = torch.tensor(100.0)
"""


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.page}:{block.line}")
def test_a_block_runs(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for colour in ("red", "blue") if "mkdir" not in block.text else ():
        (tmp_path / "photos").mkdir(exist_ok=True)
        Image.new("RGB", (60, 50), colour).save(tmp_path / "photos" / f"{colour}.png")
    names = {"__name__": "docs"}
    exec(AT_HAND, names)
    before = set(names)
    exec(compile(block.text, f"{block.page}:{block.line}", "exec"), names)
    assert set(names) > before


@pytest.mark.parametrize("line", sorted(IMPORTS))
def test_what_the_api_lists_is_imported_so(line):
    names = {}
    exec(line, names)
    assert len(names) == 2, line
