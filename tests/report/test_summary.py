"""The summary says the main result, with N and intervals, and where things lie."""

import dataclasses
import re
import sys
from pathlib import Path

import pytest

from hnclip import store
from hnclip.report import summary as module
from hnclip.report.format import signed
from hnclip.report.load import read_study
from hnclip.report.plugin_table import plugin_table
from hnclip.report.summary import summary


def test_the_main_result_in_plain_words(study, study_json):
    text = summary(study, study_json.parent / "tables")
    lines = text.splitlines()
    assert "on scenes/test (64 t2i queries, 64 i2t queries), last epoch [95% interval]" in lines[1]
    for words in ("zero-shot", "plain", "plain, tuned (s = 17)", "boosted, γ = 0.5", "matched margin, γ = 0.5"):
        assert any(re.match(rf"  {re.escape(words)} +\d+\.\d \[\d+\.\d, \d+\.\d\]", line) for line in lines), words
    asked = [int(line[2]) for line in lines if re.match(r"  [1-5] .*\?", line)]
    assert asked == [1, 2, 3, 4, 5] and "  4 Does it survive a true batch of 128, over seeds? This study has no" in text
    assert lines[lines.index("The boost in every framework, over the seeds that both sides have") + 1].split() == (
        "framework plain boosted difference seeds".split()
    )
    for name, seeds in {"longclip": "1, 2, 3", "hnclip": "1, 2, 3", "finelip": "1, 2"}.items():
        pair = rf"  {name} +\d+\.\d +\d+\.\d +[+−]\d+\.\d \[[+−]\d+\.\d, [+−]\d+\.\d\]  {seeds}"
        assert sum(bool(re.fullmatch(pair, line)) for line in lines) == 1, name
    assert not any(line.startswith("hnclip trained on") for line in lines)
    for place in ("tables/main.md", "figures", "report.html"):
        assert any(line.endswith(place) or place in line for line in lines)
    assert len(lines) < 40 and "\x1b" not in text and all(len(line) <= 120 for line in lines[:-3])


def test_the_printed_score_is_the_ranks_score(study, study_json):
    rows = study.ranks[(study.ranks["framework"] == "zero_shot") & (study.ranks["target"] == "scenes/test")]
    score = f"{100 * (rows['rank'] < 1).mean():.1f}"
    line = next(line for line in summary(study, study_json.parent).splitlines() if line.startswith("  zero-shot"))
    assert line.split()[1] == score


def test_a_pair_is_that_of_its_table(study, study_json):
    rows = plugin_table(study)[1].query("framework == 'finelip' and target == 'scenes/test'").iloc[0]
    line = next(line for line in summary(study, study_json.parent).splitlines() if line.startswith("  finelip"))
    wanted = [f"{(rows[f'{side}_t2i'] + rows[f'{side}_i2t']) / 2:.1f}" for side in ("plain", "boosted")]
    assert line.split()[1:3] == wanted and line.split()[3] == signed(rows["points"])


def test_a_framework_whose_pair_shares_no_seed_is_shown_in_full(study, study_json):
    third, boosted = study.ranks["framework"] == "finelip", study.ranks["loss"] == "hn"
    apart = study.ranks[~third | (boosted & (study.ranks["seed"] == 2)) | (~boosted & (study.ranks["seed"] == 1))]
    text = summary(dataclasses.replace(study, ranks=apart), study_json.parent)
    assert "finelip trained on scenes, from tiny" in text and "\n  finelip " not in text


def test_a_study_without_trained_cells_is_summed_up(study, study_json):
    ranks = study.ranks[study.ranks["framework"] == "zero_shot"]
    text = summary(dataclasses.replace(study, ranks=ranks), study_json.parent)
    assert "  zero-shot  " in text and "  plain" not in text


def test_missing_tables_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"ranks\.parquet.*hnclip\.report\.collect"):
        read_study(tmp_path / "study.json", tmp_path)


def test_the_command_prints_it(study_json, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["summary", str(study_json), str(study_json.parent / "tables")])
    module.main()
    assert capsys.readouterr().out.startswith("Study made\n")


def test_a_study_is_read_from_another_folder_than_that_which_its_paths_start_in(study_json, tmp_path):
    record = store.read_json(study_json)
    for entry in record["choices"]:
        entry["path"] = str(Path(entry["path"]).relative_to(study_json.parent))
    store.write_json(tmp_path / "study.json", record)
    found = read_study(tmp_path / "study.json", study_json.parent / "tables", study_json.parent)
    assert found.choices and found.choices == read_study(study_json, study_json.parent / "tables").choices
