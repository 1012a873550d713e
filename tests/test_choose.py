"""The setting of a tuned loss: the best on validation after the last epoch, and never by a test split."""

import json
import subprocess
import sys

import pandas
import pytest

from hnclip.choose import choose
from hnclip.tuning import best, entry_of, is_tuned, settings, settle

ENTRY = {"base": "infonce", "boost": "captions", "gamma": [0.25, 0.5], "scale": [17, None]}
TARGET = "made/validation"


def write_log(folder, scores: list[float], test: float = 0.0) -> None:
    """A log of one evaluation an epoch: t2i as given, i2t 0.1 above; on the test split always `test`."""
    folder.mkdir(parents=True)
    rows = [{"kind": "train", "epoch": 0, "target": None, "t2i_r1": None, "i2t_r1": None}]
    for epoch, score in enumerate(scores):
        rows.append({"kind": "eval", "epoch": epoch, "target": TARGET, "t2i_r1": score, "i2t_r1": score + 0.1})
        rows.append({"kind": "eval", "epoch": epoch, "target": "made/test", "t2i_r1": test, "i2t_r1": test})
    pandas.DataFrame(rows).to_parquet(folder / "log.parquet")


def record_of(folder, names: list[str]) -> dict:
    tried = [{"name": name, "entry": {"scale": number}, "run": str(folder / name)} for number, name in enumerate(names)]
    return {"loss": "some", "seed": 41, "target": TARGET, "settings": tried}


def test_every_combination_is_a_setting_with_a_name_of_its_own():
    found = settings("hn-tuned", ENTRY)
    assert list(found) == [
        "hn-tuned-gamma0_25-scale17", "hn-tuned-gamma0_25-scalelearned",
        "hn-tuned-gamma0_5-scale17", "hn-tuned-gamma0_5-scalelearned",
    ]  # fmt: skip
    assert found["hn-tuned-gamma0_5-scalelearned"] == {"base": "infonce", "boost": "captions", "gamma": 0.5}
    assert found["hn-tuned-gamma0_25-scale17"] == {"base": "infonce", "boost": "captions", "gamma": 0.25, "scale": 17}
    assert is_tuned(ENTRY) and not any(is_tuned(entry) for entry in found.values())
    assert list(settings("x", {"gamma": [-0.5, 1e-05]})) == ["x-gammam0_5", "x-gamma1em05"]


def test_an_entry_is_found_by_its_name_or_by_that_of_a_setting():
    losses = {"hn": {"gamma": [1, 2]}, "hn-tuned": ENTRY, "plain": {"boost": "none"}}
    assert entry_of(losses, "plain") == {"boost": "none"} and entry_of(losses, "hn-tuned") == ENTRY
    assert entry_of(losses, "hn-gamma2") == {"gamma": 2}
    assert entry_of(losses, "hn-tuned-gamma0_5-scale17")["scale"] == 17
    for name in ("hn-tuned-gamma0_5", "plain-gamma1", "hn-gamma3"):
        with pytest.raises(KeyError):
            entry_of(losses, name)


def test_the_last_epoch_on_validation_decides(tmp_path):
    write_log(tmp_path / "early", [0.9, 0.3])
    write_log(tmp_path / "tempting", [0.2, 0.2], test=1.0)
    write_log(tmp_path / "steady", [0.1, 0.4])
    made = choose(record_of(tmp_path, ["early", "tempting", "steady"]))
    assert made["chosen"] == "steady" and [s["name"] for s in made["settings"]] == ["early", "tempting", "steady"]
    assert [s["mean"] for s in made["settings"]] == pytest.approx([0.35, 0.25, 0.45])
    assert settle({"loss": ENTRY, "seed": 1}, made) == {"loss": {"scale": 2}, "seed": 1}


def test_the_first_of_equals_is_taken():
    assert best({"b": 0.5, "a": 0.5, "c": 0.4}) == "b"


def test_a_run_that_was_not_evaluated_on_validation_is_named(tmp_path):
    write_log(tmp_path / "blind", [])
    with pytest.raises(ValueError, match="blind/log.parquet holds no evaluation on made/validation"):
        choose(record_of(tmp_path, ["blind"]))


def test_the_command_chooses_and_settles_without_torch(tmp_path):
    write_log(tmp_path / "only", [0.5])
    record, choice, cell, out = (tmp_path / f"{name}.json" for name in ("record", "choice", "cell", "out"))
    record.write_text(json.dumps(record_of(tmp_path, ["only"])))
    cell.write_text(json.dumps({"cell": "c", "loss": ENTRY}))
    code = "import sys; from pathlib import Path; from hnclip.choose import main\n"
    code += f"main(Path({str(record)!r}), Path({str(choice)!r}), None)\n"
    code += f"main(Path({str(cell)!r}), Path({str(out)!r}), Path({str(choice)!r}))\n"
    code += "assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert json.loads(out.read_text()) == {"cell": "c", "loss": {"scale": 0}}
