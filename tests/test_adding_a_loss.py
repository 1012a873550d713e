"""The boost that docs/adding_a_loss.md writes works as it says, and the document names what there is."""

import re
from pathlib import Path

import pandas as pd
import pytest
import torch
import yaml
from torch.nn.functional import normalize
from world import make_cell

from hnclip import train
from hnclip.check import check
from hnclip.losses import boosts, entry, factored, left_out, objective
from hnclip.losses.contrastive import info_nce

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "adding_a_loss.md").read_text(encoding="utf-8")
CODE = re.search(r"```python\n(.*?)```", TEXT, re.DOTALL).group(1)
ENTRY = yaml.safe_load(re.search(r"```yaml\n(.*?)```", TEXT, re.DOTALL).group(1))["losses"]["close"]
N = 6


@pytest.fixture
def close_only(monkeypatch):
    """The document's function, in its three places for a while."""
    names = dict(vars(boosts))
    exec(CODE, names)
    monkeypatch.setitem(objective.BOOSTS, "close_only", names["close_only"])
    monkeypatch.setitem(entry.STRENGTH, "close_only", "gamma")
    return names["close_only"]


@pytest.fixture
def pairs():
    random = torch.Generator().manual_seed(3)
    return [normalize(torch.randn(N, 4, generator=random), dim=-1).requires_grad_() for _ in range(2)]


def test_the_boost_keeps_what_boosts_promise(close_only, pairs):
    given = *pairs, torch.arange(N), torch.Generator()
    found = close_only(*given, gamma=0.5)
    cosine = (pairs[1] @ pairs[1].T).detach()
    away = ~torch.eye(N, dtype=bool)
    mean = cosine[away].mean()
    expected = torch.where(away & (cosine > mean), 0.5 * cosine, torch.zeros(()))
    torch.testing.assert_close(found, expected)
    assert not found.requires_grad and 0 < (found > 0).sum() < away.sum()
    parts = [close_only(*given, gamma=0.5, own=own) for own in (slice(0, 2), slice(2, N))]
    torch.testing.assert_close(torch.cat(parts), found)


def test_the_entry_makes_it_a_loss(close_only, pairs):
    image, text = pairs
    ids, scale = torch.arange(N), torch.tensor(20.0)
    bare = info_nce(image, text, scale)
    terms = [
        objective.contrastive(entry.LossEntry(**ENTRY | {"gamma": gamma}), torch.Generator())(image, text, scale, ids)
        for gamma in (0.0, ENTRY["gamma"])
    ]
    assert torch.equal(terms[0], bare) and terms[1] > bare


def test_the_config_takes_it_once_the_schema_names_it(close_only):
    config = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    schema = yaml.safe_load((ROOT / "workflow" / "schemas" / "config.schema.yaml").read_text(encoding="utf-8"))
    config["losses"]["close"] = ENTRY
    config["grids"]["main"] |= {"losses": ["close"]}
    with pytest.raises(ValueError, match="close_only"):
        check(config, schema)
    schema["$defs"]["loss"]["properties"]["boost"]["enum"].append("close_only")
    check(config, schema)


@pytest.mark.slow
def test_a_cell_trains_with_it(tmp_path, close_only):
    config, run = make_cell(tmp_path, loss=ENTRY, recipe={"epochs": 1})
    train.main(config, run)
    log = pd.read_parquet(run / "log.parquet")
    assert (log[log["kind"] == "train"]["loss_global"] > 0).all()


def test_the_document_names_the_places():
    for path in set(re.findall(r"`((?:src|workflow|tests)/[\w./]+)`", TEXT)):
        assert (ROOT / path).exists(), path
    for name in ("BOOSTS", "BASES"):
        assert f"`{name}`" in TEXT and hasattr(objective, name)
    for name in ("STRENGTH", "BASE_KEYS", "SCALED", "TILED_BOOSTS"):
        assert f"`{name}`" in TEXT and hasattr(entry, name)
    for name in ("LEFT_OUT", "left_out", "not_negative"):
        assert f"`{name}`" in TEXT and hasattr(left_out, name)
    assert "`FACTORED`" in TEXT and factored.FACTORED.keys() == set(entry.TILED_BOOSTS)
