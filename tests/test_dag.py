"""What a change of the config runs again: Snakemake's dry runs after a run in which stubs stand for the commands."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from dag_world import OVERLAY, ROOT, TRANSFORM, Study, changed

from hnclip.commits import WOULD_STOP

OWN = {
    "study": "own",
    "run": ["own"],
    "grids": {
        "own": {
            "backbones": ["tiny"],
            "train": ["own"],
            "frameworks": ["longclip"],
            "losses": ["infonce"],
            "fractions": [100],
            "seeds": [1],
        }
    },
    "benchmarks": {
        "own": {
            "kind": "folder",
            "options": {"captions": "captions é.jsonl", "split_hash": {"train": 80, "validation": 10, "test": 10}},
            "train": "train",
            "validation": "validation",
            "test": ["test"],
        }
    },
}


def with_seeds(*seeds: int) -> dict:
    return changed(grids={"some": {**OVERLAY["grids"]["some"], "seeds": list(seeds)}})


def captions(study: Study) -> Path:
    return study.folder / "captions é.jsonl"


@pytest.fixture(scope="module")
def own(tmp_path_factory) -> Study:
    """A finished study of a person's own captions."""
    made = Study(tmp_path_factory.mktemp("own"))
    captions(made).write_text("first")
    made.snakemake(OWN)
    return made


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Study:
    """A finished study, in a folder with a space and a letter beyond ASCII in its name."""
    folder = tmp_path_factory.mktemp("dag") / "a study ü"
    folder.mkdir()
    made = Study(folder)
    made.snakemake(OVERLAY)
    return made


STUDY = {
    "Record of study dag",
    "Collecting the ranks of study dag",
    "Writing tables",
    "Drawing figures",
    "Writing galleries",
    "Writing the report's first page",
    "The study is finished",
}


def of_cells(*cells: str) -> set[str]:
    return {f"{job} {cell}" for cell in cells for job in ("Config of", "Training")} | {
        f"Evaluating {cell} on scenes-long" for cell in cells
    }


def test_a_finished_study_has_nothing_to_do(study):
    assert study.jobs(OVERLAY) == set()


def test_a_new_gamma_trains_only_the_cells_that_it_boosts(study):
    assert study.jobs(changed(losses={"hn": {"gamma": 0.6}})) == of_cells("hn/s1") | STUDY


@pytest.fixture(scope="module")
def earlier(tmp_path_factory) -> Study:
    """A study of which a cell is trained, by a commit that is not the one of the code that lies here."""
    made = Study(tmp_path_factory.mktemp("earlier"))
    (made.folder / "commit").write_text("a" * 40)
    made.snakemake(OVERLAY, RUN.format("infonce"))
    return made


RUN = "results/dag/runs/tiny/scenes/longclip/{}/f100/s1/run.json"
MIXED = "the cells of study dag would be trained by different commits"


def test_a_dry_run_ends_with_what_would_stop_a_study_of_two_commits(earlier):
    said = earlier.snakemake(OVERLAY, "--dry-run")
    assert "Training tiny/scenes/longclip/hn/f100/s1" in said.partition(MIXED)[0]
    ending = said[said.index(WOULD_STOP) :].splitlines()
    assert ending[1].startswith(MIXED)
    assert ending[2] == f"  {'a' * 40}: tiny/scenes/longclip/infonce/f100/s1"
    assert "tiny/scenes/longclip/hn/f100/s1 (still to train)" in ending[3] and ending[3].count("to train)") == 2
    assert "allow_mixed_commits" in ending[4] and "delete their run folders" in ending[4]


def test_a_study_of_two_commits_is_stopped_before_its_first_job(earlier):
    said = earlier.snakemake(OVERLAY, fails=True)
    assert f":\n{MIXED}" in said and "Training" not in said and "Preparing" not in said
    assert not (earlier.folder / RUN.format("hn")).exists()
    assert MIXED not in earlier.snakemake(OVERLAY, "--dry-run", RUN.format("infonce"))  # nothing is left to train


@pytest.mark.slow
def test_a_run_that_makes_no_tables_says_of_two_commits_and_goes_on(tmp_path):
    made = Study(tmp_path)
    (tmp_path / "commit").write_text("a" * 40)
    made.snakemake(OVERLAY, RUN.format("infonce"))
    assert f"Note: {MIXED}" in made.snakemake(OVERLAY, RUN.format("hn"))
    assert (tmp_path / RUN.format("hn")).exists()


