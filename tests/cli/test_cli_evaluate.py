"""`hnclip evaluate`: what is wrong in how it is called is told before any model is loaded; what tables show."""

from typer.testing import CliRunner

from hnclip.cli.app import app
from hnclip.cli.output import console, table
from hnclip.store import write_rows


def evaluate(*arguments):
    return CliRunner().invoke(app, ["evaluate", "tiny", "captions.csv", "--out", "ranks.parquet", *arguments])


def test_a_split_without_its_column_is_wrong_usage():
    done = evaluate("--split", "val")
    assert done.exit_code == 2 and "--split-column" in done.output


def test_a_name_that_leads_elsewhere_is_refused():
    assert "letters, digits" in str(evaluate("--name", "../other").exception)


def test_ranks_on_other_captions_are_not_replaced(tmp_path):
    rows = [{"target": "captions/all", "direction": "t2i", "query": "a", "family": "a", "rank": 0, "gallery": 1}]
    write_rows(tmp_path / "ranks.parquet", rows, {"captions": "/other/captions.csv"})
    said = str(evaluate("--out", str(tmp_path / "ranks.parquet")).exception)
    assert "has the ranks on captions/all (/other/captions.csv); call these captions otherwise" in said


def test_markup_in_what_a_table_shows_is_shown(capsys):
    console().print(table("runs/[bold]mine[/bold] [/x]", ("model",), [("[red]",)]))
    shown = capsys.readouterr().out
    assert "[bold]mine[/bold]" in shown.replace("\n", "") and "[red]" in shown
