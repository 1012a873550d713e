"""Chunks and processes give the gradient of the whole batch, with dropout, and where a GPU lacks room on the way."""

from copy import deepcopy

import pytest
import torch
from torch import nn
from torch.nn.functional import dropout

from hnclip import processes
from hnclip.gradients import Chunk, chunked, whole

ROWS, TOKENS = 7, 5


class Rows(nn.Module):
    """Rows encoded alone, at random where `rate` is above 0; a pass of more than `room` rows finds no room."""

    def __init__(self, rate=0.0):
        super().__init__()
        torch.manual_seed(1)
        self.pixel, self.word = nn.Linear(4, 6), nn.Linear(3, 6)
        self.frozen, self.scale = nn.Linear(4, 6).requires_grad_(False), nn.Parameter(torch.tensor(2.0))
        self.rate = rate
        self.seen: list[tuple[int, bool]] = []
        self.room = {True: ROWS, False: ROWS}  # with and without gradient
        self.double()

    def forward(self, batch):
        graph = torch.is_grad_enabled()
        rows = len(batch["image"])
        self.seen.append((rows, graph))
        image = dropout(self.pixel(batch["image"]).tanh(), self.rate)
        if rows > self.room[graph]:
            raise torch.OutOfMemoryError("no room")
        words = dropout(self.word(batch["text"]).tanh(), self.rate)
        inside = torch.arange(words.shape[1]) < batch["text_length"][:, None]
        text = (words * inside[..., None]).sum(1)
        return {"image": image, "text": text, "words": words, "inside": inside, "fixed": self.frozen(batch["image"])}

    def losses(self, z):
        scores_NN = self.scale * z["image"] @ (z["text"] + z["fixed"]).T
        words = (z["words"] @ z["image"].mean(0)).masked_fill(~z["inside"], 0)
        return {"pairs": -scores_NN.log_softmax(1).diagonal().mean(), "words": words.square().mean(0).sum()}


def batch_of(rows=ROWS):
    random = torch.Generator().manual_seed(0)
    drawn = {"image": (rows, 4), "text": (rows, TOKENS, 3)}
    batch = {key: torch.randn(shape, dtype=torch.float64, generator=random) for key, shape in drawn.items()}
    return {**batch, "text_length": torch.tensor([3, 1, 5, 2, 4, 1, 2])[:rows]}


def taken(model):
    return {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}


def gradient(model, take=whole, **given):
    model.zero_grad()
    torch.manual_seed(5)
    terms = take(model, model.losses, batch_of(), torch.Tensor.backward, 0.5, **given)
    return taken(model) | terms


def same(found, expected):
    assert found.keys() == expected.keys()
    for name in expected:
        torch.testing.assert_close(found[name], expected[name], rtol=1e-12, atol=1e-13, msg=name)


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 100])
def test_chunks_give_the_gradient_and_the_terms_of_the_whole_batch(chunk):
    model = Rows()
    same(gradient(model, chunked, chunk=chunk), gradient(model))
    assert "frozen.weight" not in taken(model)


def test_parts_are_even_in_rows_and_length_and_the_last_is_encoded_once():
    model, lengths = Rows(), []
    encode = lambda batch: (lengths.append(batch["text_length"].tolist()), model(batch))[1]  # noqa: E731
    chunked(encode, model.losses, batch_of(), torch.Tensor.backward, 1.0, chunk=3)
    assert lengths == [[3, 1], [4, 2], [5, 2, 1], [4, 2], [3, 1]]
    assert [graph for _, graph in model.seen] == [False, False, True, True, True]


def test_gradients_add_to_those_of_batches_before():
    model = Rows()
    expected = gradient(model)
    for chunk in (2, Chunk(2, list(model.parameters()))):
        gradient(model)
        chunked(model, model.losses, batch_of(), torch.Tensor.backward, 0.5, chunk=chunk)
        same(taken(model), {name: 2 * expected[name] for name in taken(model)})


