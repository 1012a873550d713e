"""What `hnclip doctor` prints for people: the verdict, the main numbers in small tables, and what to do."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from hnclip.cli.output import console, say, table
from hnclip.doctor.diagnosis import Diagnosis
from hnclip.doctor.notes import loud
from hnclip.doctor.percent import percent
from hnclip.doctor.verdict import GAMMA, adaptive, constant

OF = "of a caption"  # the column of words
COLOURS = {"kind": "green", "toy": "cyan", "few": "white", "one": "white"}


@contextmanager
def progress() -> Iterator[Callable[[str, int, int], None]]:
    """A function that is told what is done and how far: a bar on a terminal, a line a step elsewhere, on stderr."""
    if not sys.stderr.isatty():
        yield lambda what, done, of: None if done else say(f"{what} ...")
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, int] = {}

        def told(what: str, done: int, of: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=of)
            bar.update(tasks[what], completed=done)

        yield told


def show(found: Diagnosis, page: Path | None) -> None:
    """The report; texts of the data are shown as they are."""
    out = console()
    for words in loud(found):
        out.print(Panel(Text(words.replace("`", "")), border_style="red", title="a toy model", title_align="left"))
    out.print(_verdict(found))
    for part in (_lengths(found), _buckets(found), _batches(found)):
        for shown in part:
            out.print(shown)
    out.print(Text(f"\n{_duplicates(found)}"))
    _worth(found, out)
    if found.verdict.suggestion.losses:
        out.print(Text("\nTo try, in a study's config (hnclip init writes one):", style="bold"))
        out.print(Text(found.verdict.suggestion.yaml))
    out.print(Text("Why: " + found.verdict.suggestion.reason.replace("`", "")))
    for words in found.verdict.remarks:
        out.print(Text(f"• {words.replace('`', '')}"))
    if page:
        out.print(Text(f"\nThe page with plots, clusters and near-twins: {page}", style="bold"))


def _verdict(found: Diagnosis) -> Panel:
    verdict = found.verdict
    lines = [Text(sentence.replace("`", "")) for sentence in verdict.sentences]
    style = COLOURS.get(verdict.kind, "yellow")
    return Panel(Group(*lines), title=Text(verdict.headline, style="bold"), title_align="left", border_style=style)


def _lengths(found: Diagnosis) -> list[Text | Table]:
    said = found.lengths.record
    rows = [
        (name, f"{of['n']:,}", *(f"{of[key]:,.0f}" for key in ("least", "median", "mean", "p95", "most")))
        for name, of in (("words", said["words"]), ("tokens", said["tokens"]))
    ]
    cuts = "; ".join(
        f"at {cut.context}{' (this model)' if cut.context == found.lengths.context else ''} "
        f"{percent(cut.captions)} cut, {percent(cut.tokens)} of all tokens lost"
        for cut in found.lengths.cuts
    )
    columns = (OF, "N", "least", "median", "mean", "95 %", "most")
    return _titled("Length", columns, rows, cuts)


def _buckets(found: Diagnosis) -> list[Text | Table]:
    alike = found.alike
    if alike is None:
        return []
    count = len(alike.rows_M)
    title = f"Cosine with the hardest companion, by {alike.encoder}{' (a toy)' * alike.toy}, N = {count:,}"
    names, counts = zip(*alike.buckets, strict=True)
    words = f"mean of all pairs {alike.geometry.mean:.2f}, of hardest companions {alike.geometry.mean_hardest:.2f}"
    rows = [[f"{one:,}" for one in counts], [percent(one / count) for one in counts]]
    return _titled(title, names, rows, words)


def _batches(found: Diagnosis) -> list[Text | Table]:
    alike = found.alike
    if alike is None:
        return []
    repeated = {one.batch: one for one in found.repeated}
    solved = {point.batch: percent(point.solved) for point in found.start.own} if found.start else {}
    columns = ["pairs", "hardest cosine", "twins ≥ .8", "copies", "near copies", "boost: to all", "hardest more"]
    columns += ["solved at the start"] if solved else []
    rows = []
    for one in alike.batches:
        copies = repeated.get(one.batch)
        row = [str(one.batch), f"{one.hardest:.2f}", f"{one.twins:.2f}"]
        row += [f"{copies.exact:.2f}", f"{copies.near:.2f}"] if copies else ["–", "–"]
        row += [f"{constant(one, alike.scale):.1f}", f"{adaptive(one, alike.scale):.1f}"]
        rows.append(row + ([solved.get(one.batch, "–")] if solved else []))
    title = f"What a caption meets in a random batch (boost in logits: γ = {GAMMA:g} at s = {alike.scale:.0f})"
    return _titled(title, columns, rows, "")


def _titled(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], note: str) -> list[Text | Table]:
    """A table with its title above and its note below, neither of them folded to the table's width."""
    made = table("", columns, rows, [name for name in columns if name != OF])
    made.title = None
    return [Text(f"\n{title}", style="bold"), made, *([Text(note)] if note else [])]


def _duplicates(found: Diagnosis) -> str:
    repeats, count = found.repeats, len(found.captions.rows)
    exact, near = repeats.rows(repeats.exact), repeats.rows(repeats.near)
    return (
        f"Duplicates: {exact:,} of {count:,} captions have another image's words ({len(repeats.exact):,} clusters), "
        f"{near:,} are near copies ({len(repeats.near):,} clusters)."
    )


def _worth(found: Diagnosis, out: Console) -> None:
    lines = [*found.captions.told, *found.captions.warnings.lines(3)]
    if lines:
        out.print(Text("\nWorth a look:", style="bold"))
        for line in lines:
            out.print(Text(f"  {line}"))
