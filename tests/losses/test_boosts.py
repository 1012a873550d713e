"""Every boost against its definition with loops, and what all boosts promise."""

import pytest
import torch
from torch.nn.functional import cross_entropy, normalize

from hnclip import BoostedClipLoss
from hnclip.losses import boosts
from hnclip.losses.contrastive import info_nce
from hnclip.losses.entry import STRENGTH
from hnclip.losses.objective import BOOSTS, LossEntry, contrastive

N, D, SCALE = 7, 5, 30.0


@pytest.fixture
def pairs():
    torch.manual_seed(0)
    return [normalize(torch.randn(N, D, dtype=torch.float64), dim=-1).requires_grad_() for _ in range(2)]


def offset(name, image, text, gamma=0.5, ids=None):
    extra = {"table_MD": normalize(torch.arange(50.0).view(10, 5).sin(), dim=-1)} if name == "frozen" else {}
    ids = torch.tensor([3, 1, 4, 0, 5, 9, 2]) if ids is None else ids
    return BOOSTS[name](image, text, ids, torch.Generator().manual_seed(1), **{STRENGTH[name]: gamma}, **extra)


@pytest.mark.parametrize("name", BOOSTS)
def test_diagonal_is_zero_and_no_gradient_flows(name, pairs):
    values = offset(name, *pairs)
    assert values.shape == (N, N)
    assert not values.requires_grad
    assert torch.equal(values.diagonal(), torch.zeros(N, dtype=values.dtype))
    assert values.abs().sum() > 0


@pytest.mark.parametrize("name", BOOSTS)
def test_zero_strength_is_info_nce_to_the_bit(name, pairs):
    image, text = pairs
    plain = info_nce(image, text, SCALE)
    boosted = info_nce(image, text, SCALE, offset(name, image, text, gamma=0.0))
    assert torch.equal(plain, boosted)
    assert torch.equal(*(torch.autograd.grad(loss, text, retain_graph=True)[0] for loss in (plain, boosted)))


@pytest.mark.parametrize("name", BOOSTS)
def test_a_boost_leaves_the_embeddings_and_their_gradient_as_they_were(name, pairs):
    image, text = (rows * 1.0 for rows in pairs)  # inside a graph, as a tower's output is
    before = image.detach().clone(), text.detach().clone()
    offset(name, image, text)
    assert torch.equal(image, before[0]) and torch.equal(text, before[1])
    assert torch.equal(torch.autograd.grad(text.sum(), pairs[1])[0], torch.ones(N, D, dtype=torch.float64))


def test_gradient_is_that_of_a_constant_boost(pairs):
    image, text = pairs
    constant = offset("captions", image, text).clone()
    live = contrastive(LossEntry(boost="captions", gamma=0.5), torch.Generator())(image, text, SCALE, torch.arange(N))
    fixed = info_nce(image, text, SCALE, constant)
    assert torch.equal(torch.autograd.grad(live, text)[0], torch.autograd.grad(fixed, text)[0])


def test_captions_against_loops(pairs):
    image, text = (rows.detach() for rows in pairs)
    values = offset("captions", image, text)
    for i in range(N):
        for j in range(N):
            expected = 0.0 if i == j else 0.5 * sum(text[i, d].item() * text[j, d].item() for d in range(D))
            assert values[i, j].item() == pytest.approx(expected, abs=1e-12)


def test_matched_is_gamma_times_the_mean_of_captions(pairs):
    image, text = (rows.detach() for rows in pairs)
    cosines = [float(text[i] @ text[j]) for i in range(N) for j in range(N) if i != j]
    values = offset("matched", image, text)
    away = values[~torch.eye(N, dtype=bool)]
    assert away.tolist() == pytest.approx([0.5 * sum(cosines) / len(cosines)] * len(cosines), abs=1e-12)


def test_images_is_captions_of_the_images(pairs):
    image, text = pairs
    assert torch.equal(offset("images", image, text), offset("captions", text, image))


def test_constant_is_the_margin_for_every_negative(pairs):
    values = offset("constant", *pairs, gamma=0.42)
    expected = [[0.0 if i == j else 0.42 for j in range(N)] for i in range(N)]
    assert values.tolist() == expected