@pytest.mark.slow
def test_commits_are_mixed_where_the_config_allows_and_finished_studies_are_not_asked(tmp_path):
    made, allowed = Study(tmp_path), changed(allow_mixed_commits=True)
    (tmp_path / "commit").write_text("a" * 40)
    made.snakemake(OVERLAY, RUN.format("infonce"))
    (tmp_path / "commit").write_text("b" * 40)
    assert MIXED not in made.snakemake(allowed)
    assert made.jobs(allowed) == set()
    assert MIXED not in made.snakemake(changed(recipe={"epochs": 9}), "--dry-run")  # all are trained anew


def test_keys_that_no_cell_reads_run_nothing(study):
    backbone = {"kind": "starter", "context": 77, "tokenizer": "clip", "transform": TRANSFORM}
    overlay = changed(
        losses={"unused": {"base": "infonce", "boost": "none", "scale": 3}},
        benchmarks={"unused": {"kind": "scenes", "options": {}, "train": "a", "validation": "b", "test": ["c"]}},
        frameworks={"unused": {"kind": "hnclip", "recipe": {"lr": 1.0}}},
        backbones={"unused": backbone},
        grids={**OVERLAY["grids"], "main": {"seeds": [7]}},
    )
    assert study.jobs(overlay) == set()


def test_a_new_seed_trains_only_its_cells(study):
    assert study.jobs(with_seeds(1, 2)) == of_cells("infonce/s2", "hn/s2", "frozen/s2") | STUDY


@pytest.mark.slow
def test_a_report_option_trains_nothing(study):
    assert study.jobs(changed(report={"bootstrap": 10})) == STUDY


def test_a_recipe_change_trains_every_cell_and_prepares_nothing(study):
    found = study.jobs(changed(recipe={"epochs": 9}))
    assert found == of_cells("infonce/s1", "hn/s1", "frozen/s1") | STUDY


def test_the_frozen_boost_embeds_the_training_split(study):
    assert (study.folder / "results/embeddings/tiny/scenes/train.parquet").exists()


@pytest.mark.slow
def test_a_backbone_of_another_context_shares_the_pixels(study):
    tiny = yaml.safe_load((ROOT / "config.yaml").read_text())["backbones"]["tiny"]
    grid = {**OVERLAY["grids"]["some"], "backbones": ["tiny", "short"], "losses": ["infonce"], "transfer": []}
    overlay = changed(grids={"some": grid}, backbones={"short": {**tiny, "context": 77}})
    found = study.jobs(overlay) - STUDY
    splits = ("train", "validation", "test", "unseen")
    assert {job for job in found if "short" not in job} == {
        "Config of tokenizer clip-77",
        *(f"Tokenising scenes/{split} by clip-77" for split in splits),
    }
    assert "Training short/scenes/longclip/infonce/s1" in found


@pytest.mark.slow
def test_a_rewritten_config_of_the_same_words_trains_nothing(study):
    path = next(study.folder.glob("results/dag/runs/**/config.json"))
    path.write_bytes(path.read_bytes())
    assert study.jobs(OVERLAY) == set()


def test_own_captions_that_were_only_touched_run_nothing(own):
    captions(own).touch()
    assert own.jobs(OWN) == set()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["hnclip.data.prepare", "hnclip.train"])
def test_a_failure_after_a_change_of_own_captions_leaves_no_stale_tables(own, command):
    captions(own).write_text(f"changed before {command} failed")
    (own.folder / "fails").write_text(command)
    own.snakemake(OWN, fails=True)
    (own.folder / "fails").unlink()
    wanted = {"Training tiny/own/longclip/infonce/s1", "Collecting the ranks of study own"}
    if command == "hnclip.data.prepare":
        wanted.add("Preparing benchmark own")
    assert wanted | {"Writing tables", "Drawing figures"} <= own.jobs(OWN)
    own.snakemake(OWN)
    assert own.jobs(OWN) == set()


