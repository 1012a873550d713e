"""The sentence-transformers loss: theirs at γ = 0, its definition with loops, and steps of their trainer."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.nn.functional import normalize

pytestmark = pytest.mark.slow  # sentence-transformers takes seconds to import
N, D, SCALE = 5, 4, 20.0
TEXTS = {
    "anchor": ["a red box", "the blue ball", "a big cat", "the small dog", "a cat on the box", "the green ball"],
    "positive": ["the red box", "a blue ball", "the big cat", "a small dog", "the cat on a box", "a green ball"],
    "negative": ["a blue box", "a red ball", "a small cat", "the big dog", "a cat under the box", "a green box"],
}


def ours(*arguments, **options):
    from hnclip.integrations.sentence_transformers import BoostedMultipleNegativesRankingLoss

    return BoostedMultipleNegativesRankingLoss(*arguments, **options)


def theirs(*arguments, **options):
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    return MultipleNegativesRankingLoss(*arguments, **options)


def columns(count):
    torch.manual_seed(3)
    return [torch.randn(N, D, dtype=torch.float64, requires_grad=True) for _ in range(count)]


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("boost", ["positives", "anchors"])
def test_zero_strength_is_theirs_with_its_gradients(count, symmetric, boost):
    both = {"directions": ("query_to_doc", "doc_to_query"), "partition_mode": "per_direction"} if symmetric else {}
    rows = columns(count)
    found = ours(None, gamma=0.0, boost=boost, symmetric=symmetric).compute_loss_from_embeddings(rows)
    wanted = theirs(None, **both).compute_loss_from_embeddings(rows, None)
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=0)
    for one, other in zip(torch.autograd.grad(found, rows), torch.autograd.grad(wanted, rows), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)


def by_loops(rows, gamma, boost, symmetric):
    """The definition: unit rows, one anchor after the other."""
    anchor, positive, *hard = [normalize(column, dim=-1) for column in rows]
    candidates = torch.cat([positive, *hard])
    held, like = (positive, candidates) if boost == "positives" else (anchor, anchor)
    total = 0.0
    for i in range(N):
        raised = [
            float(held[i].detach() @ like[j].detach()) if j != i and j < len(like) else 0.0
            for j in range(len(candidates))
        ]
        logits = [SCALE * (anchor[i] @ candidates[j] + gamma * raised[j]) for j in range(len(candidates))]
        loss = -logits[i] + torch.stack(logits).logsumexp(0)
        if symmetric:
            back = [SCALE * (positive[i] @ anchor[j] + gamma * raised[j]) for j in range(N)]
            loss = (loss - back[i] + torch.stack(back).logsumexp(0)) / 2
        total = total + loss / N
    return total


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("boost", ["positives", "anchors"])
def test_against_loops(count, symmetric, boost):
    rows = columns(count)
    options = {"scale": SCALE, "gamma": 0.5, "boost": boost, "symmetric": symmetric}
    found = ours(None, **options).compute_loss_from_embeddings(rows)
    wanted = by_loops(rows, 0.5, boost, symmetric)
    assert abs(wanted.item() - by_loops(rows, 0.0, boost, symmetric).item()) > 0.01
    torch.testing.assert_close(found, wanted, rtol=1e-10, atol=0)
    for one, other in zip(torch.autograd.grad(found, rows), torch.autograd.grad(wanted, rows), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


def test_wrong_use_is_refused():
    with pytest.raises(ValueError, match="scale must be above 0, got 0"):
        ours(None, scale=0)
    with pytest.raises(ValueError, match="unknown boost 'captions'.*known: positives, anchors"):
        ours(None, boost="captions")
    with pytest.raises(ValueError, match="1 column: an anchor and a positive are needed"):
        ours(None).compute_loss_from_embeddings(columns(1))


def trained(model, data, loss, folder):
    """The weights after two steps of their trainer."""
    from datasets import Dataset
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments

    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(folder),
        max_steps=2,
        per_device_train_batch_size=3,
        learning_rate=0.1,
        optim="sgd",  # Adam makes as much of a rounded gradient as of a real one
        report_to=[],
        save_strategy="no",
        use_cpu=True,
        disable_tqdm=True,
        seed=1,
    )
    data = data if isinstance(data, Dataset) else Dataset.from_dict(data)
    SentenceTransformerTrainer(model=model, args=arguments, train_dataset=data, loss=loss).train()
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def difference(one, other):
    return max(float((one[name].float() - other[name].float()).abs().max()) for name in one)


def test_their_trainer_takes_two_steps_on_texts(tmp_path):
    from tiny_models import text_model

    start = text_model(tmp_path / "start").state_dict()
    results = []
    for number, make in enumerate(
        (theirs, lambda model: ours(model, gamma=0.0), ours, lambda model: ours(model, symmetric=True))
    ):
        model = text_model(tmp_path / f"model{number}")
        results.append(trained(model, TEXTS, make(model), tmp_path / f"run{number}"))
    plain, zero, boosted, symmetric = results
    assert difference(start, plain) > 1e-3
    assert difference(plain, zero) < 1e-6
    assert difference(plain, boosted) > 1e-4 and difference(boosted, symmetric) > 1e-4


@pytest.mark.parametrize("captions_first", [False, True])
def test_their_trainer_takes_two_steps_on_pictures_and_captions(tmp_path, captions_first):
    from datasets import Dataset
    from PIL import Image
    from tiny_models import clip_model

    pictures = [Image.new("RGB", (20, 16), colour) for colour in ("red", "blue", "grey", "brown", "white", "green")]
    data = {"image": pictures, "caption": TEXTS["positive"]}
    names = ["caption", "image"] if captions_first else ["image", "caption"]
    data = Dataset.from_dict({name: data[name] for name in names})
    side = "anchors" if captions_first else "positives"
    results = []
    for number, make in enumerate((theirs, lambda model: ours(model, gamma=0.0, boost=side), ours)):
        model = clip_model(tmp_path / f"model{number}")
        results.append(trained(model, data, make(model), tmp_path / f"run{number}"))
    plain, zero, boosted = results
    assert difference(plain, zero) < 1e-6 < difference(plain, boosted)


def test_the_matryoshka_wrapper_takes_it_and_the_card_tells_it(tmp_path):
    from sentence_transformers.sentence_transformer.losses import MatryoshkaLoss
    from tiny_models import text_model

    model = text_model(tmp_path / "model")
    loss = ours(model, gamma=0.3, symmetric=True)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    after = trained(model, TEXTS, MatryoshkaLoss(model, loss, [16, 8]), tmp_path / "run")
    assert difference(before, after) > 1e-3
    told = loss.get_config_dict()
    assert told["gamma"] == 0.3 and told["similarity_fct"] == "cos_sim" and told["symmetric"] is True
    assert "2608.18521" in loss.citation and loss.temperature == 0.05
    trained(model, TEXTS, loss, tmp_path / "again")
    model.save(str(tmp_path / "saved"))
    card = (tmp_path / "saved" / "README.md").read_text(encoding="utf-8")
    assert "BoostedMultipleNegativesRankingLoss" in card and '"gamma": 0.3' in card and "2608.18521" in card


def test_two_processes_that_gather_are_one(tmp_path):
    code = """
