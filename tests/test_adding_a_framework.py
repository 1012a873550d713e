"""The framework that docs/adding_a_framework.md writes works as it says."""

import re
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml
from world import make_cell

from hnclip import frameworks, train
from hnclip.inputs import ALWAYS, FIELDS

TEXT = (Path(__file__).parents[1] / "docs" / "adding_a_framework.md").read_text(encoding="utf-8")
CODE = re.search(r"```python\n(.*?)```", TEXT, re.DOTALL).group(1)
ENTRY = yaml.safe_load(re.search(r"```yaml\n(.*?)```", TEXT, re.DOTALL).group(1))["frameworks"]["edge_pairs"]


@pytest.fixture
def edge_pairs(tmp_path, monkeypatch):
    """The document's file, in a folder that belongs to the package for a while."""
    (tmp_path / "edge_pairs.py").write_text(CODE)
    monkeypatch.setattr(frameworks, "__path__", [*frameworks.__path__, str(tmp_path)])
    yield
    sys.modules.pop("hnclip.frameworks.edge_pairs", None)


def test_one_file_and_one_entry_train_a_new_framework(tmp_path, edge_pairs):
    assert "edge_pairs" in frameworks.names()
    recipe = {**ENTRY["recipe"], "epochs": 1}
    config, run = make_cell(tmp_path, framework={key: ENTRY[key] for key in ENTRY if key != "recipe"}, recipe=recipe)
    train.main(config, run)
    log = pd.read_parquet(run / "log.parquet")
    terms = log[log["kind"] == "train"]
    assert (terms["loss_global"] > 0).all() and (terms["loss_edge"] > 0).all()
    assert (terms["lr"] <= ENTRY["recipe"]["lr"]).all()


def test_its_options_are_refused_before_anything_runs(edge_pairs):
    with pytest.raises(ValueError, match="here: option 'edge_weight': expected a number, got 'high'"):
        frameworks.check_options("edge_pairs", {**ENTRY["options"], "edge_weight": "high"}, "here")
    frameworks.check_options("edge_pairs", ENTRY["options"], "here")


def test_the_document_names_every_field():
    named = set(re.findall(r"`(\w+)`", TEXT))
    assert {*ALWAYS, *(field for fields in FIELDS.values() for field in fields)} <= named
    assert all(f"`{name}: " in TEXT for name in FIELDS)


def test_the_table_has_every_field_beside_the_input_that_brings_it():
    told, name = {}, ""
    for row in re.findall(r"^\|(.*?)\|( `.*?)\|", TEXT, re.MULTILINE):
        name = row[0].strip() or name
        told.setdefault(re.sub(r"[`:].*", "", name.strip("`")), []).extend(re.findall(r"`(\w+)`", row[1]))
    wanted = {name: sorted(fields) for name, fields in {"always": ALWAYS, **FIELDS}.items()}
    assert {name: sorted(fields) for name, fields in told.items()} == wanted