@pytest.mark.slow
def test_a_failure_after_a_change_of_further_inputs_leaves_no_stale_tables(tmp_path):
    grid = {**OVERLAY["grids"]["some"], "frameworks": ["structxlip"], "losses": ["infonce"], "transfer": []}
    study, before = Study(tmp_path), changed(grids={"some": grid})
    study.snakemake(before)
    assert study.jobs(before) == set()
    after = {**before, "lexicons": {"colours": {"remove": ["materials"]}}}
    (tmp_path / "fails").write_text("hnclip.data.derive.lexicon")
    study.snakemake(after, fails=True)
    (tmp_path / "fails").unlink()
    wanted = {"Captions of scenes/train filtered by colours", "Training tiny/scenes/structxlip/infonce/s1"}
    assert wanted | {"Collecting the ranks of study dag", "Writing tables", "Drawing figures"} <= study.jobs(after)


@pytest.mark.slow
def test_a_cell_whose_results_are_gone_trains_again_with_the_input_that_was_deleted(tmp_path):
    grid = {**OVERLAY["grids"]["some"], "frameworks": ["goal"], "losses": ["infonce", "hn"], "transfer": []}
    study, overlay = Study(tmp_path), changed(grids={"some": grid})
    study.snakemake(overlay)
    assert study.jobs(overlay) == set()
    (crops,) = (tmp_path / "results/data/scenes").glob("train.given.*.crops.npy")
    crops.unlink()
    assert study.jobs(overlay) == set()  # a cache may be deleted where nothing needs it
    for path in (tmp_path / "results/dag/runs/tiny/scenes/goal/hn/f100/s1").glob("[!c]*.*"):
        path.unlink()
    wanted = {"Crops of scenes/train", "Training tiny/scenes/goal/hn/s1", "Writing tables"}
    assert wanted <= {job.replace("/f100", "") for job in study.jobs(overlay)}


@pytest.mark.slow
def test_another_number_of_shards_finds_only_the_regions_again(tmp_path):
    regions = "egions of scenes/train by given"

    def cut(shards: int) -> dict:
        return changed(segments={"given": {"shards": shards}})

    def of_shards(shards: int) -> set[str]:
        return {f"R{regions}, {number} of {shards}" for number in range(1, shards + 1)} | {f"Joining the r{regions}"}

    study, table = Study(tmp_path), "results/data/scenes/train.given.segments.parquet"
    before = {"Config of benchmark scenes", "Preparing benchmark scenes", "Config of regions given"}
    assert study.jobs(cut(3), table) == before | of_shards(3)
    study.snakemake(cut(3), table)
    assert study.jobs(cut(3), table) == set()
    assert study.jobs(cut(2), table) == of_shards(2)
    assert study.jobs(OVERLAY, table) == {f"R{regions}"}


@pytest.mark.slow
def test_an_entry_may_have_the_name_of_a_file(study):
    overlay = changed(edges={"config": {"kind": "canny", "low": 1, "high": 2}})
    overlay["frameworks"] = {
        "longclip": {"kind": "structxlip", "inputs": {"edges": "config", "edge_crops": 1, "lexicon": "none"}}
    }
    assert "Edge maps of scenes/train by config" in study.jobs(overlay)


@pytest.mark.slow
def test_the_way_out_that_the_docs_name_for_replaced_images_prepares_and_trains(own):
    docs = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
    assert "--configfile my_study.yaml -R prepare_own`" in docs
    said = own.snakemake(OWN, "-R", "prepare_own", "--dry-run")
    assert "Preparing benchmark own" in said and "Training tiny/own" in said


@pytest.mark.slow
def test_tables_of_splits_that_were_deleted_are_made_anew_and_train_where_they_differ(own):
    """What `hnclip run --data` does where images were replaced."""
    manifests = [f"results/data/own/{split}.parquet" for split in ("train", "validation", "test")]
    for path in (own.folder / "results/data/own").glob("*.parquet"):
        path.unlink()
    assert own.jobs(OWN, *manifests) == {"Preparing benchmark own"}
    own.snakemake(OWN, *manifests)
    assert own.jobs(OWN) == set()  # the stub writes the same
    (own.folder / manifests[0]).write_bytes(b"other images")
    jobs = own.jobs(OWN)
    assert any(job.startswith("Training ") for job in jobs) and "Preparing benchmark own" not in jobs
    (own.folder / manifests[0]).write_bytes(b"")


