"""`hnclip evaluate`: a run's test results, or any model on captions of one's own."""

import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from hnclip.cli.output import Json, print_json, say
from hnclip.cli.results import parse_ks, recall_records, show_recalls
from hnclip.cli.source import CaptionColumn, FamilyColumn, IdColumn, ImageColumn, Layout, Txt, UrlColumn, given

EXAMPLES = """Examples:
[bold]hnclip evaluate RUN[/bold]  what it scored on its own test splits
[bold]hnclip evaluate RUN captions.csv --images photos[/bold]
[bold]hnclip evaluate tiny captions.csv --images photos --out tiny.parquet[/bold]

Ranks are kept where `hnclip compare` finds them: in the run's folder
[bold]eval/[/bold], or in the file of --out for a model that is no run."""


def evaluate(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A run's folder, tiny, MODEL:TAG of open_clip, a file ...")
    ],
    captions: Annotated[
        str | None,
        typer.Argument(metavar="[CAPTIONS]", help="Captions to rank: a table or a folder; none: its own tests."),
    ] = None,
    images: Annotated[
        Path | None, typer.Option(help="Where relative image paths start; by the captions by default.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="What to call these captions; their file's name by default.")] = None,
    split_column: Annotated[
        str | None, typer.Option(help="The column with a row's split, to rank one split of it:")
    ] = None,
    split: Annotated[str | None, typer.Option(help="the split to rank; test by default.")] = None,
    layout: Layout = None,
    image_column: ImageColumn = None,
    caption_column: CaptionColumn = None,
    id_column: IdColumn = None,
    family_column: FamilyColumn = None,
    url_column: UrlColumn = None,
    txt: Txt = None,
    ks: Annotated[str, typer.Option(help="The K of R@K.")] = "1,5,10",
    out: Annotated[Path | None, typer.Option(help="The file of ranks to write, .parquet.")] = None,
    as_json: Json = False,
) -> None:
    """Recall at K with 95 % intervals, both directions.

    Of a run alone: the results on its own test splits. With captions: the
    model's ranks on them, by the same code as a study's.
    """
    from hnclip.model_spec import is_run
    from hnclip.report.recalls import read_ranks, recalls

    wanted = parse_ks(ks)
    if split and not split_column:
        raise typer.BadParameter("it names a value of --split-column: give that too", param_hint="--split")
    if captions is None:
        if not is_run(model):
            raise ValueError(
                f"{model} is no folder of a finished run; to rank captions by any model, name them behind it"
            )
        paths = [Path(model) / "ranks.parquet", *sorted((Path(model) / "eval").glob("*.parquet"))]
        rows = [row for path in paths if len(found := read_ranks(path)) for row in recalls(found, wanted)]
        _print(rows, {"model": model}, as_json)
        return
    called = _name(captions, name)
    split = (split or "test") if split_column else "all"
    place = _place(model, captions, f"{called}/{split}", out, is_run(model))
    options = given(
        captions=captions,
        images=images and str(images),
        layout=layout,
        image_column=image_column,
        caption_column=caption_column,
        id_column=id_column,
        family_column=family_column,
        url_column=url_column,
        txt=txt,
        split_column=split_column,
    )
    _evaluate(model, options, called, split, place, wanted, as_json)


def _name(captions: str, name: str | None) -> str:
    """What the captions are called, also as a file. Raises ValueError for a name that a file should not have."""
    import re

    path, other = Path(captions), r"[^A-Za-z0-9_-]+"
    if name and re.search(other, name):
        raise ValueError(f"--name {name}: letters, digits, - and _ only, since the file of ranks is called so")
    return name or re.sub(other, "-", path.stem or path.absolute().name).strip("-") or "captions"


def _place(model: str, captions: str, target: str, out: Path | None, run: bool) -> Path:
    """Where the ranks go. Raises ValueError where they would replace those on others, or have no place."""
    from hnclip.report.recalls import ranked_captions, read_ranks

    if out is None and not run:
        raise ValueError(f"{model} is no run whose folder keeps its ranks: say where with --out FILE.parquet")
    place = out or Path(model) / "eval" / f"{target.partition('/')[0]}.parquet"
    if place.suffix != ".parquet":
        raise ValueError(f"--out {place}: ranks are written as .parquet")
    if place.is_file():
        there, of = set(read_ranks(place)["target"]), ranked_captions(place)
        if there != {target} or of != os.path.abspath(captions):
            which = f"{', '.join(sorted(there))}" + (f" ({of})" if of else "")
            raise ValueError(f"{place} has the ranks on {which}; call these captions otherwise, by --name or --out")
    return place


def _evaluate(model: str, options: dict, name: str, split: str, place: Path, ks: tuple, as_json: bool) -> None:
    from hnclip.evaluate_captions import evaluate_captions
    from hnclip.report.recalls import recalls

    with redirect_stdout(sys.stderr):
        found = evaluate_captions(model, options, name, split, place, say)
    rows = recalls(found.ranks, ks)
    record = {"model": model, "ranks": str(place), "images": found.images, "captions": found.captions, "cut": found.cut}
    record["trained_on"] = found.trained
    if found.trained:
        say(
            f"{found.trained} of {found.images} images are in the run's training split: these scores are on what it "
            "has seen. Rank captions of other images for scores that mean something"
        )
    if found.cut:
        share = found.cut / found.captions
        say(f"{found.cut} of {found.captions} captions ({share:.1%}) are longer than the model reads and are cut off")
    _print(rows, record, as_json)
    say(f"Ranks: {place}")


def _print(rows: list, record: dict, as_json: bool) -> None:
    if as_json:
        print_json({**record, "recalls": recall_records(rows)})
    elif rows:
        show_recalls(rows, f"Recall in percent of {record['model']} [95 % interval over families of images]")
    else:
        say("The run has no test results: its study tests it on nothing, or it tried a setting of a tuned loss.")
