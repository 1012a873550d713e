"""Terms whose rows are shared: the parts add up to the whole, in one process by turns and in two at once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from drawn_pairs import CLASSES, SETTINGS, N, drawn, gradients

from hnclip import processes
from hnclip.losses.entry import STRENGTH, LossEntry
from hnclip.losses.objective import BOOSTS, Tables, contrastive
from hnclip.losses.shared import row_shared, rows_shared

HERE = Path(__file__).parent
TABLES = Tables(torch.nn.functional.normalize(torch.arange(24.0).view(6, 4).sin(), dim=-1), CLASSES)


@pytest.mark.parametrize("share", [row_shared, rows_shared])
def test_alone_it_is_the_term_of_all_rows(share):
    rows = torch.arange(4.0)
    found = share(lambda own, rows: (own, rows), 4, rows)
    assert found[0] == slice(0, 4) and found[1] is rows


@pytest.mark.parametrize("boost", ["none", *BOOSTS])
@pytest.mark.parametrize(("base", "keys"), SETTINGS)
def test_parts_of_rows_add_up_to_the_whole(base, keys, boost, monkeypatch):
    strength = {} if boost == "none" else {STRENGTH[boost]: 0.5}
    entry, leaves = LossEntry(base=base, boost=boost, mask_duplicates=True, **keys, **strength), drawn()

    def taken():
        value = contrastive(entry, torch.Generator().manual_seed(1), TABLES)(*leaves, torch.arange(N))
        return [value.detach(), *gradients(value, leaves)]

    whole = taken()
    monkeypatch.setattr(processes, "world", lambda: 4)
    monkeypatch.setattr(processes, "summed", lambda tensor: tensor)  # each process's own part, not yet summed
    parts = []
    for number in range(4):
        monkeypatch.setattr(processes, "rank", lambda number=number: number)
        parts.append(taken())
    for one, *others in zip(whole, *parts, strict=True):
        torch.testing.assert_close(sum(others), one, rtol=1e-9, atol=1e-12)
    assert all(part[0] != whole[0] for part in parts) or base == "hardest"


@pytest.mark.slow  # two interpreters import torch
def test_two_processes_find_what_one_finds(tmp_path):
    path = os.pathsep.join([str(HERE.parents[1] / "src"), str(HERE)])
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(HERE / "together.py")]
    started = [
        subprocess.Popen(
            [*command, str(rank), str(tmp_path / "meeting")],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    said = [process.communicate(timeout=300) for process in started]
    assert [out for out, _ in said] == ["done\n"] * 2, "\n".join(error[-3000:] for _, error in said)