@pytest.mark.parametrize("chunk", [2, 3, 7])
def test_random_draws_are_those_of_the_embeddings(chunk):
    """Against all parts encoded one after the other with their graphs."""
    model, batch = Rows(rate=0.4), batch_of()
    found = gradient(model, chunked, chunk=chunk)
    state = torch.get_rng_state()
    model.zero_grad()
    torch.manual_seed(5)
    split = {2: [[3], [0, 5], [1, 4], [2, 6]], 3: [[0, 1], [4, 6], [2, 3, 5]], 7: [range(7)]}[chunk]
    parts = [model({key: value[[*part]] for key, value in batch.items()}) for part in split]
    order = torch.tensor([row for part in split for row in part])
    z = {key: torch.cat([part[key] for part in parts])[order.argsort()] for key in parts[0]}
    (0.5 * sum(model.losses(z).values())).backward()
    same({name: found[name] for name in taken(model)}, taken(model))
    assert torch.equal(state, torch.get_rng_state())  # what is drawn next is as if rows were encoded once
    same(gradient(model, chunked, chunk=chunk), found)
    assert (found["pixel.weight"] - gradient(Rows(), chunked, chunk=chunk)["pixel.weight"]).abs().max() > 1e-3


def test_what_is_not_finite_adds_nothing():
    model = Rows()
    for take, given in ((whole, {}), (chunked, {"chunk": 2})):
        with torch.no_grad():
            model.scale.fill_(float("inf"))
        found = gradient(model, take, **given)
        assert found.keys() == {"pairs", "words"} and not torch.isfinite(sum(found.values()))


@pytest.mark.parametrize(("with_graph", "without"), [(2, 7), (1, 7), (7, 2), (2, 1)])
def test_rows_without_room_are_encoded_in_halves(capsys, with_graph, without):
    model = Rows(rate=0.4)
    model.room = {True: with_graph, False: without}
    chunk = Chunk(6, list(model.parameters()))
    found = gradient(model, chunked, chunk=chunk)
    said = capsys.readouterr().out.splitlines()
    assert chunk.rows <= min(with_graph, without) and chunk.rows >= 1
    assert len(said) == len(set(said)) and said[0].startswith("chunk: the GPU has no room to encode 4 rows at once, 2 ")
    assert len(said) == 1 + (chunk.rows == 1)
    model.seen.clear()
    same(gradient(model, chunked, chunk=chunk), found)  # the draws too, and nothing fails or is said again
    assert capsys.readouterr().out == "" and max(rows for rows, _ in model.seen) <= chunk.rows
    same(gradient(Rows(rate=0.4), chunked, chunk=chunk.rows), found)


class NoRoomOnce(torch.autograd.Function):
    """Fails in the backward pass of the first chosen rows, when weights after it have their gradients already."""

    left = 0

    @staticmethod
    def forward(ctx, value):
        ctx.rows = len(value)
        return value.clone()

    @staticmethod
    def backward(ctx, gradient):
        if NoRoomOnce.left and ctx.rows > 1:
            NoRoomOnce.left -= 1
            raise torch.OutOfMemoryError("no room")
        return gradient


@pytest.mark.parametrize("failures", [1, 2, 4])
def test_a_part_that_fails_on_its_way_back_adds_nothing_before_it_is_repeated(capsys, failures):
    """The gradients of an earlier batch are there, and a weight's is added before the part fails."""
    model = Rows()
    expected = gradient(model)
    reached: list[int] = []
    model.word.weight.register_post_accumulate_grad_hook(lambda _: reached.append(NoRoomOnce.left))

    def encode(batch):
        text = NoRoomOnce.apply(batch["text"].requires_grad_(torch.is_grad_enabled()))
        return model({**batch, "text": text})

    chunk = Chunk(4, list(model.parameters()))
    gradient(model)
    reached.clear()
    NoRoomOnce.left = failures
    terms = chunked(encode, model.losses, batch_of(), torch.Tensor.backward, 0.5, chunk=chunk)
    same(taken(model) | terms, {n: (1 if n in terms else 2) * value for n, value in expected.items()})
    assert reached[0] == failures  # it had its gradient from the part that then failed
    assert NoRoomOnce.left == 0 and len(capsys.readouterr().out.splitlines()) == (1 if chunk.rows == 2 else 2)


