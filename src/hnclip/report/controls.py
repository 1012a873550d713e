"""What each loss gains over plain fine-tuning, boosted and controls alike: paired differences with their intervals."""

from typing import NamedTuple

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hnclip.report import estimates, style
from hnclip.report.beside_plain import Pair, plain_pairs
from hnclip.report.data_notes import MARK, mark, seen_words
from hnclip.report.load import Study, test_targets
from hnclip.report.methods import settings
from hnclip.report.notes import count_words

LINE = 0.19  # inches a row
LEFT, RIGHT, TOP, BOTTOM, GAP = 3.1, 0.15, 0.35, 0.5, 0.25  # inches: words, edge, title, axis, between panels
WIDTH = 2.9  # of a panel
STANDINGS = ("as given", "tuned on validation")


class Block(NamedTuple):
    """Pairs of one backbone, training set and standing, which share a panel a test split."""

    backbone: str
    train: str
    tuned: bool


def draw_controls(study: Study) -> Figure:
    """A panel a test split and standing: a row a loss, its difference of R@1 to plain of the same standing."""
    targets = test_targets(study)
    blocks: dict[Block, list[Pair]] = {}
    for setting in settings(study):
        for a, b in plain_pairs(study, setting):
            if any(estimates.paired(study, a, b, target) for target in targets):
                blocks.setdefault(Block(a.backbone, a.train, a.tuned), []).append((a, b))
    if not blocks:
        return style.empty("No controls: the study has no loss beside a plain one of the same framework and seeds.")
    blocks = dict(sorted(blocks.items(), key=lambda item: item[0].tuned))
    figure, axes = _panels([len(pairs) for pairs in blocks.values()], len(targets))
    for row, (block, pairs) in zip(axes, blocks.items(), strict=True):
        words = _row_words(pairs)
        for panel, target in zip(row, targets, strict=True):
            _panel(study, panel, target, pairs)
            panel.set_title(f"{_where(blocks, block)}{target}{mark(study, block.train, target)}", loc="left")
        row[0].set_yticks(range(len(words)), words)
    for panel in axes[-1]:
        panel.set_xlabel("difference of R@1 to plain, points of percent")
    _note(study, figure, axes, blocks, targets)
    return figure


def _panels(counts: list[int], columns: int) -> tuple[Figure, list[list[Axes]]]:
    """A row of panels a block, as high as it has rows."""
    heights = [LINE * (count + 1) for count in counts]
    width = LEFT + columns * WIDTH + (columns - 1) * GAP + RIGHT
    height = sum(heights) + TOP * len(heights) + BOTTOM
    figure, axes = pyplot.subplots(
        len(counts),
        columns,
        squeeze=False,
        sharex=True,
        sharey="row",
        figsize=(width, height),
        gridspec_kw={"height_ratios": heights},
    )
    between = len(heights) * TOP / sum(heights)
    figure.subplots_adjust(
        left=LEFT / width,
        right=1 - RIGHT / width,
        bottom=BOTTOM / height,
        top=1 - TOP / height,
        wspace=GAP / WIDTH,
        hspace=between,
    )
    return figure, axes.tolist()


def _panel(study: Study, axes: Axes, target: str, pairs: list[Pair]) -> None:
    axes.axvline(0, color=style.GREY, linewidth=0.8)
    axes.grid(axis="x")
    axes.grid(visible=False, axis="y")
    for nth, (a, b) in enumerate(pairs):
        got = estimates.paired(study, a, b, target)
        if got is None:
            axes.text(0, nth, " not evaluated", va="center", color=style.GREY, fontsize=7)
            continue
        look = {"color": style.colour(a), "marker": style.MARKERS.get(a.kind, "o"), "markersize": 4.5}
        axes.plot([got["low"], got["high"]], [nth, nth], color=look["color"], linewidth=1.4)
        fill = "white" if got["seeds"] == 1 else look["color"]
        axes.plot([got["score"]], [nth], linestyle="none", markerfacecolor=fill, **look)
    axes.set_ylim(len(pairs) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)


def _row_words(pairs: list[Pair]) -> list[str]:
    """The loss, with its framework in front where the panel has several."""
    several = len({a.framework for a, _ in pairs}) > 1
    return [f"{a.framework}: {a.label}" if several else a.label for a, _ in pairs]


def _where(blocks: dict[Block, list[Pair]], block: Block) -> str:
    """What tells this row of panels from the others, before its test split."""
    varied = [name for name in ("backbone", "train") if len({getattr(other, name) for other in blocks}) > 1]
    return "".join(f"{word}, " for word in (*(getattr(block, name) for name in varied), STANDINGS[block.tuned]))


def _note(study: Study, figure: Figure, axes: list[list[Axes]], blocks: dict, targets: list[str]) -> None:
    """Under the panels: N, seeds, what the intervals are, what a mark stands for."""
    counts = [f"{target}: {count_words(study, target)}" for target in targets]
    found = [estimates.paired(study, a, b, t) for pairs in blocks.values() for a, b in pairs for t in targets]
    seeds = sorted({got["seeds"] for got in found if got})
    several = " to ".join(map(str, dict.fromkeys((seeds[0], seeds[-1]))))
    lines = [
        f"{'; '.join(counts)}. Seeds a row: {several}; hollow: one seed, whose bar is that of its weights alone.",
        f"Bars: paired {study.options.confidence:.0%} intervals. A loss stands beside plain at its own fixed scale "
        "where there is one, else at the learned",
        "scale; plain at a fixed scale stands beside the learned one; tuned losses beside tuned plain.",
    ]
    pairs = dict.fromkeys((block.train, target) for block in blocks for target in targets)
    lines += [f"{MARK} {seen_words(study, *pair)}" for pair in pairs if pair in study.seen]
    x = axes[-1][0].get_position().x0 - 0.9 * LEFT / figure.get_figwidth()
    figure.text(x, 0.0, "\n".join(lines), ha="left", va="top", fontsize=7.5, color=style.GREY)
