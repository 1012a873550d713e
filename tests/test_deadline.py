"""A training that has to stop early leaves a checkpoint, exits with its own status and goes on to the same weights."""

import os
import signal

import pandas as pd
import pytest
import torch
from safetensors.torch import load_file
from world import make_cell

from hnclip import deadline, train
from hnclip.deadline import Deadline, Stopped, seconds_left
from hnclip.train import GOES_ON, Trainer

RECIPE = {"checkpoint_every": 1000}


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    config, run = make_cell(tmp_path_factory.mktemp("straight"), recipe=RECIPE)
    train.main(config, run)
    return run


def ends_alike(run, straight):
    one, other = load_file(run / "weights.safetensors"), load_file(straight / "weights.safetensors")
    assert one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)
    for name in ("log.parquet", "ranks.parquet"):
        pd.testing.assert_frame_equal(pd.read_parquet(run / name), pd.read_parquet(straight / name))
    assert not (run / "checkpoint.pt").exists()


@pytest.fixture
def terminated(monkeypatch):
    """Trains a cell that gets a signal inside a method of the trainer, when `when` says so."""

    def train_in_two(folder, method, when, number=signal.SIGTERM):
        config, run = make_cell(folder, recipe=RECIPE)
        inner = getattr(Trainer, method)

        def signalled(trainer, *inputs, **named):
            if when(trainer):
                os.kill(os.getpid(), number)
            return inner(trainer, *inputs, **named)

        with monkeypatch.context() as patched:
            patched.setattr(Trainer, method, signalled)
            with pytest.raises(SystemExit) as stopped:
                train.main(config, run)
        assert stopped.value.code == GOES_ON
        assert (run / "checkpoint.pt").exists() and not (run / "weights.safetensors").exists()
        step = torch.load(run / "checkpoint.pt", weights_only=True)["progress"]["step"]
        train.main(config, run)
        return run, step

    return train_in_two


def test_sigterm_in_a_step_ends_after_it(tmp_path, straight, terminated):
    run, step = terminated(tmp_path, "_optimise", lambda trainer: trainer.progress.step == 2)
    assert step == 3
    ends_alike(run, straight)


