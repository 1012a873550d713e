"""Is it dense captions that saturate InfoNCE, or a contrast of few pairs? A table and a sentence."""

from collections.abc import Callable
from itertools import chain

import pandas

from hnclip.report.format import name_columns, names, percent
from hnclip.report.load import Study
from hnclip.report.methods import Method, Setting, setting_words
from hnclip.report.model_embeddings import Embedded, embedded_cells, frozen, read_cell
from hnclip.report.solved import CONTRASTS, SOLVED, curve
from hnclip.report.writer import Table

COLUMNS = (
    "backbone train framework loss label seed split images scale batch draws solved loss_x1000 gap_x100 needed_x100"
).split()
FEW = 16  # pairs that a micro-batch of the paper's recipe contrasts
HALF = 0.5  # of the batches solved at FEW: where more contrast leaves fewer of them solved, it is the contrast
RARE = 5.0  # per cent of batches solved below which nothing is saturated
NOTHING = "No saturation: the study embeds no trained cell, and no backbone together with its scale."
GAPS = (
    "Gap: cosine of a pair minus that of its hardest negative in the batch, mean over pairs and both directions. In "
    f"brackets ln((B - 1) / (exp({SOLVED:g}) - 1)) / s: the loss were {SOLVED:g} if every negative lay that far below."
)


def saturation_points(study: Study) -> pandas.DataFrame:
    """COLUMNS and `method`: a row a model, split and contrast; solved in per cent, loss and gaps times 1000 and 100."""
    trained = (model for found in embedded_cells(study) for model in read_cell(*found))
    rows = [row for model in chain(trained, frozen(study)) if model.scale is not None for row in _rows(model)]
    return pandas.DataFrame(rows, columns=[*COLUMNS, "method"])


def _rows(model: Embedded) -> list[dict]:
    named = {name: getattr(model.method, name) for name in ("backbone", "train", "framework", "loss", "label")}
    named |= {"seed": model.seed, "split": model.split, "images": len(model.image_ID), "scale": model.scale}
    return [
        named
        | {"method": model.method, "batch": point.batch, "draws": point.draws, "solved": 100 * point.solved}
        | {"loss_x1000": 1000 * point.loss, "gap_x100": 100 * point.gap, "needed_x100": 100 * point.needed}
        for point in curve(model)
    ]


def saturation_table(study: Study) -> tuple[list[Table], pandas.DataFrame]:
    """Two tables by model, split and contrast: the share of solved batches; the gap, and the gap that would do."""
    points = saturation_points(study)
    frame = points[COLUMNS].astype({"seed": "Int64"})
    if points.empty:
        return [Table("Saturation of plain InfoNCE by contrast", [], [], [NOTHING])], frame
    columns = name_columns(study, list(points["method"].unique()))
    header = [*columns, "loss", "split", "s", "seeds", *(f"B = {batch}" for batch in CONTRASTS)]
    groups = list(points.groupby(["method", "split"], sort=False))
    more = {"rules": [n for n in range(1, len(groups)) if groups[n][0][0] != groups[n - 1][0][0]]}
    more["words"] = len(columns) + 2
    solved, gaps = ([_cells(columns, *key, rows, words) for key, rows in groups] for words in (_solved, _gap))
    notes = [*saturation_verdicts(study, points), *_notes(study, points)]
    return [
        Table("Random batches of B pairs that plain InfoNCE has solved (%)", header, solved, notes, **more),
        Table("Gap of the positive over its hardest negative (gap that would do)", header, gaps, [GAPS], **more),
    ], frame


def _cells(columns: list[str], method: Method, split: str, rows: pandas.DataFrame, words: Callable) -> list[str]:
    """A row of a table; numbers are means over seeds."""
    mean = rows.groupby("batch")[["scale", "solved", "gap_x100", "needed_x100"]].mean()
    seeds = rows["seed"].nunique()
    cells = [words(mean.loc[batch]) if batch in mean.index else "–" for batch in CONTRASTS]
    named = [*names(method, columns), method.label, split]
    return [*named, f"{mean['scale'].iloc[0]:.1f}", str(seeds) if seeds else "–", *cells]


def _solved(mean: pandas.Series) -> str:
    return percent(mean["solved"])


def _gap(mean: pandas.Series) -> str:
    return f"{mean['gap_x100'] / 100:.3f} ({mean['needed_x100'] / 100:.3f})".replace("-", "−")


def saturation_verdicts(study: Study, points: pandas.DataFrame) -> list[str]:
    """For each plain method its answer: is it dense captions that saturate InfoNCE, or a contrast of FEW pairs?"""
    plain = points[[method.kind == "plain" for method in points["method"]]]
    return [_verdict(study, method, rows) for method, rows in plain.groupby("method", sort=False)]


def _verdict(study: Study, method: Method, rows: pandas.DataFrame) -> str:
    split = f"{method.train}/{study.config['benchmarks'][method.train].get('train')}"
    split = split if (rows["split"] == split).any() else rows["split"].iloc[0]
    solved = rows[rows["split"] == split].groupby("batch")["solved"].mean()
    where = (
        f"{setting_words(study, Setting(method.backbone, method.train, method.framework))}, {method.label}, on {split}"
    )
    if FEW not in solved or solved.index[-1] == FEW:
        return f"{where}: too few images to compare a contrast of {FEW} with a larger one."
    few, most = solved[FEW], solved.iloc[-1]
    shares = ", ".join(f"{solved[batch]:.1f} % of {batch}" for batch in (FEW, 128, 512) if batch in solved)
    if few < RARE:
        answer = f"InfoNCE is not saturated even at a contrast of {FEW}."
    elif most < HALF * few:
        answer = f"It is the contrast of {FEW} that saturates InfoNCE, not the captions alone."
    else:
        answer = (
            f"A contrast of {solved.index[-1]} saturates as well: it is not the contrast of {FEW}, but captions so "
            "rich that each tells its image, or a split learnt by heart."
        )
    return f"{where}: of random batches are solved {shares}. {answer}"


def _notes(study: Study, points: pandas.DataFrame) -> list[str]:
    batches = points.drop_duplicates("batch").sort_values("batch")
    drawn = ", ".join(f"{row.draws} of {row.batch}" for row in batches.itertuples())
    sizes = points.drop_duplicates("split")
    notes = [
        f"Solved: plain InfoNCE of the batch, both directions averaged, is below {SOLVED:g}, at the model's own s and "
        "after its last epoch; no boost is added, whatever the model was trained with.",
        f"Batches: random images with one random caption each, the same for every model ({drawn}); splits have "
        + ", ".join(f"{row.images} images ({row.split})" for row in sizes.itertuples())
        + ". Numbers are means over seeds; cells on all training data only. Batches of one split share images, so "
        "shares at large B are rough.",
        f"The words follow from plain rows on the training split: less than {HALF:.0%} of the share at {FEW} left at "
        f"the largest contrast speaks for the contrast, a share below {RARE:g} % at {FEW} for no saturation.",
    ]
    told = {(model.method.backbone, model.split) for model in frozen(study) if model.scale is None}
    if told:
        named = ", ".join(" on ".join(key) for key in sorted(told))
        notes.append(
            f"Left out, since their files do not tell s: frozen {named}; delete these embeddings and run again."
        )
    return notes
