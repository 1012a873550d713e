"""Ranks from one pass over blocks: against all scores in float64, ties, blocks, processes, memory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from ranked import CPU, dense_ranks, ragged
from torch.nn.functional import normalize
from world import make_split

from hnclip import exact_scores, processes, rank_counts
from hnclip.rank_counts import both_ranks
from hnclip.store import write_json

BLOCKS = [1, 3, 16, 1000]


def alike(one, other) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("noise", [0.1, 3.0])
def test_ranks_are_those_of_all_scores_in_float64(noise, block):
    image, text, pairs = ragged(23, 8, noise)
    assert alike(both_ranks(image, text, pairs, CPU, block), dense_ranks(image, text, pairs))


def test_larger_than_a_strip_and_a_block():
    image, text, pairs = ragged(700, 16, 1.0)
    assert alike(both_ranks(image, text, pairs, CPU), dense_ranks(image, text, pairs))


def nearly_alike(images: int):
    """Embeddings that fp32 hardly tells apart, among them exact copies."""
    image, text, pairs = ragged(images, 32, 0.3)
    image = normalize(torch.ones(32) + 2e-6 * image, dim=-1)
    text = normalize(torch.ones(32) + 2e-6 * text, dim=-1)
    text[::7] = text[0]
    return image, text, pairs


def test_ranks_do_not_depend_on_the_block_even_where_scores_hardly_differ():
    given = nearly_alike(23)
    first = both_ranks(*given, CPU, BLOCKS[0])
    assert first[0].float().std() > 1  # no plain tie of everything
    for block in BLOCKS[1:]:
        assert alike(both_ranks(*given, CPU, block), first)


def test_few_close_scores_and_whole_exact_blocks_agree(monkeypatch):
    given = nearly_alike(60)
    ranks = {}
    for share in (-1.0, 1.0):  # every block is computed exactly; none is
        monkeypatch.setattr(rank_counts, "CLOSE", share)
        ranks[share] = both_ranks(*given, CPU, 32)
    assert alike(ranks[-1.0], ranks[1.0])


def test_a_wrong_last_bit_of_the_product_changes_no_rank(monkeypatch):
    image, text, pairs = ragged(200, 16, 1.0)
    text[1::2] = text[::2][: len(text[1::2])]  # ties in pairs
    right, exact = both_ranks(image, text, pairs, CPU), torch.mm

    def off(a, b, out):
        exact(a, b, out=out)
        out.mul_(1 + 2e-7 * torch.randn(out.shape, generator=torch.Generator().manual_seed(1)))

    monkeypatch.setattr(torch, "mm", off)
    assert alike(both_ranks(image, text, pairs, CPU), right)


def test_copies_of_an_embedding_tie_wherever_they_stand():
    image = normalize(torch.randn(1, 512, generator=torch.Generator().manual_seed(0)), dim=-1).repeat(37, 1)
    everyone = torch.arange(37)
    for ranks in both_ranks(image, image.clone(), (everyone, everyone), CPU, 5):
        assert (ranks == 36).all()


@pytest.mark.parametrize("width", [1, 31, 512])
def test_an_exact_score_is_the_same_in_any_order(width):
    generator = torch.Generator().manual_seed(width)
    rows = exact_scores.stepped("a", normalize(torch.randn(40, width, generator=generator), dim=-1)).rows_ND
    scale = torch.exp2(torch.randint(-3, 4, (40, 1), generator=generator).float())
    other = exact_scores.stepped("b", torch.randn(40, width, generator=generator) * scale).rows_ND
    turned = torch.randperm(width, generator=generator)
    one, two = rows.double() @ other.double().T, rows[:, turned].double() @ other[:, turned].double().T
    assert torch.equal(one, two)
    first, second = torch.arange(40).repeat_interleave(40), torch.arange(40).repeat(40)
    assert torch.equal(exact_scores.of_pairs(rows, other, first, second).view(40, 40), one.float())


def test_the_margin_holds_for_the_product():
    generator = torch.Generator().manual_seed(0)
    one, two = (normalize(torch.randn(300, 512, generator=generator), dim=-1) for _ in range(2))
    one, two = (exact_scores.stepped("a", rows).rows_ND for rows in (one, two))
    assert ((one @ two.T) - exact_scores.of_block(one, two)).abs().max() < exact_scores.margin(512)


@pytest.mark.parametrize("world", [2, 3])
def test_shares_of_processes_add_up_to_the_whole(monkeypatch, world):
    given, counts = ragged(21, 6, 0.5), {}

    def keep(name):
        return lambda tensor: counts.setdefault(name, tensor.clone())

    monkeypatch.setattr(processes, "summed", keep("one"))
    both_ranks(*given, CPU, 4)
    monkeypatch.setattr(processes, "world", lambda: world)
    for rank in range(world):
        monkeypatch.setattr(processes, "rank", lambda rank=rank: rank)
        monkeypatch.setattr(processes, "summed", keep(rank))
        both_ranks(*given, CPU, 4)
    assert torch.equal(sum(counts[rank] for rank in range(world)), counts["one"])
    assert counts[0].sum() < counts["one"].sum()


@pytest.mark.slow
def test_any_number_of_processes_has_the_same_ranks_and_embeddings(tmp_path):
    write_json(tmp_path / "record.json", make_split(tmp_path / "world", "test", 21, captions_an_image=2))
    found = {}
    for world in (1, 2, 3):
        out = tmp_path / str(world)
        out.mkdir()
        command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(world)]
        command += [Path(__file__).parent / "ranked.py", tmp_path, out]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        ran = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, env=environment)
        assert ran.returncode == 0, ran.stderr[-4000:]
        found[world] = [torch.load(out / f"{rank}.pt", weights_only=True) for rank in range(world)]
    for world in (2, 3):
        assert all(alike(each, found[1][0]) for each in found[world])


def test_embeddings_that_are_not_finite_are_refused():
    bad, everyone = torch.eye(3), torch.arange(3)
    bad[1, 1] = float("nan")
    with pytest.raises(ValueError, match=r"not finite: caption rows \[1\]"):
        both_ranks(torch.eye(3), bad, (everyone, everyone), CPU)


def test_embeddings_too_long_for_fp32_are_refused():
    long, everyone = 1e25 * torch.eye(3), torch.arange(3)
    with pytest.raises(ValueError, match="fp32 cannot hold"):
        both_ranks(long, long, (everyone, everyone), CPU)


def test_a_query_without_anything_relevant_is_refused():
    with pytest.raises(ValueError, match=r"without anything relevant: rows \[2\]"):
        both_ranks(torch.eye(3), torch.eye(3), (torch.tensor([0, 1]), torch.tensor([0, 2])), CPU)


LIMITED = """
import resource, sys, torch
sys.path.insert(0, sys.argv[1])
from ranked import CPU, ragged
from hnclip.rank_counts import both_ranks
torch.set_num_threads(1)
both_ranks(*ragged(50, 16, 1.0), CPU)
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (512 << 20),) * 2)
try:
    torch.empty(20_000, 20_000)
