"""`hnclip init`: a ready study for a folder of images and captions."""

import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer

from hnclip.cli.output import Json, console, print_json, say, table
from hnclip.cli.source import CaptionColumn, FamilyColumn, IdColumn, ImageColumn, Layout, Txt, UrlColumn, given

EXAMPLES = """Examples:
[bold]hnclip init my_images[/bold]  asks, and finds the captions in the folder
[bold]hnclip init my_images --captions list.csv --images photos --yes[/bold]
[bold]hnclip init my_study --embeddings embeddings.parquet[/bold]  seconds a cell

The study is my_images/study.yaml. Paths in it start in its folder, and its
results land there, wherever you call [bold]hnclip run my_images[/bold] from."""
TOY = "The model `tiny` is a toy of 3.5 million parameters: good to see that all works, not for real work."
FEW = 100  # test images below which results say little
FEW_STEPS = (
    300  # of a training with the paper's recipe, which is made for 754: 9,647 images, 10 epochs, 128 pairs a step
)


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The study's folder; made where it is not there.")],
    captions: Annotated[
        str | None, typer.Option(help="The captions: a table, a folder ...; found in DIR by default.")
    ] = None,
    images: Annotated[Path | None, typer.Option(help="Where relative image paths start; found by default.")] = None,
    embeddings: Annotated[
        Path | None,
        typer.Option(help="Embeddings instead: .parquet with id, image, text, as `hnclip embed` writes it."),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="What training starts from: tiny (a toy), MODEL:TAG of open_clip, a file, a run.")
    ] = None,
    frameworks: Annotated[
        str | None, typer.Option("--frameworks", "--framework", help="Such as longclip,goal,lora; longclip by default.")
    ] = None,
    losses: Annotated[str | None, typer.Option(help="Such as infonce,hn,margin; infonce,hn by default.")] = None,
    seeds: Annotated[str | None, typer.Option(help="42,43,44 by default.")] = None,
    name: Annotated[str | None, typer.Option(help="The study's name; the folder's by default.")] = None,
    split: Annotated[
        str | None, typer.Option(help="80/10/10, or column:NAME, or lists:TRAIN.txt,VALIDATION.txt,TEST.txt.")
    ] = None,
    layout: Layout = None,
    image_column: ImageColumn = None,
    caption_column: CaptionColumn = None,
    id_column: IdColumn = None,
    family_column: FamilyColumn = None,
    url_column: UrlColumn = None,
    txt: Txt = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing: take what is found and the defaults.")] = False,
    as_json: Json = False,
) -> None:
    """Write a study for your images and captions.

    On a terminal it asks for what you did not say. It looks at every image and
    caption and names all faults at once; then it writes nothing.
    """
    from hnclip.new_study import write
    from hnclip.new_study.benchmark import of_captions, of_embeddings

    if (folder / write.FILE).exists():
        raise ValueError(f"{folder / write.FILE} is there already: change it, or move it away to begin anew")
    if embeddings and (captions or images or model):
        raise typer.BadParameter("--embeddings stands for captions, images and model: give it alone")
    ask = sys.stdin.isatty() and not yes and not as_json
    made = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        known = write.base()
        study, data = write.names(name or folder.resolve().name, known)
        if embeddings:
            benchmark, told = of_embeddings(embeddings, folder, split, family_column)
        else:
            columns = given(
                layout=layout,
                image_column=image_column,
                caption_column=caption_column,
                id_column=id_column,
                family_column=family_column,
                url_column=url_column,
                txt=txt,
            )
            benchmark, told = of_captions(captions or _find(folder, ask), images, columns, folder, split)
        for line in told:
            say(line)
        chosen = {"model": model, "frameworks": frameworks, "losses": losses, "seeds": seeds}
        wanted = _wanted(study, data, benchmark, chosen, folder, known, embeddings, ask)
        _check_and_write(wanted, folder, as_json)
    finally:
        if made and not any(folder.iterdir()):  # nothing came of it
            folder.rmdir()


def _find(folder: Path, ask: bool) -> str:
    """The captions in the folder, or where a person says that they are."""
    from hnclip.new_study.found import find_captions

    try:
        found = str(find_captions(folder))
    except ValueError as error:
        if not ask:
            raise
        say(str(error))
        return typer.prompt("Where are the captions (a table or a folder)")
    say(f"captions: {found}")
    return found