def test_where_no_room_can_be_made_it_is_said_what_to_set():
    model = Rows()
    model.room = {True: 0, False: 7}
    with pytest.raises(ValueError, match="a step of 7 rows at once: set `chunk` in the recipe below 7"):
        gradient(model)
    with pytest.raises(ValueError, match="no room to encode one row: set `checkpoint_activations: true`"):
        gradient(model, chunked, chunk=Chunk(4, list(model.parameters())))
    with pytest.raises(torch.OutOfMemoryError):
        gradient(model, chunked, chunk=4)

    def losses(z):
        raise torch.OutOfMemoryError("no room")

    with pytest.raises(ValueError, match="comparisons of 7 rows, beside 4 rows encoded: set `tile`"):
        chunked(Rows(), losses, batch_of(), torch.Tensor.backward, 1.0, chunk=4)


class _Once(torch.autograd.Function):
    """What gathering does to the own rows: padded later axes, and the gradient times the processes."""

    @staticmethod
    def forward(ctx, own, others, at, world):
        ctx.own, ctx.world = own.shape, world
        ctx.at = at
        found = others.clone()
        found[(at, *map(slice, own.shape[1:]))] = own
        return found

    @staticmethod
    def backward(ctx, gradient):
        return gradient[(ctx.at, *map(slice, ctx.own[1:]))] * ctx.world, None, None, None


@pytest.mark.parametrize("take", [{}, {"chunk": 2}, {"chunk": 1}])
@pytest.mark.parametrize(("rows", "world"), [(7, 2), (7, 4), (2, 3)])
def test_the_mean_over_processes_is_the_gradient_of_one(monkeypatch, take, rows, world):
    """Each process in turn, with the others' embeddings at hand; some have no row, and shorter captions than all."""
    model, batch = Rows(), batch_of(rows)
    method = chunked if take else whole
    terms = method(model, model.losses, batch, torch.Tensor.backward, 1.0, **take)
    expected = taken(model)
    everything = {key: value.detach() for key, value in model(batch).items()}
    mean = {name: torch.zeros_like(value) for name, value in expected.items()}
    monkeypatch.setattr(processes, "world", lambda: world)
    for rank in range(world):
        own = processes.share(rows, rank, world)
        mine = {key: value[own] if own.stop > own.start else value[:1] for key, value in batch.items()}
        mine["text"] = mine["text"][:, : int(mine["text_length"].max())]
        monkeypatch.setattr(processes, "rank", lambda rank=rank: rank)
        monkeypatch.setattr(
            processes,
            "gathered",
            lambda z, rows, own=own: {k: _Once.apply(value, everything[k], own, world) for k, value in z.items()},
        )
        model.zero_grad()
        found = method(model, model.losses, mine, torch.Tensor.backward, 1.0, rows=rows, **take)
        same(found, terms)
        got = taken(model)
        assert got.keys() == expected.keys()
        assert own.stop > own.start or not got["pixel.weight"].any()
        mean = {name: mean[name] + got[name] / world for name in mean}
    same(mean, expected)


def test_rows_that_do_not_fit_the_share_are_refused(monkeypatch):
    monkeypatch.setattr(processes, "world", lambda: 2)
    model = deepcopy(Rows())
    with pytest.raises(ValueError, match="of 2 processes each must say"):
        whole(model, model.losses, batch_of(), torch.Tensor.backward, 1.0)
    with pytest.raises(ValueError, match="process 0 of 2 was given 7 rows of a batch of 9; its share is 5"):
        chunked(model, model.losses, batch_of(), torch.Tensor.backward, 1.0, chunk=2, rows=9)
