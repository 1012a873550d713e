"""`hnclip`: all commands under one name."""

import typer

from hnclip import __version__
from hnclip.cli import compare, doctor, embed, evaluate, export, index, init, plan, search, train
from hnclip.cli import run as running
from hnclip.command import run

EXIT = (
    "Exit status: 0 done; 1 a fault of the input, told in a message; 2 wrong usage; 75 stopped, goes on when run again."
)

app = typer.Typer(
    name="hnclip",
    help="Image-text retrieval with long captions: diagnose your captions, fine-tune CLIP, compare, search.",
    epilog=EXIT,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("doctor", epilog=doctor.EXAMPLES)(doctor.doctor)
app.command("init", epilog=init.EXAMPLES)(init.init)
app.command("run", epilog=running.EXAMPLES)(running.run)
app.command("train", epilog=train.EXAMPLES)(train.train)
app.command("evaluate", epilog=evaluate.EXAMPLES)(evaluate.evaluate)
app.command("compare", epilog=compare.EXAMPLES)(compare.compare)
app.command("embed", epilog=embed.EXAMPLES)(embed.embed)
app.command("index", epilog=index.EXAMPLES)(index.index)
app.command("search", epilog=search.EXAMPLES)(search.search)
app.command("export", epilog=export.EXAMPLES)(export.export)
app.command("plan", epilog=plan.EXAMPLES)(plan.plan)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hnclip {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", help="Print the version.", callback=_version, is_eager=True),
) -> None:
    pass


def main() -> None:
    """The entry point; a fault of the input is one line on stderr and exit status 1."""
    run(app)


if __name__ == "__main__":
    main()
