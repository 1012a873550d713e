"""Any runs compared, by made-up ranks: shared targets, seeds, refusals."""

import json
from pathlib import Path

import numpy
import pandas
import pytest
from typer.testing import CliRunner

from hnclip.cli.app import app
from hnclip.report import compare_runs
from hnclip.report.contrast import contrast
from hnclip.report.statistics import count_hits, difference
from hnclip.store import write_json, write_rows


def ranks(skill: float, seed: int, target: str = "own/test", items: int = 60) -> pandas.DataFrame:
    frames = []
    for number, direction in enumerate(("t2i", "i2t")):
        found = numpy.random.default_rng([seed, number]).random(items) < skill
        ids = [f"{item:03d}" for item in range(items)]
        frames.append(
            pandas.DataFrame({"target": target, "direction": direction, "query": ids, "id": ids, "family": ids})
        )
        frames[-1]["rank"] = numpy.where(found, 0, 3).astype("int32")
        frames[-1]["gallery"] = numpy.int32(items)
    return pandas.concat(frames, ignore_index=True).assign(scoring="cosine")


def made(folder: Path, loss: str, seed: int, skill: float, content: str = "a", **more) -> str:
    cell = f"tiny/own/longclip/{loss}/f100/s{seed}"
    config = {"cell": cell, "seed": seed, "loss": {"name": loss}, "data": {"train": {"name": "own/train"}, "test": []}}
    config["data"]["train"]["manifest"] = "own/train.parquet"
    files = {"own/train.parquet": content}
    write_json(folder / cell / "run.json", {"cell": cell, "config": config, "files": files})
    write_rows(folder / cell / "ranks.parquet", ranks(skill, seed, **more))
    return str(folder / cell)


def told(*arguments: str):
    return CliRunner().invoke(app, ["compare", *arguments])


def test_seeds_of_a_method_are_compared_together_as_a_study_does(tmp_path):
    plain = [made(tmp_path, "infonce", seed, 0.3) for seed in (1, 2)]
    boosted = [made(tmp_path, "hn", seed, 0.6) for seed in (1, 2)]
    done = told(*plain, *boosted, "--json")
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)["comparisons"]
    sides = [
        pandas.concat(
            [compare_runs.read_run(path).ranks.assign(seed=seed) for path, seed in zip(paths, (1, 2), strict=True)]
        )
        for paths in (boosted, plain)
    ]
    expected = contrast(difference(*(count_hits(side, 1) for side in sides)), 2000)
    assert row["difference"] == pytest.approx(100 * expected.score) and row["p"] == pytest.approx(expected.p)
    assert (row["a"], row["b"], row["seeds"]) == ("hn", "infonce", [1, 2]) and row["difference"] > 0


def test_further_captions_are_compared_where_all_ranked_them(tmp_path):
    runs = [made(tmp_path, loss, 1, 0.5) for loss in ("infonce", "hn")]
    for run in runs:
        write_rows(Path(run) / "eval" / "mine.parquet", ranks(0.4, 3, "mine/all"))
    write_rows(Path(runs[1]) / "eval" / "other.parquet", ranks(0.4, 3, "other/all"))
    done = told(*runs)
    assert done.exit_code == 0, done.output
    assert "own/test" in done.stdout and "mine/all" in done.stdout and "other/all" not in done.stdout
    assert "Not compared on other/all" in done.stderr and "One seed of infonce, hn" in done.stderr


def test_single_runs_of_different_seeds_are_said_to_be(tmp_path):
    plain, boosted = made(tmp_path, "infonce", 1, 0.3), made(tmp_path, "hn", 2, 0.6)
    done = told(plain, boosted)
    assert "Different seeds: hn has seed 2 and infonce has seed 1." in done.stderr
    found = json.loads(told(plain, boosted, "--json").stdout)
    assert [row["same_seeds"] for row in found["comparisons"]] == [False]
    assert any(note.startswith("Different seeds: hn has seed 2") for note in found["notes"])
    found = json.loads(told(plain, made(tmp_path, "hn", 1, 0.6), "--json").stdout)
    assert [row["same_seeds"] for row in found["comparisons"]] == [True]
    assert not any("Different seeds" in note for note in found["notes"])


def test_seeds_of_one_side_alone_are_left_out_and_named(tmp_path):
    plain = [made(tmp_path, "infonce", seed, 0.3) for seed in (1, 2, 3)]
    boosted = [made(tmp_path, "hn", seed, 0.6) for seed in (2, 3, 4, 5)]
    found = json.loads(told(*plain, *boosted, "--json").stdout)
    assert found["comparisons"][0]["seeds"] == [2, 3] and found["comparisons"][0]["same_seeds"]
    assert found["notes"] == [
        "Seeds that only one side has are left out of hn against infonce: 4, 5 of hn; 1 of infonce."
    ]