import sys, torch
from torch import distributed
from hnclip.integrations.sentence_transformers import BoostedMultipleNegativesRankingLoss
rank = int(sys.argv[1])
distributed.init_process_group("gloo", init_method="file://" + sys.argv[2], rank=rank, world_size=2)
torch.manual_seed(0)
whole = [torch.randn(6, 4, dtype=torch.float64, requires_grad=True) for _ in range(3)]
for side in ("positives", "anchors"):
    options = dict(boost=side, symmetric=True)
    wanted = BoostedMultipleNegativesRankingLoss(None, **options).compute_loss_from_embeddings(whole)
    rows = [column.detach()[3 * rank : 3 * rank + 3].requires_grad_() for column in whole]
    loss = BoostedMultipleNegativesRankingLoss(None, gather_across_devices=True, **options)
    found = loss.compute_loss_from_embeddings(rows)
    everyones = found.detach().clone()
    distributed.all_reduce(everyones)
    torch.testing.assert_close(everyones / 2, wanted.detach())
    for one, other in zip(torch.autograd.grad(found, rows), torch.autograd.grad(wanted, whole)):
        torch.testing.assert_close(one, 2 * other[3 * rank : 3 * rank + 3])
distributed.destroy_process_group()
print("done")
"""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(rank), str(tmp_path / "meet")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    for process in started:
        out, errors = process.communicate(timeout=300)
        assert out == "done\n", errors


def test_without_the_package_the_message_says_what_to_install():
    code = (
        "import sys\nsys.modules['sentence_transformers'] = None\nimport hnclip\n"
        "import hnclip.integrations.sentence_transformers\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "this loss needs sentence-transformers: pip install 'hnclip[sentence-transformers]'" in done.stderr


def test_the_example_runs(tmp_path):
    example = Path(__file__).parents[2] / "examples" / "sentence_transformers_loop.py"
    offline = {**os.environ, "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, example], cwd=tmp_path, capture_output=True, text=True, env=offline)
    assert done.returncode == 0, done.stderr
    assert "each text finds its own: [True, True, True, True, True, True]" in done.stdout
