"""`hnclip evaluate`: what is wrong in how it is called is told before any model is loaded; what tables show."""

from typer.testing import CliRunner

from hnclip.cli.app import app
from hnclip.cli.output import console, table


def evaluate(*arguments):
    return CliRunner().invoke(app, ["evaluate", "tiny", "captions.csv", "--out", "ranks.parquet", *arguments])


def test_a_split_without_its_column_is_wrong_usage():
    done = evaluate("--split", "val")
    assert done.exit_code == 2 and "--split-column" in done.output


def test_a_name_that_leads_elsewhere_is_refused():
    assert "letters, digits" in str(evaluate("--name", "../other").exception)


def test_markup_in_what_a_table_shows_is_shown(capsys):
    console().print(table("runs/[bold]mine[/bold] [/x]", ("model",), [("[red]",)]))
    shown = capsys.readouterr().out
    assert "[bold]mine[/bold]" in shown.replace("\n", "") and "[red]" in shown
