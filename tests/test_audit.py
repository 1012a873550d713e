"""Audits: what they measure, and that the audited run is the run itself."""

import json

import pandas as pd
import pytest
import torch
from pyarrow import parquet
from safetensors.torch import load_file
from world import entry_of, make_cell

from hnclip import audit, train
from hnclip.audit import Auditor
from hnclip.checkpoint import Progress
from hnclip.frameworks import names
from hnclip.options import from_dict
from hnclip.store import read_json, write_json, write_tensors

PLAIN = {"base": "infonce", "boost": "none"}
BOOSTED = {"base": "infonce", "boost": "captions", "gamma": 0.5}
ENTRY = {"every": 2, "plain": PLAIN, "boosted": BOOSTED, "precisions": ["32-true", "16-mixed", "bf16-mixed"]}


@pytest.fixture
def audited(tmp_path):
    """Trains and audits a cell; the audit's rows and its metadata."""

    def make(options=None, between=lambda run: None, **changes):
        config, run = make_cell(tmp_path, **changes)
        train.main(config, run)
        between(run)
        write_json(tmp_path / "audit.json", {**ENTRY, **(options or {})})
        out = tmp_path / "audit.parquet"
        audit.main(config, tmp_path / "audit.json", run, out)
        return pd.read_parquet(out), json.loads(parquet.read_schema(out).metadata[b"audit"])

    return make


FAST = ("longclip", "lora")
KINDS = [kind if kind in FAST else pytest.param(kind, marks=pytest.mark.slow) for kind in names()]


@pytest.mark.parametrize("kind", KINDS)
def test_an_audited_run_ends_with_the_same_weights(audited, kind):
    rows, _ = audited({"every": 1}, framework=entry_of(kind), loss=BOOSTED, recipe={"epochs": 1})
    assert rows["same_weights"].all()
    assert set(rows["precision"]) == {"32-true", "16-mixed", "bf16-mixed"}
    exact = rows[rows["precision"] == "32-true"]
    assert (exact["update_norm"] > 0).all() and rows.loc[rows["precision"] != "32-true", "update_norm"].isna().all()
    assert exact[["norm_plain", "norm_boosted"]].gt(0).all(axis=None) and exact["cosine"].abs().le(1 + 1e-9).all()


@pytest.mark.parametrize(
    "recipe",
    [
        {"chunk": 3, "batch": 8},
        pytest.param({"precision": "bf16-mixed"}, marks=pytest.mark.slow),
        pytest.param({"accumulate": 2}, marks=pytest.mark.slow),
        pytest.param({"checkpoint_every": 1}, marks=pytest.mark.slow),
    ],
)
def test_every_recipe_ends_with_the_same_weights(audited, recipe):
    rows, _ = audited(loss=BOOSTED, recipe=recipe, framework=entry_of("hnclip"))
    assert rows["same_weights"].all()


def with_dropout(monkeypatch):
    """Adapters that drop half of what they read, in every trainer of the test."""
    whole = train.framework_of

    def framework(*given):
        made = whole(*given)
        dropped = [module.lora_dropout for module in made.modules() if hasattr(module, "lora_dropout")]
        for module in dropped:
            module["default"] = torch.nn.Dropout(0.5)
        assert dropped
        return made

    monkeypatch.setattr(train, "framework_of", framework)


@pytest.mark.parametrize("chunk", [None, pytest.param(2, marks=pytest.mark.slow)])
def test_dropout_draws_what_it_would_without_the_audit(audited, monkeypatch, chunk):
    with_dropout(monkeypatch)
    rows, _ = audited(framework=entry_of("lora"), recipe={"chunk": chunk}, options={"every": 1, "boosted": PLAIN})
    assert rows["same_weights"].all()
    exact = rows[rows["precision"] == "32-true"]
    assert exact["loss_plain"].to_list() == pytest.approx(exact["loss_trained"].to_list(), rel=1e-5)
    assert (exact["cosine"] > 1 - 1e-6).all()