def test_a_frozen_models_ranks_stand_beside_every_seed(tmp_path):
    runs = [made(tmp_path, "hn", seed, 0.7) for seed in (1, 2, 3)]
    write_rows(tmp_path / "zero.parquet", ranks(0.2, 9), {"model": "tiny"})
    done = told(str(tmp_path / "zero.parquet"), *runs, "--json")
    (row,) = json.loads(done.stdout)["comparisons"]
    assert row["seeds"] == [1, 2, 3] and row["b"] == "tiny" and row["verdict"] == "better"


def test_studies_of_one_name_on_other_captions_are_not_one_method(tmp_path):
    mine = [made(tmp_path / "a", "hn", seed, 0.7) for seed in (1, 2)]
    other = [made(tmp_path / "b", "hn", seed, 0.2, content="b") for seed in (1, 2)]
    (row,) = json.loads(told(*mine, *other, "--json").stdout)["comparisons"]
    assert (row["a"], row["b"], row["seeds"]) == (other[0], mine[0], [1, 2])


def test_every_pair_is_judged_on_request_and_p_values_adjusted(tmp_path):
    runs = [made(tmp_path, loss, 1, skill) for loss, skill in (("infonce", 0.3), ("hn", 0.6), ("margin", 0.5))]
    rows = json.loads(told(*runs, "--all", "--json").stdout)["comparisons"]
    assert {(row["a"], row["b"]) for row in rows} == {("hn", "infonce"), ("margin", "infonce"), ("margin", "hn")}
    assert all(row["p_adjusted"] >= row["p"] for row in rows)
    assert len(json.loads(told(*runs, "--json").stdout)["comparisons"]) == 2


@pytest.mark.parametrize("items", [50, 60])
def test_other_queries_or_galleries_are_refused_by_name(tmp_path, items):
    runs = [made(tmp_path, "infonce", 1, 0.5), made(tmp_path, "hn", 1, 0.5, items=items)]
    if items == 60:
        other = ranks(0.5, 1)
        write_rows(Path(runs[1]) / "ranks.parquet", other.assign(query=other["query"] + "x"))
    done = told(*runs)
    assert isinstance(done.exception, ValueError) and "/hn/f100/s1" in str(done.exception)


def test_a_target_with_other_queries_is_left_out_where_there_is_another(tmp_path):
    runs = [made(tmp_path, "infonce", 1, 0.5), made(tmp_path, "hn", 1, 0.5, items=50)]
    for run in runs:
        write_rows(Path(run) / "eval" / "mine.parquet", ranks(0.4, 3, "mine/all"))
    done = told(*runs, "--json")
    assert [row["target"] for row in json.loads(done.stdout)["comparisons"]] == ["mine/all"]
    assert "Not compared on own/test: files of one target" in done.stdout


def test_what_cannot_be_compared_is_said(tmp_path):
    first = made(tmp_path, "infonce", 1, 0.5)
    other = made(tmp_path, "hn", 1, 0.5, target="else/test")
    assert "share no test split" in str(told(first, other).exception)
    assert "one method" in str(told(first).exception)
    for name in ("junk.parquet", "junk.txt"):
        (tmp_path / name).write_text("junk")
        assert f"{name} is no Parquet file" in str(told(first, str(tmp_path / name)).exception)
    assert "same seed" in str(told(first, first).exception)
    assert "neither the folder" in str(told(first, str(tmp_path / "no")).exception)
    for loss in ("hn", "infonce"):
        made(tmp_path, loss, 4, 0.5)
    above = [str(tmp_path / "tiny/own/longclip" / loss) for loss in ("hn", "infonce")]
    said = str(told(*above, first).exception)
    assert f"{above[0]} is neither the folder of a finished run" in said
    assert f"the runs below it: {above[0]}/f100/s1, {above[0]}/f100/s4\n" in said
    assert f"{above[1]} is neither" in said and said.endswith(f"{above[1]}/f100/s1, {above[1]}/f100/s4")
    for seed in (5, 6, 7):
        made(tmp_path, "hn", seed, 0.5)
    assert str(told(above[0], first).exception).endswith(f"{above[0]}/f100/s6 and others")
    several = [made(tmp_path, "infonce", 2, 0.5), made(tmp_path, "hn", 3, 0.5)]
    assert "no seed is shared" in str(told(first, *several).exception)
