"""What jobs ask of a machine in main memory, by the backbone's size."""

from pathlib import Path

import pytest

from hnclip.plan.memory import BYTES, PROCESS, UNKNOWN, megabytes

ROOT = Path(__file__).parents[1]
OPEN_CLIP = {"kind": "open_clip", "pretrained": "openai", "context": 248}


@pytest.mark.parametrize(
    ("entry", "millions"),
    [
        ({"kind": "starter", "context": 248}, 3.5),
        ({**OPEN_CLIP, "model": "ViT-B-16-quickgelu"}, 149.7),
        ({**OPEN_CLIP, "model": "ViT-L-14-quickgelu"}, 427.7),
        ({"kind": "longclip", "weights": "hub:BeichenZhang/LongCLIP-L/longclip-L.pt", "context": 248}, 427.7),
    ],
)
def test_memory_grows_with_the_backbone(entry, millions):
    assert megabytes(entry) == pytest.approx(PROCESS + BYTES * millions, rel=0.01)


def test_memory_of_a_released_file_follows_its_size(tmp_path):
    path = tmp_path / "longclip.pt"
    path.write_bytes(b"\0" * 4_000_000)
    assert megabytes({"kind": "longclip", "weights": str(path), "context": 248}) == PROCESS + BYTES


def test_an_unknown_backbone_gets_much():
    assert megabytes({**OPEN_CLIP, "model": "no-such-model"}) == UNKNOWN


def test_the_commands_for_a_cluster_name_the_profile_as_the_workflows():
    for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "workflow/studies").glob("*.yaml")]:
        assert "--profile profiles/slurm" not in path.read_text().replace("--workflow-profile", "")
