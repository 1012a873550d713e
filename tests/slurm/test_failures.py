"""Jobs that fail, need more memory or time, or are cancelled: on a cluster, with stubs for the commands."""

import json
import signal
from pathlib import Path

import pytest
import yaml
from dag_world import OVERLAY
from slurm_world import Folder, processes, squeue, wait_for

pytestmark = pytest.mark.slurm
STUB = Path(__file__).with_name("cell_stub.py")
LOSSES = ("hn", "infonce", "frozen")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Folder:
    """All that cells need is made, and no cell is trained."""
    made = Folder(tmp_path_factory.mktemp("failures"), STUB)
    made.here(overlay(made, 1), "--omit-from", "train")
    return made


def overlay(folder: Folder, *seeds: int, **behaviour: str) -> list[Path]:
    """The study with these seeds, whose trainings behave so."""
    (folder.path / "behaviour.json").write_text(json.dumps(behaviour))
    path = folder.path / "overlay.yaml"
    some = {**OVERLAY["grids"]["some"], "seeds": list(seeds)}
    path.write_text(yaml.safe_dump({**OVERLAY, "grids": {"some": some}}))
    return [path]


def weights(folder: Folder, seed: int) -> set[str]:
    runs = folder.path / "results/dag/runs/tiny/scenes/longclip"
    return {loss for loss in LOSSES if (runs / loss / f"f100/s{seed}/weights.safetensors").is_file()}


def tries(folder: Folder, loss: str) -> list[list[str]]:
    """Memory and time of each try."""
    return [line.split() for line in (folder.path / "tries" / loss).read_text().splitlines()]


def test_more_memory_and_time_on_a_retry_and_a_failing_cell_fails_alone(folder):
    given = overlay(folder, 1, hn="hungry", frozen="late", infonce="fails")
    said = folder.cluster(given, "--set-resources", "train:runtime=attempt", "--until", "evaluate", fails=True)
    assert weights(folder, 1) == {"hn", "frozen"}, said
    assert [memory for memory, _ in tries(folder, "hn")] == ["3070M", "6140M"]
    assert [limit for _, limit in tries(folder, "frozen")] == ["1:00", "2:00"]
    assert len(tries(folder, "infonce")) == 3
    evaluated = folder.path.glob("results/dag/runs/tiny/scenes/longclip/*/f100/s1/eval/scenes-long.parquet")
    assert {path.parts[-5] for path in evaluated} == {"hn", "frozen"}
    assert "Training tiny/scenes/longclip/infonce/f100/s1" in said
    table = said.split("Started and without a result, 1 of the study's cells")[1].split("\n")
    assert "tiny/scenes/longclip/infonce/f100/s1" in table[1] and "ValueError: infonce fails" in table[1]


def test_an_interrupt_leaves_nothing_running(folder):
    before = {loss: len(tries(folder, loss)) for loss in LOSSES}
    given = overlay(folder, 2, hn="hangs", frozen="hangs", infonce="hangs")
    running = folder.submit(given, "--until", "train")
    begun = wait_for(lambda: all(len(tries(folder, loss)) > before[loss] for loss in LOSSES), 120)
    hanging = processes(STUB.name)
    running.send_signal(signal.SIGINT)
    said, _ = running.communicate(timeout=240)  # it first sleeps out its wait between two looks at the queue
    assert begun and len(hanging) >= len(LOSSES), said
    assert running.returncode == 1, said
    names = [line.split()[-1] for line in said.split("\n") if line.startswith("SLURM run ID: ")]
    assert wait_for(lambda: not squeue("--name", ",".join(names)), 30), squeue()
    assert wait_for(lambda: not set(hanging) & set(processes(STUB.name)), 30), hanging
    assert weights(folder, 2) == set()
