"""Whether every file of ranks asks the same queries of a target, once a scoring."""

import hashlib
from collections import Counter

import pandas

from hnclip.report.load import SCORING


def check_repeats(path: str, frame: pandas.DataFrame) -> None:
    """Raise ValueError where a file ranks a query twice under one scoring."""
    repeated = frame[frame.duplicated(["target", "direction", "query", SCORING])]
    if len(repeated):
        first = repeated.iloc[0]
        raise ValueError(
            f"{path} ranks {len(repeated)} queries twice, such as {first['query']!r} ({first['direction']}, "
            f"{first['target']}, scoring {first[SCORING]}); evaluate its cell anew"
        )


def check_queries(ranks: list[tuple[str, pandas.DataFrame]], way_out: str = "run their rules again") -> None:
    """Raise ValueError where a file, under any scoring, asks other queries of a target than most, or another gallery.

    `ranks` holds (path, rows); every culprit is named, and `way_out` says what to do about them.
    """
    groups: dict[tuple[str, str], list[tuple[str, str, tuple]]] = {}
    for path, frame in ranks:
        for (target, direction, scoring), rows in frame.groupby(["target", "direction", SCORING], sort=False):
            groups.setdefault((target, direction), []).append((path, scoring, _asked(rows)))
    wrong = []
    for (target, direction), found in groups.items():
        usual, _ = Counter(asked for _, _, asked in found).most_common(1)[0]
        for path, scoring, asked in found:
            if asked[:2] != usual[:2]:
                what = f"{_sizes(asked)}, where others have {_sizes(usual)}"
            else:
                what = "other queries or families than the other files"
            wrong += [f"{path} ({target}, {direction}, scoring {scoring}): {what}"] if asked != usual else []
    if wrong:
        raise ValueError("files of one target do not rank the same queries:\n  " + "\n  ".join(wrong) + f"\n{way_out}")


def _asked(rows: pandas.DataFrame) -> tuple[int, tuple[int, ...], str]:
    """Number of queries, gallery sizes, and a digest of the queries with their families."""
    named = sorted((rows["query"] + "\t" + rows["family"]).tolist())
    digest = hashlib.sha256("\n".join(named).encode()).hexdigest()
    return len(rows), tuple(sorted(rows["gallery"].unique().tolist())), digest


def _sizes(asked: tuple[int, tuple[int, ...], str]) -> str:
    return f"{asked[0]} queries against a gallery of {' or '.join(map(str, asked[1]))}"
