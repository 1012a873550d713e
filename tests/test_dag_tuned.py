"""What a change of a tuned loss, of a control or of an audit runs again."""

from pathlib import Path

import pytest
from dag_world import OVERLAY, ROOT, Study, changed
from snakemake.scheduling import job_scheduler

TAIL = {
    "The study is finished",
    "Record of study dag",
    "Collecting the ranks of study dag",
    "Writing tables",
    "Drawing figures",
    "Writing galleries",
    "Writing the report's first page",
}


def overlay(scales: list, every: int = 5, losses: tuple = ("infonce", "infonce-tuned")) -> dict:
    """A grid with a tuned loss of these scales, its plain cell audited and embedded."""
    grid = {**OVERLAY["grids"]["some"], "losses": list(losses), "transfer": []}
    shown = {**grid, "losses": ["infonce"], "audit": True, "embed": True}
    return changed(
        run=["some", "shown"],
        grids={"some": grid, "shown": shown},
        losses={"infonce-tuned": {"scale": scales}},
        audit={"every": every},
    )


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Study:
    made = Study(tmp_path_factory.mktemp("tuned"))
    made.snakemake(overlay([17, None]))
    return made


def without_tail(found: set[str]) -> set[str]:
    return {job for job in found if job not in TAIL}


def test_a_finished_study_with_choices_audits_and_embeddings_runs_nothing(study):
    assert study.jobs(overlay([17, None])) == set()
    runs = study.folder / "results/dag/runs/tiny/scenes/longclip"
    assert {path.parent.parent.parent.name for path in runs.glob("*/*/s*/weights.safetensors")} == {
        "infonce", "infonce-tuned", "infonce-tuned-scale17", "infonce-tuned-scalelearned",
    }  # fmt: skip
    assert {path.parent.name for path in runs.glob("*/*/*/weights.safetensors")} == {"s1", "s41"}
    assert (runs / "infonce/f100/s1/audit.parquet").exists()
    assert (runs / "infonce/f100/s1/embeddings/scenes.parquet").exists()


def test_the_scheduler_is_not_woken_again_and_again():
    """Snakemake's limit of jobs a second is off; should it move, the Snakefile would set a name that nothing reads."""
    scheduler = Path(job_scheduler.__file__).read_text(encoding="utf-8")
    assert "self.job_rate_limiter is not None" in scheduler
    assert "workflow.scheduler.job_rate_limiter = None" in (ROOT / "Snakefile").read_text(encoding="utf-8")


def test_a_control_more_trains_its_cells_and_nothing_else(study):
    found = study.jobs(overlay([17, None], losses=("infonce", "infonce-tuned", "margin")))
    assert without_tail(found) == {"Config of margin/s1", "Training margin/s1"}


@pytest.mark.slow
def test_a_setting_more_is_tried_and_the_choice_made_again(study):
    found = without_tail(study.jobs(overlay([17, None, 50])))
    new = "infonce-tuned-scale50/s41"
    assert {f"Config of {new}", f"Training {new}"} <= found
    assert found - {f"Config of {new}", f"Training {new}"} == {
        "Choosing the setting of infonce-tuned/f100",
        "Config of infonce-tuned/s1, with the setting that was chosen",
        "Training infonce-tuned/s1",  # unless the choice stays the same: then Snakemake drops it
    }


@pytest.mark.slow
def test_another_pace_of_the_audit_audits_again_and_trains_nothing(study):
    found = without_tail(study.jobs(overlay([17, None], every=2)))
    assert found == {"Config of the audits", "Auditing the gradients of infonce/s1"}
