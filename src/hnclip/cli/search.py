"""`hnclip search`: the images of an index that are nearest to a text or a picture."""

import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer

from hnclip.cli.output import Json, console, print_json, say, table

EXAMPLES = (
    'Example: [bold]hnclip search photos.index "a dog asleep on a red sofa" --html found.html[/bold]; '
    "[bold]hnclip search photos.index --image photos/dog.jpg[/bold]"
)


def search(
    index: Annotated[Path, typer.Argument(metavar="INDEX", help="The folder that `hnclip index` made.")],
    query: Annotated[str | None, typer.Argument(metavar="QUERY", help="What to look for, in words.")] = None,
    image: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A picture to look for; may be given again.")
    ] = None,
    queries: Annotated[Path | None, typer.Option(metavar="FILE", help="A text file with a query on each line.")] = None,
    top: Annotated[int, typer.Option(min=1, help="How many images to find for each.")] = 10,
    html: Annotated[Path | None, typer.Option(metavar="PAGE", help="Write a page of the pictures found.")] = None,
    show: Annotated[
        bool, typer.Option("--open", help="Open that page in the browser; without --html it lies in the index.")
    ] = False,
    model: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Where the index's model is now, if it has moved.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Find images by words or by a picture."""
    from hnclip.search import open_index

    if query is None and not image and queries is None:
        raise typer.BadParameter("say what to look for: QUERY, --image FILE or --queries FILE", param_hint="QUERY")
    with redirect_stdout(sys.stderr):
        opened = open_index(index, model)
        texts = ([] if query is None else [query]) + ([] if queries is None else _lines(queries))
        asked = opened.texts(texts) + [opened.image(path) for path in image or []]
        found = [(one, opened.search(one, top)) for one in asked]
    for one in asked:
        if one.cut:
            say(f"longer than the model reads, so its end is not looked for: {_short(one.words)}")
    if show and html is None:
        html = index / "search.html"
    if html is not None:
        from hnclip.search.gallery import write_gallery

        write_gallery(html, opened, found)
    if as_json:
        print_json(_record(opened, found))
    else:
        for one, hits in found:
            _show(one, hits)
    if html is not None:
        say(f"page: {html}")
    if show:
        typer.launch(html.absolute().as_uri())


def _lines(path: Path) -> list[str]:
    """The lines of a file that are not blank. Raises ValueError where there are none, or the file is no text."""
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines()]
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text in UTF-8 ({error})") from None
    if not any(lines):
        raise ValueError(f"{path} has no queries: write one on each line")
    return [line for line in lines if line]


def _record(opened: Any, found: list) -> dict[str, Any]:
    return {
        "index": str(opened.folder),
        "model": opened.record["model"]["name"],
        "images": len(opened),
        "queries": [
            {
                "query": one.words,
                "kind": one.kind,
                "cut": one.cut,
                "results": [{**vars(hit), "missing": hit.missing} for hit in hits],
            }
            for one, hits in found
        ],
    }


def _short(words: str, most: int = 100) -> str:
    return words if len(words) <= most else f"{words[:most].rstrip()} …"


def _show(query: Any, hits: list) -> None:
    from rich.text import Text

    here = os.getcwd().rstrip(os.sep) + os.sep
    rows = [
        (str(hit.rank), f"{hit.cosine:.3f}", hit.path.removeprefix(here) + ("  (missing)" if hit.missing else ""))
        for hit in hits
    ]
    console().print(Text(_short(query.words), "bold"), soft_wrap=True)
    console().print(table("", ("rank", "cosine", "image"), rows, ("rank", "cosine")))