def test_centred_is_the_distance_from_the_mean_of_the_querys_negatives(pairs):
    image, text = (rows.detach() for rows in pairs)
    values = offset("centred", image, text)
    for i in range(N):
        cosines = {j: float(text[i] @ text[j]) for j in range(N) if j != i}
        mean = sum(cosines.values()) / len(cosines)
        for j, cosine in cosines.items():
            assert values[i, j].item() == pytest.approx(0.5 * (cosine - mean), abs=1e-12)
        assert values[i].sum().item() == pytest.approx(0, abs=1e-12)
    assert not torch.equal(values, values.T)


def test_shuffled_deals_each_rows_values_to_its_negatives_anew_each_draw(pairs):
    image, text = pairs
    given = BOOSTS["captions"](image, text, None, None, gamma=0.5)
    generator = torch.Generator().manual_seed(5)
    first, second = (boosts.shuffled(image, text, None, generator, gamma=0.5) for _ in range(2))
    away = ~torch.eye(N, dtype=bool)
    for values in (first, second):
        assert torch.equal(*(kind[away].view(N, N - 1).sort(1).values for kind in (given, values)))
    assert not torch.equal(first, given) and not torch.equal(first, second)
    again = boosts.shuffled(image, text, None, torch.Generator().manual_seed(5), gamma=0.5)
    assert torch.equal(first, again)


def test_shuffled_sends_a_value_to_every_place_alike_often():
    text = normalize(torch.randn(4, 6, generator=torch.Generator().manual_seed(0)), dim=-1)
    given, generator = boosts.captions(text, text, None, None, gamma=1.0), torch.Generator().manual_seed(0)
    places = [boosts.shuffled(text, text, None, generator, gamma=1.0)[2] == given[2, 0] for _ in range(3000)]
    assert torch.stack(places).float().mean(0).tolist() == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3], abs=0.03)


@pytest.mark.parametrize("name", ["matched", "centred", "shuffled", "images", "constant", "captions"])
@pytest.mark.parametrize("count", [1, 2])
def test_the_smallest_batches(name, count):
    text = normalize(torch.randn(count, D), dim=-1)
    values = BOOSTS[name](text, text, None, torch.Generator(), **{STRENGTH[name]: 0.5})
    assert values.shape == (count, count) and torch.isfinite(values).all() and not values.diagonal().any()


def test_frozen_reads_the_rows_of_the_batch():
    table = normalize(torch.randn(10, D, dtype=torch.float64), dim=-1)
    ids = torch.tensor([7, 2, 2])
    values = boosts.frozen(
        torch.zeros(3, D, dtype=torch.float64), torch.zeros(3, D), ids, None, gamma=1.0, table_MD=table
    )
    assert values[0, 1].item() == pytest.approx(float(table[7] @ table[2]), abs=1e-12)
    assert values[1, 2].item() == pytest.approx(1.0, abs=1e-12)


def test_info_nce_against_loops(pairs):
    image, text = (rows.detach() for rows in pairs)
    added = torch.randn(N, N, dtype=torch.float64).fill_diagonal_(0)
    total = 0.0
    for i in range(N):
        by_image = torch.stack([SCALE * (image[i] @ text[j] + added[i, j]) for j in range(N)])
        by_text = torch.stack([SCALE * (text[i] @ image[j] + added[i, j]) for j in range(N)])
        total += cross_entropy(by_image[None], torch.tensor([i])) + cross_entropy(by_text[None], torch.tensor([i]))
    assert info_nce(image, text, SCALE, added).item() == pytest.approx(total.item() / (2 * N), rel=1e-12)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_identical_captions_leave_a_finite_gradient(pairs, smoothing):
    image, text = pairs
    twice = text[torch.tensor([0, 0, 1, 2, 3, 4, 5])]
    loss = info_nce(image, twice, 100.0, offset("captions", image, twice), label_smoothing=smoothing)
    gradient = torch.autograd.grad(loss, text)[0]
    assert torch.isfinite(loss) and torch.isfinite(gradient).all()


def test_drop_in_is_open_clips_loss_at_zero_strength():
    from hnclip.models.openclip import open_clip

    torch.manual_seed(1)
    image, text = (normalize(torch.randn(N, D), dim=-1) for _ in range(2))
    theirs = open_clip().ClipLoss()(image, text, torch.tensor(SCALE), output_dict=True)["contrastive_loss"]
    ours = BoostedClipLoss(gamma=0.0)(image, text, torch.tensor(SCALE), output_dict=True)["contrastive_loss"]
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-6)
