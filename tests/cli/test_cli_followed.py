"""Snakemake's messages become what is said of a run: jobs, failures, locks, trainings that go on."""

from hnclip.cli.workflow import ended
from hnclip.run_workflow import Followed, planned

RUN = """Job stats:
total                     23

[Mon Nov 30 17:21:19 2026]
Job 5: Config of benchmark own
[Mon Nov 30 17:21:19 2026]
Finished jobid: 5 (Rule: configure_benchmark)
4 of 23 steps (17%) done
[Mon Nov 30 17:21:19 2026]
Job 4: Preparing benchmark own
"""
FAILURE = """Error in rule prepare_own:
    message: None
    jobid: 4
    input: results/data/own/config.json
    log: logs/prepare/own log.log (check log file(s) for error details)
    shell:
        python -m hnclip.data.prepare
Exiting because a job execution failed. Look above for error messages
"""


def followed(text: str, **more) -> tuple[Followed, list[str]]:
    found = Followed(**more)
    return found, [said for line in text.splitlines() if (said := found.line(line))]


def test_jobs_that_take_time_are_told_and_counted():
    found, said = followed(RUN)
    assert said == ["Preparing benchmark own"]
    assert (found.done, found.total) == (4, 23) and not found.failed and not found.locked


def test_a_failed_job_shows_the_end_of_its_log(tmp_path, capsys):
    (tmp_path / "logs/prepare").mkdir(parents=True)
    (tmp_path / "logs/prepare/own log.log").write_text(
        "\n".join(f"line {n}" for n in range(30)) + "\nerror: no image\n\n"
    )
    found, _ = followed(RUN + FAILURE, status=1)
    assert found.failed == {"Preparing benchmark own": "logs/prepare/own log.log"}
    assert ended(found, tmp_path, "hnclip run x", "hnclip run x --unlock") == 1
    said = capsys.readouterr().err
    assert "error: no image" in said and "line 29" in said and "line 3\n" not in said


def test_a_training_that_stopped_goes_on(tmp_path, capsys):
    (tmp_path / "logs/prepare").mkdir(parents=True)
    (tmp_path / "logs/prepare/own log.log").write_text("stopped after optimiser step 7: SIGTERM\n")
    found, _ = followed(RUN + FAILURE, status=1)
    assert ended(found, tmp_path, "hnclip run x", "hnclip run x --unlock") == 75
    assert "`hnclip run x` goes on" in capsys.readouterr().err


def test_a_lock_is_explained_with_what_removes_it(tmp_path, capsys):
    found, _ = followed("LockException:\nError: Directory cannot be locked.\n", status=1)
    assert ended(found, tmp_path, "hnclip run x", "hnclip run x --unlock") == 1
    assert "`hnclip run x --unlock`" in capsys.readouterr().err


def test_a_fault_of_no_job_shows_what_snakemake_said(tmp_path, capsys):
    found, _ = followed("WorkflowError in file rules/x.smk:\nno such thing\n", status=1)
    assert ended(found, tmp_path, "hnclip run x", "hnclip run x --unlock") == 1
    assert "no such thing" in capsys.readouterr().err


def test_what_stops_the_workflow_is_shown_without_what_it_said_before(tmp_path, capsys):
    found, _ = followed(RUN + "WorkflowError in file x.smk, line 1:\ntwo commits:\n  a, b\n", status=1)
    assert ended(found, tmp_path, "hnclip run x", "hnclip run x --unlock") == 1
    said = capsys.readouterr().err
    assert "two commits:" in said and "  a, b" in said and "Job stats" not in said


def test_a_killed_snakemake_goes_on(tmp_path, capsys):
    assert ended(followed(RUN, status=-9)[0], tmp_path, "hnclip run x", "") == 75
    assert "killed (signal 9)" in capsys.readouterr().err


def test_success_says_nothing(tmp_path, capsys):
    assert ended(followed(RUN)[0], tmp_path, "x", "y") == 0
    assert capsys.readouterr().err == ""


def test_a_plan_counts_jobs_of_a_kind():
    jobs = {"1": "Training a", "2": "Config of a", "3": "Training b", "4": "Writing tables", "5": "Writing galleries"}
    assert planned(Followed(jobs=jobs)) == [("Training a", 2), ("Writing tables", 1), ("Writing galleries", 1)]


def test_jobs_that_were_interrupted_did_not_fail(tmp_path, capsys):
    (tmp_path / "logs/prepare").mkdir(parents=True)
    (tmp_path / "logs/prepare/own log.log").write_text("Traceback ...\nKeyboardInterrupt\n")
    found, _ = followed(RUN + FAILURE, status=-2)
    found.interrupted = True
    assert ended(found, tmp_path, "hnclip run x", "hnclip run x --unlock") == 75
    assert capsys.readouterr().err == "Stopped. `hnclip run x` goes on where it was.\n"