except RuntimeError:
    print("the limit holds")
image = torch.nn.functional.normalize(torch.randn(20_000, 16, generator=torch.Generator().manual_seed(0)), dim=-1)
text = image.roll(1, 1) + image
everyone = torch.arange(20_000)
torch.save([image, text, *both_ranks(image, text, (everyone, everyone), CPU)], sys.argv[2])
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads its address space from /proc")
def test_a_gallery_of_20000_fits_512_mb(tmp_path):
    command = [sys.executable, "-c", LIMITED, str(Path(__file__).parent), str(tmp_path / "ranks.pt")]
    ran = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert ran.returncode == 0 and "the limit holds" in ran.stdout, ran.stderr[-4000:]
    image, text, *ranks = torch.load(tmp_path / "ranks.pt", weights_only=True)
    for one, other, found in ((image, text, ranks[0]), (text, image, ranks[1])):
        for start in range(0, len(one), 2000):
            score = one[start : start + 2000].double() @ other.double().T
            own = (one[start : start + 2000].double() * other[start : start + 2000].double()).sum(-1)
            low, high = ((score > own[:, None] + room).sum(1) for room in (1e-6, -1e-6))  # rounding aside
            own_rank = found[start : start + 2000]
            assert ((low <= own_rank) & (own_rank <= high)).all() and (high - low).float().mean() < 2