@pytest.mark.slow
def test_a_loss_that_draws_draws_the_same(audited):
    shuffled = {"base": "infonce", "boost": "shuffled", "gamma": 0.5}
    rows, _ = audited({"every": 1, "boosted": shuffled}, loss=shuffled)
    assert rows["same_weights"].all()
    exact = rows[rows["precision"] == "32-true"]
    assert exact["loss_boosted"].to_list() == pytest.approx(exact["loss_trained"].to_list(), rel=1e-5)


def test_weights_of_another_run_are_told(audited):
    def tamper(run):
        tensors = load_file(run / "weights.safetensors")
        tensors["logit_scale"] = tensors["logit_scale"] + 1e-6
        write_tensors(run / "weights.safetensors", tensors, {})

    rows, _ = audited(between=tamper)
    assert not rows["same_weights"].any()


def test_steps_epochs_and_pairs(audited):
    rows, record = audited({"every": 3}, recipe={"epochs": 3}, pairs=13)
    exact = rows[rows["precision"] == "32-true"]
    assert exact["step"].to_list() == [0, 3, 6] and exact["epoch"].to_list() == [0, 1, 2]
    assert exact["pairs"].to_list() == [4, 4, 4]  # 4, 4 and 5 an epoch
    assert record["refused"] == {} and record["audit"]["every"] == 3 and record["steps_an_epoch"] == 3


def prepared(tmp_path, **changes):
    config, run = make_cell(tmp_path, **changes)
    auditor = Auditor(read_json(config), run, from_dict(audit.Audit, ENTRY, "audit"))
    auditor.progress = Progress()
    return auditor, next(auditor.data.epoch_steps(0))[0]


def by_hand(image_ND, text_ND, scale, gamma):
    """Eq. 2 of arXiv 2608.18521 with loops."""
    count, loss = len(image_ND), 0.0
    for i in range(count):
        for query, other in ((image_ND, text_ND), (text_ND, image_ND)):
            logits = [
                scale * (query[i] @ other[j] + gamma * (i != j) * (text_ND[i] @ text_ND[j]).detach())
                for j in range(count)
            ]
            loss = loss + torch.logsumexp(torch.stack(logits), 0) - logits[i]
    return loss / (2 * count)


def test_losses_norms_cosine_and_gap_are_those_of_the_definition(tmp_path):
    auditor, images = prepared(tmp_path)
    row = auditor._measure(images)[0]
    batch, _ = auditor._pairs(images)
    weights = [weight for weight in auditor.framework.parameters() if weight.requires_grad]
    flat = {}
    for side, gamma in (("plain", 0.0), ("boosted", 0.5)):
        z = auditor.framework(batch)
        loss = by_hand(z["image"], z["text"], auditor.framework.backbone.scale(), gamma)
        assert row[f"loss_{side}"] == pytest.approx(loss.item(), rel=1e-5)
        flat[side] = torch.cat([grad.flatten() for grad in torch.autograd.grad(loss, weights)]).double()
        assert row[f"norm_{side}"] == pytest.approx(float(flat[side].norm()), rel=1e-4)
        assert row[f"zeros_{side}"] == pytest.approx(float((flat[side] == 0).double().mean()), abs=1e-3)
    cosine = torch.cosine_similarity(flat["plain"], flat["boosted"], dim=0)
    assert row["cosine"] == pytest.approx(float(cosine), abs=1e-4)
    cosine_NN = z["image"] @ z["text"].T
    gaps = [
        cosine_NN[i, i] - max(direction[i, j] for j in range(len(images)) if j != i)
        for i in range(len(images))
        for direction in (cosine_NN, cosine_NN.T)
    ]
    assert row["gap"] == pytest.approx(float(sum(gaps).detach() / len(gaps)), abs=1e-6)


def test_a_batch_taken_in_chunks_has_the_same_gradient(tmp_path):
    whole, images = prepared(tmp_path / "whole", recipe={"batch": 8})
    parts, _ = prepared(tmp_path / "parts", recipe={"batch": 8, "chunk": 3})
    a, b = whole._measure(images)[0], parts._measure(images)[0]
    for key in ("loss_plain", "norm_plain", "loss_boosted", "norm_boosted", "gap"):
        assert a[key] == pytest.approx(b[key], rel=1e-4)


