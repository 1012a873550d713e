"""`hnclip embed`: embeddings of one's own images and captions, as a file."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from hnclip.cli.output import Json, print_json, say
from hnclip.cli.source import Layout, Txt, UrlColumn, given

EXAMPLES = """Examples:
[bold]hnclip embed tiny captions.jsonl --images pictures --to embeddings.parquet[/bold]
[bold]hnclip init study --embeddings embeddings.parquet[/bold]  then a study of losses on them, in seconds a cell"""


def embed(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A run's folder, tiny, open_clip's MODEL:TAG, a weights file ...")
    ],
    captions: Annotated[
        str, typer.Argument(metavar="CAPTIONS", help="Captions in any format that hnclip reads (docs: Your data).")
    ],
    images: Annotated[Path | None, typer.Option(help="The folder in which relative image paths start.")] = None,
    to: Annotated[Path, typer.Option(help="The file to write.")] = Path("embeddings.parquet"),
    image_column: Annotated[str | None, typer.Option(help="The column with the image's path.")] = None,
    caption_column: Annotated[str | None, typer.Option(help="The column with the caption.")] = None,
    id_column: Annotated[str | None, typer.Option(help="The column with the image's id; its path by default.")] = None,
    split_column: Annotated[str | None, typer.Option(help="A column with the split, to keep it.")] = None,
    layout: Layout = None,
    url_column: UrlColumn = None,
    txt: Txt = None,
    batch: Annotated[int, typer.Option(min=1, help="Rows embedded at once.")] = 32,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    as_json: Json = False,
) -> None:
    """Embed images and captions once, for framework `adapter` or a program of your own.

    The Parquet file has one row a caption: id, caption, path, image (the image's
    embedding), text (the caption's). All data is checked first.
    """
    if to.exists() and not force:
        raise typer.BadParameter(f"{to} is there already: name another file with --to, or give --force")
    from hnclip.data.captions_of import Source
    from hnclip.embed_own import embed_own

    columns = dict(image_column=image_column, caption_column=caption_column)
    columns |= dict(id_column=id_column, split_column=split_column)
    columns |= given(layout=layout, url_column=url_column, txt=txt)
    with redirect_stdout(sys.stderr):
        found = embed_own(model, Source(captions, images=str(images) if images else None, **columns), to, batch, say)
    if as_json:
        print_json({"file": str(to), "model": model, **vars(found)})
        return
    for line in found.told:
        say(line)
    cut = f"; {found.cut} captions were cut at the context" if found.cut else ""
    typer.echo(f"{to}: {found.images} images, {found.captions} captions, {found.width} numbers each{cut}")
    typer.echo(f"Next, for example:\n  hnclip init my_study --embeddings {to}")