def _wanted(
    study: str, data: str, benchmark: dict, chosen: dict, folder: Path, known: dict, embeddings: Any, ask: bool
) -> Any:
    """The study put together from what was said, asked for, or taken by default."""
    from hnclip.new_study import write
    from hnclip.new_study.text import Wanted

    def choice(what: str, question: str, default: str) -> str:
        return chosen[what] or (typer.prompt(question, default=default) if ask else default)

    if embeddings:
        model, entry = "embedded", {"kind": "embeddings", "file": benchmark["options"]["file"]}
        frameworks = _listed(chosen["frameworks"] or "adapter")
    else:
        model = choice("model", "Model to start from (tiny, or MODEL:TAG of open_clip, or a file)", "tiny")
        model, entry = write.backbone(model, folder.resolve(), known)
        frameworks = _listed(
            choice("frameworks", "Frameworks (longclip, finelip, goal, structxlip, lora ...)", "longclip")
        )
    losses = _listed(choice("losses", "Losses (infonce: plain, hn: boosted, margin ...)", "infonce,hn"))
    seeds = _listed(choice("seeds", "Seeds", "42,43,44"))
    if not all(seed.isdigit() for seed in seeds):
        raise ValueError(f"--seeds: whole numbers with commas between them, such as 42,43,44; got {', '.join(seeds)}")
    pictures = entry is None or not embeddings
    if pictures and write.needs_regions(frameworks, known):
        options = benchmark.pop("options")
        benchmark |= {"segments": "felzenszwalb", "options": options}
    own = write.own_entries(model, frameworks, known) if entry and not embeddings else {}
    recipe = not embeddings and set(frameworks) != {"adapter"}  # whose own recipe goes before the study's
    return Wanted(study, data, benchmark, model, entry, frameworks, losses, [int(s) for s in seeds], own, recipe)


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _check_and_write(wanted: Any, folder: Path, as_json: bool) -> None:
    from hnclip.new_study import write
    from hnclip.new_study.text import updates

    say("Looking at all of the data ...")
    with redirect_stdout(sys.stderr):
        sizes = write.checked(wanted, folder.resolve())
    run = f"hnclip run {shlex.quote(str(folder))}"
    path = write.write(wanted, folder.resolve(), run)
    cells = len(wanted.frameworks) * len(wanted.losses) * len(wanted.seeds)
    if as_json:
        splits = {split: vars(size) for split, size in sizes.items()}
        print_json({"study": str(folder / path.name), "splits": splits, "trainings": cells, "next": run})
        return
    rows = [
        (split, f"{size.images:,}", f"{size.captions:,}", f"{size.captions / size.images:.1f}")
        for split, size in sorted(sizes.items(), key=lambda item: -item[1].images)
    ]
    numbers = ("images", "captions", "captions an image")
    console().print(table("What the study has", ("split", *numbers), rows, numbers))
    tested = [sizes[split].images for split in wanted.benchmark["test"] if split in sizes]
    if tested and min(tested) < FEW:
        say(
            f"Only {min(tested)} test images: differences of a few points will not show. --split can give the test more"
        )
    _say_unused(sizes, wanted.benchmark)
    train = sizes.get(wanted.benchmark["train"])
    steps = updates(wanted, train.images) if train else None
    if steps is not None and steps < FEW_STEPS:
        say(
            f"The recipe is the paper's, made for some 750 steps; {train.images:,} images give {steps}. For more: "
            "fewer batches a step (`accumulate`), more `epochs`, or a larger `lr`"
        )
    if wanted.model == "tiny":
        say(TOY)
    typer.echo(f"Wrote {folder / path.name}: {cells} training{'s' * (cells != 1)}. Next:")
    typer.echo(f"  {run}")
    typer.echo(f"  {run} --dry-run        # only says what that would do")


def _say_unused(sizes: dict, benchmark: dict) -> None:
    """Splits that the study leaves alone, such as the `restval` of COCO, and how one is used."""
    used = {benchmark["train"], benchmark["validation"], *benchmark["test"]}
    unused = {split: f"{size.images:,} images" for split, size in sizes.items() if split not in used}
    if unused:
        names = ", ".join(f"{split} ({images})" for split, images in unused.items())
        first = next(iter(unused))
        say(f"Not used: {names}. `merge_splits: {{{first}: train}}` in the benchmark's options counts one as another")
