"""Judged comparisons of one group put into sentences; every word of a verdict follows from the numbers."""

from hnclip.report.data_notes import mark, seen_words
from hnclip.report.format import bounds, p_words, signed
from hnclip.report.judged import BETTER, NO_INTERVAL, NOT_SHOWN, WORSE, Judged
from hnclip.report.load import Study
from hnclip.report.methods import Setting, setting_words, settings

MOST = 3  # comparisons of a group that are told one by one; more are counted


def outcome_words(rows: list[Judged]) -> str:
    """The outcome of a group in a few words; where some rows have several seeds, those alone speak."""
    several = [row for row in rows if row.seeds > 1]
    spoken = several or rows
    outcomes = {row.outcome for row in spoken}
    words = spoken[0].outcome if len(outcomes) == 1 else _counts(spoken)
    if len(spoken) == 1:
        words += f", {_numbers(spoken[0])}"
    elif len(outcomes) == 1:
        words += f" in all {len(spoken)}"
    if several:
        return words
    return f"{words}, one seed: these weights"


def sentences(study: Study, words: str, rows: list[Judged]) -> str:
    """What a group found: rows of several seeds one by one where they are few, then the count of those with one."""
    several = [row for row in rows if row.seeds > 1]
    lone = [row for row in rows if row.seeds == 1]
    if not several and len(lone) == 1:
        several, lone = lone, []
    told = "; ".join(_row(study, row) for row in several) if len(several) <= MOST else _counted(several)
    parts = [told] if told else []
    if lone:
        parts.append(f"with one seed each, so of these weights alone: {_counted(lone)}")
    seen = dict.fromkeys((row.a.train, row.target) for row in rows if mark(study, row.a.train, row.target))
    parts += [f"images were trained on: {seen_words(study, *pair)}" for pair in seen]
    return f"{words}: {'; '.join(parts)}."


def _row(study: Study, row: Judged) -> str:
    several = len(settings(study)) > 1
    where = f"{setting_words(study, Setting(row.a.backbone, row.a.train, row.a.framework))}, " if several else ""
    p = p_words(row.adjusted)
    seeds = "1 seed, these weights" if row.seeds == 1 else f"{row.seeds} seeds"
    said = f"adjusted p {p if p.startswith('<') else f'= {p}'}, {seeds}, N = {row.queries}"
    return f"{where}{row.a.label} against {row.b.label}: {row.outcome}, {_numbers(row)} ({said})"


def _numbers(row: Judged) -> str:
    return f"{signed(row.points)} points {bounds(row.low, row.high)}"


def _counted(rows: list[Judged]) -> str:
    points = sorted(row.points for row in rows)
    queries = " or ".join(map(str, sorted({row.queries for row in rows})))
    return f"{_counts(rows)} ({signed(points[0])} to {signed(points[-1])} points, N = {queries})"


def _counts(rows: list[Judged]) -> str:
    """`better in 2, worse in 1, no difference shown in 4 of 7`."""
    outcomes = [row.outcome for row in rows]
    found = [f"{name} in {outcomes.count(name)}" for name in (BETTER, WORSE, NOT_SHOWN) if name in outcomes]
    found += [f"{NO_INTERVAL} in {outcomes.count(NO_INTERVAL)}"] if NO_INTERVAL in outcomes else []
    return f"{', '.join(found)} of {len(rows)}"
