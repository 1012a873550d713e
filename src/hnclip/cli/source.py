"""Options that say how captions are to be read, the same for every command that reads some."""

from typing import Annotated, Any

import typer

Layout = Annotated[str | None, typer.Option(help="How the captions stand in their file; told from it by default.")]
ImageColumn = Annotated[str | None, typer.Option(help="The column with an image's path; guessed by default.")]
CaptionColumn = Annotated[str | None, typer.Option(help="The column with the caption; guessed by default.")]
IdColumn = Annotated[str | None, typer.Option(help="A column that names an image; its path by default.")]
FamilyColumn = Annotated[
    str | None, typer.Option(help="A column of images that belong together, as shots of one thing.")
]
UrlColumn = Annotated[
    str | None, typer.Option(help="The column with the URLs of images that were downloaded into --images.")
]
Txt = Annotated[str | None, typer.Option(help="A .txt beside an image: whole, one caption, or lines, one a line.")]


def given(**options: Any) -> dict[str, Any]:
    """The options that were given, as the benchmark kind `folder` reads them."""
    return {name: value for name, value in options.items() if value is not None}