@pytest.mark.slow
def test_the_way_out_that_the_docs_name_for_a_hard_stop_unlocks(own):
    assert "snakemake --unlock`" in (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
    locks = own.folder / ".snakemake" / "locks"
    locks.mkdir(exist_ok=True)
    (locks / "0.output.lock").write_text("results/own/study.json\n")
    force = ("--forcerun", "study", "--until", "study")
    assert "LockException" in own.snakemake(OWN, *force, fails=True)
    own.snakemake(OWN, "--unlock")
    assert "Record of study own" in own.snakemake(OWN, *force)


@pytest.mark.slow
def test_images_of_a_test_set_are_found_before_they_are_left_out(study):
    whole = {"kind": "vg_paragraphs", "options": {}, "train": "train", "validation": "val", "test": ["test"]}
    path = "results/overlap/whole/train/scenes/test.txt"
    clean = {**whole, "options": {"exclude": path}}
    overlay = changed(benchmarks={"whole": whole, "clean": clean})
    overlay["grids"] = {"some": {**OVERLAY["grids"]["some"], "train": ["clean"], "transfer": []}}
    jobs = study.jobs(overlay)
    assert {"Images of whole/train that scenes/test has too", "Preparing benchmark whole"} <= jobs
    assert "Preparing benchmark clean" in jobs


@pytest.mark.slow
def test_a_published_data_set_is_fetched_before_its_benchmark_is_prepared(study):
    entry = {"kind": "urban1k", "options": {}, "train": None, "validation": None, "test": ["test"]}
    grid = {**OVERLAY["grids"]["some"], "transfer": ["urban"]}
    jobs = study.jobs(changed(benchmarks={"urban": entry}, grids={"some": grid}))
    assert {"Config of source urban1k", "Preparing benchmark urban"} <= jobs
    assert "Fetching urban1k, licence CC BY-NC 4.0 (non-commercial use only)" in jobs


@pytest.mark.slow
def test_another_way_to_the_same_files_prepares_and_trains_nothing(tmp_path):
    entry = {"kind": "urban1k", "options": {}, "train": None, "validation": None, "test": ["test"]}
    grid = {**OVERLAY["grids"]["some"], "losses": ["infonce"], "transfer": ["urban"]}
    study, before = Study(tmp_path), changed(benchmarks={"urban": entry}, grids={"some": grid})
    study.snakemake(before)
    after = {**before, "sources": {"urban1k": {"mirror": "http://127.0.0.1:9", "files": {"Urban1k.zip": "."}}}}
    assert study.jobs(after) <= {"Config of source urban1k"}


@pytest.mark.slow
def test_a_key_that_stands_twice_in_an_overlay_stops_the_study(study):
    said = study.snakemake(yaml.safe_dump(OVERLAY) + "study: other\n", "--dry-run", fails=True)
    assert "overlay.yaml, line" in said and ": study (first in line" in said


def test_a_dry_run_loads_no_torch(study):
    code = (
        "import sys; from snakemake.cli import main\n"
        f"sys.argv = ['snakemake', '-s', {str(ROOT / 'Snakefile')!r}, '--directory', {str(study.folder)!r}, '-n']\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "print('torch' in sys.modules, 'hnclip.cell' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=study.environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "False True"


@pytest.mark.slow
def test_published_weights_are_fetched_once_and_before_all_that_loads_them(tmp_path):
    study = Study(tmp_path)
    model = {"kind": "open_clip", "model": "ViT-B-32-quickgelu", "pretrained": "openai", "context": 248}
    grid = {**OVERLAY["grids"]["some"], "backbones": ["clip"], "losses": ["infonce"], "transfer": []}
    overlay = changed(backbones={"clip": {**model, "tokenizer": "clip", "transform": TRANSFORM}}, grids={"some": grid})
    target = "results/dag/runs/clip/scenes/longclip/infonce/f100/s1/run.json"
    assert "Fetching the weights of clip" in study.jobs(overlay, target)
    (tmp_path / "fails").write_text("hnclip.models.fetch")
    study.snakemake(overlay, target, fails=True)
    assert not (tmp_path / target).exists()
    (tmp_path / "fails").unlink()
    study.snakemake(overlay, target)
    fetched = tmp_path / "results/embeddings/clip/fetched.json"
    fetched.write_text("fetched again, into another cache")
    assert study.jobs(overlay, target) == set()
    assert not any("weights" in job for job in study.jobs(OVERLAY))
