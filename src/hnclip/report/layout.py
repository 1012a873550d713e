"""Where the panels of a figure stand: a row a setting with its lines named beside them, or many settings wrapped."""

from collections.abc import Iterator
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hnclip.report import style
from hnclip.report.data_notes import MARK, mark, seen_words
from hnclip.report.load import Study
from hnclip.report.methods import Setting, setting_words
from hnclip.report.notes import count_words

MANY = 3  # settings; more are wrapped
COLUMNS = 4  # panels beside each other where they are wrapped
Ends = list[tuple[str, float, float, str]]  # a line's words, the x and y of its end, its colour


@dataclass(frozen=True)
class Layout:
    """A figure and its panels by setting and test split; `edges` are the panels at the left."""

    figure: Figure
    panels: dict[tuple[Setting, str], Axes]
    edges: dict[Axes, str]
    wrapped: bool

    def __iter__(self) -> Iterator[tuple[Axes, Setting, str]]:
        return ((panel, *key) for key, panel in self.panels.items())


def lay_out(settings: list[Setting], targets: list[str]) -> Layout:
    """Few settings: a row each, a column a test split. More: COLUMNS beside each other, test split after test split."""
    wrapped = len(settings) > MANY
    if not wrapped:
        figure, axes = style.panels(len(settings), len(targets), right=1.6)
        panels = {(s, t): axes[row][column] for row, s in enumerate(settings) for column, t in enumerate(targets)}
        return Layout(figure, panels, {row[0]: targets[0] for row in axes}, wrapped)
    rows = -(-len(settings) // COLUMNS)
    columns = -(-len(settings) // rows)
    figure, axes = style.panels(rows * len(targets), columns)
    panels, edges = {}, {}
    for nth, target in enumerate(targets):
        block = axes[nth * rows : (nth + 1) * rows]
        flat = [panel for row in block for panel in row]
        panels |= {(setting, target): panel for setting, panel in zip(settings, flat, strict=False)}
        edges |= {row[0]: target for row in block}
        for panel in flat[len(settings) :]:
            panel.axis("off")
    return Layout(figure, panels, edges, wrapped)


def finish(study: Study, layout: Layout, ends: dict[Axes, Ends], x_words: str, y_words: str) -> None:
    """Titles, words of the axes, and the lines' names: beside them, or in one legend where panels are wrapped."""
    for panel, setting, target in layout:
        words = setting_words(study, setting)
        count = "" if layout.wrapped else f" ({count_words(study, target)})"  # no room beside other panels
        panel.set_title(f"{words} on {target}{mark(study, setting.train, target)}{count}", loc="left")
        if not layout.wrapped:
            style.name_lines(panel, ends[panel])
    for panel, target in layout.edges.items():
        panel.set_ylabel(f"{target} ({count_words(study, target)})\n{y_words}" if layout.wrapped else y_words)
    lowest = {panel.get_subplotspec().colspan.start: panel for panel, _, _ in layout}
    for panel in lowest.values():  # the last one of its column may stand above an empty place
        panel.set_xlabel(x_words)
        panel.tick_params(labelbottom=True)
    if layout.wrapped:
        _legend(layout)
    _note(study, layout)


def _note(study: Study, layout: Layout) -> None:
    """Under the panels, what their marks stand for."""
    pairs = dict.fromkeys((setting.train, target) for _, setting, target in layout)
    said = [f"{MARK} {seen_words(study, *pair)}" for pair in pairs if pair in study.seen]
    if said:
        x = next(iter(layout.edges)).get_position().x0
        layout.figure.text(x, 0.0, "\n".join(said), ha="left", va="top", fontsize=8, color=style.GREY)


def _legend(layout: Layout) -> None:
    """Every line of the figure once, above the panels."""
    named = {}
    for panel, _, _ in layout:
        handles, labels = panel.get_legend_handles_labels()
        named |= {label: handle for label, handle in zip(labels, handles, strict=True) if label not in named}
    place = (next(iter(layout.edges)).get_position().x0, 1.0)
    keys, words = list(named.values()), list(named)
    layout.figure.legend(keys, words, loc="lower left", bbox_to_anchor=place, ncols=COLUMNS, frameon=False)
