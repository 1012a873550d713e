"""The cells that a run leaves without a result are named with the end of their logs."""

import yaml
from dag_world import OVERLAY, ROOT

from hnclip.plan.config import merge
from hnclip.unfinished import last_line, table, unfinished

INFONCE, HN = (f"tiny/scenes/longclip/{loss}/f100/s1" for loss in ("infonce", "hn"))


def config() -> dict:
    return merge(yaml.safe_load((ROOT / "config.yaml").read_text()), OVERLAY)


def log(folder, cell: str, text: str):
    path = folder / "logs/train/dag" / f"{cell}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_only_started_cells_without_a_result_are_named(tmp_path):
    assert table(config(), tmp_path) == ""
    log(tmp_path, INFONCE, "reading\nValueError: the loss is not finite\n\n")
    log(tmp_path, HN, "done\n")
    record = tmp_path / "results/dag/runs" / HN / "run.json"
    record.parent.mkdir(parents=True)
    record.write_text("{}")
    assert unfinished(config(), tmp_path) == {INFONCE: "ValueError: the loss is not finite"}
    assert f"  {INFONCE}  ValueError: the loss is not finite" in table(config(), tmp_path)
    assert "1 of the study's cells" in table(config(), tmp_path)


def test_of_a_long_or_empty_log_the_end_is_read(tmp_path):
    assert last_line(log(tmp_path, HN, "x" * 10_000 + "\nthe end")) == "the end"
    assert last_line(log(tmp_path, HN, "\n")).startswith("(its log is empty")


def test_what_a_launcher_says_afterwards_is_passed_over(tmp_path):
    text = "epoch 0\nerror: no room\nTraceback ...\n====================\n"
    assert last_line(log(tmp_path, HN, text)) == "error: no room"