def test_a_measurement_leaves_no_gradient_and_no_random_state(tmp_path):
    auditor, images = prepared(tmp_path, framework=entry_of("hnclip"))
    before = torch.get_rng_state()
    auditor._measure(images)
    assert torch.equal(before, torch.get_rng_state())
    assert all(weight.grad is None for weight in auditor.framework.parameters())


def test_the_method_s_own_weights_count_as_zero_where_the_global_term_does_not_reach_them(tmp_path):
    auditor, images = prepared(tmp_path, framework=entry_of("finelip"))
    found = auditor._gradient(images, "plain", "32-true")
    assert None in found.values and found.weights == sum(weight.numel() for weight in auditor._trained())


@pytest.mark.parametrize("precision", ["32-true", "16-mixed"])
def test_a_solved_batch_has_an_exactly_zero_gradient_in_fp16_long_before_fp32(tmp_path, precision):
    """A loss of some 1e-10: the gradient of embeddings underflows where it is handed on in fp16."""
    auditor, images = prepared(tmp_path)
    weak = lambda image_ND, text_ND, *_, **__: 1e-10 * (image_ND * text_ND).sum()  # noqa: E731
    auditor.terms["plain"] = weak
    found = auditor._gradient(images, "plain", precision)
    assert (found.zeros() == 1) == (precision == "16-mixed")
    assert (found.norm == 0) == (precision == "16-mixed")


def test_a_loss_that_is_not_finite_is_measured_as_no_number(tmp_path):
    auditor, images = prepared(tmp_path)
    auditor.terms["boosted"] = lambda image_ND, *_, **__: image_ND.sum() * torch.inf
    row = auditor._measure(images)[0]
    assert pd.isna([row["norm_boosted"], row["zeros_boosted"], row["cosine"]]).all() and row["norm_plain"] > 0


def test_a_precision_that_the_device_refuses_is_left_out_and_told(audited, monkeypatch):
    whole = audit.gradient

    def refusing(framework, batch, step, term, precision, chunk):
        if precision == "16-mixed":
            raise RuntimeError("no fp16 here\nat all")
        return whole(framework, batch, step, term, precision, chunk)

    monkeypatch.setattr(audit, "gradient", refusing)
    rows, record = audited()
    assert set(rows["precision"]) == {"32-true", "bf16-mixed"} and rows["same_weights"].all()
    assert record["refused"] == {"16-mixed": "no fp16 here"}


def test_a_loss_with_a_scale_of_its_own_is_measured_at_it(tmp_path):
    config, run = make_cell(tmp_path)
    found = {}
    for scale in (None, 5.0):
        options = {**ENTRY, "plain": {**PLAIN, "scale": scale}}
        auditor = Auditor(read_json(config), run, from_dict(audit.Audit, options, "audit"))
        auditor.progress = Progress()
        found[scale] = auditor._measure(next(auditor.data.epoch_steps(0))[0])[0]
    assert found[None]["loss_boosted"] == found[5.0]["loss_boosted"]
    assert found[None]["loss_plain"] != found[5.0]["loss_plain"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"every": 0}, "at least 1, not 0"),
        ({"precisions": ["16-mixed"]}, "names 32-true"),
        ({"precisions": ["32-true", "8-true"]}, "option 'precisions'"),
        ({"often": 3}, "unknown option 'often'"),
        ({"plain": {"base": "infonces"}}, "did you mean 'infonce'"),
        ({"boosted": {"boost": "frozen", "gamma": 0.5}}, "needs the frozen embeddings"),
    ],
)
def test_a_wrong_audit_is_refused(audited, options, words):
    with pytest.raises(ValueError, match=words):
        audited(options, recipe={"epochs": 1})


def test_a_framework_without_its_global_term_is_refused(audited):
    with pytest.raises(ValueError, match="asked 0 times for its global image-caption term"):
        audited(framework=entry_of("finelip", global_weight=0.0), recipe={"epochs": 1})


def test_an_unfinished_run_is_refused(tmp_path):
    config, run = make_cell(tmp_path)
    write_json(tmp_path / "audit.json", ENTRY)
    with pytest.raises(FileNotFoundError, match="no finished run"):
        audit.main(config, tmp_path / "audit.json", run, tmp_path / "audit.parquet")
    assert not (tmp_path / "audit.parquet").exists()