@pytest.fixture
def ctrl_c():
    """As at a terminal; what runs in the background of a shell has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_ends_after_the_step_and_goes_on(tmp_path, straight, ctrl_c, terminated, capsys):
    run, step = terminated(tmp_path, "_optimise", lambda trainer: trainer.progress.step == 1, signal.SIGINT)
    assert step == 2 and "stopped after optimiser step 2: Ctrl-C" in capsys.readouterr().out
    ends_alike(run, straight)


def test_ctrl_c_that_is_ignored_stays_so():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Deadline() as limit:
            os.kill(os.getpid(), signal.SIGINT)
            assert limit.reason(evaluates=False) is None
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("epoch", [0, 1])
def test_sigterm_in_an_evaluation_ends_at_once(tmp_path, straight, terminated, epoch):
    run, step = terminated(tmp_path, "_evaluate", lambda trainer: trainer.progress.epoch == epoch)
    assert step == 3 * (epoch + 1)
    ends_alike(run, straight)


def test_a_second_sigterm_does_not_end_the_saving_that_the_first_asked_for(tmp_path, straight, terminated, monkeypatch):
    """SLURM signals all processes of a job, and torchrun hands on what it got."""
    save, sent = Trainer._save, []

    def signalled(trainer, path):
        if not sent:
            sent.append(os.kill(os.getpid(), signal.SIGTERM))
        save(trainer, path)

    monkeypatch.setattr(Trainer, "_save", signalled)
    run, step = terminated(tmp_path, "_evaluate", lambda trainer: trainer.progress.epoch == 0)
    assert step == 3
    ends_alike(run, straight)


def test_sigterm_when_an_evaluation_is_nearly_over_logs_it_once(tmp_path, straight, monkeypatch):
    config, run = make_cell(tmp_path, recipe=RECIPE)
    whole = Trainer._evaluate

    def nearly_over(trainer, last):
        ranks = whole(trainer, last)
        os.kill(os.getpid(), signal.SIGTERM)
        return ranks

    with monkeypatch.context() as patched:
        patched.setattr(Trainer, "_evaluate", nearly_over)
        with pytest.raises(SystemExit):
            train.main(config, run)
    train.main(config, run)
    ends_alike(run, straight)


def test_a_sigterm_before_what_may_be_interrupted_stops_it_too():
    with Deadline() as limit:
        os.kill(os.getpid(), signal.SIGTERM)
        with limit.interruptible(False):
            pass
        with pytest.raises(Stopped), limit.interruptible():
            pytest.fail("it has begun")


def test_the_way_of_sigterm_is_given_back(straight):
    before = signal.getsignal(signal.SIGTERM)
    with Deadline():
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.fixture
def squeue(tmp_path, monkeypatch):
    """A squeue that says what a file holds, and the environment of a job."""
    said = tmp_path / "said"
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "squeue"
    program.write_text(f'#!/bin/sh\n[ "$3" = 41 ] && cat "{said}"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_JOB_ID", "41")
    return said


def test_a_run_stops_before_its_time_limit_and_goes_on(tmp_path, straight, squeue, monkeypatch, capsys):
    squeue.write_text("2:00:00\n")
    config, run = make_cell(tmp_path, recipe=RECIPE)
    whole_step = Trainer._optimise

    def time_runs_out(trainer, *inputs):
        whole_step(trainer, *inputs)
        if trainer.progress.step == 1:
            squeue.write_text("0:20\n")
            trainer.deadline.ends -= 7200

    with monkeypatch.context() as patched:
        patched.setattr(Trainer, "_optimise", time_runs_out)
        with pytest.raises(SystemExit) as stopped:
            train.main(config, run)
    assert stopped.value.code == GOES_ON
    assert "stopped after optimiser step 2: the job's time limit" in capsys.readouterr().out
    squeue.write_text("2:00:00\n")
    train.main(config, run)
    ends_alike(run, straight)


def test_a_limit_that_was_raised_is_looked_up_again(squeue):
    squeue.write_text("1:00\n")
    limit = Deadline()
    assert limit.reason(evaluates=False) is None
    limit.took("step", 20.0)
    assert limit.reason(evaluates=False) == "the job's time limit"
    squeue.write_text("1-00:00:00\n")
    assert limit.reason(evaluates=False) is None


def test_a_squeue_that_fails_once_does_not_lift_the_limit(squeue, capsys):
    squeue.write_text("1:00\n")
    limit = Deadline()
    limit.took("step", 20.0)
    squeue.unlink()
    assert limit.reason(evaluates=False) == "the job's time limit"
    assert capsys.readouterr().out == ""


def test_what_comes_next_decides_how_much_time_is_needed(squeue):
    squeue.write_text("10:00\n")
    limit = Deadline()
    limit.took("evaluation", 400.0)
    assert limit.reason(evaluates=False) is None
    assert limit.reason(evaluates=True) == "the job's time limit"


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("0:07", 7),
        ("59:59", 3599),
        ("2:03:04", 7384),
        ("1-02:03:04", 93784),
        ("UNLIMITED", None),
        ("INVALID", None),
        ("", None),
    ],
)
def test_what_squeue_says_is_left(said, seconds):
    assert seconds_left(said) == seconds


def test_without_slurm_there_is_no_limit(monkeypatch):
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.setattr(deadline.subprocess, "run", lambda *_, **__: pytest.fail("asked SLURM"))
    assert Deadline().ends is None


def test_a_node_without_squeue_is_said_and_trains_on(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("SLURM_JOB_ID", "41")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Deadline().ends is None
    assert "time limit is not known" in capsys.readouterr().out
