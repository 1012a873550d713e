"""Sentences that stand under the tables: how the numbers were made, and what they do not say."""

import json

from hnclip.report import estimates
from hnclip.report.load import ZERO_SHOT, Study

SMALL = 30  # images; a gallery below it says little


def size_notes(study: Study, target: str) -> list[str]:
    """How many queries against how many items, each way; a gallery of few images is said to be small."""
    found = study.sizes[target]
    families = study.ranks.loc[study.ranks["target"] == target, "family"].nunique()
    words = {"t2i": ("captions", "images"), "i2t": ("images", "captions")}
    each = [
        f"{found[d][0]} {words[d][0]} search {found[d][1]} {words[d][1]}" for d in estimates.DIRECTIONS if d in found
    ]
    notes = [f"N on {target}: {'; '.join(each)}; {_count(families, 'family', 'families')}."]
    images = study.images(target)
    if images < SMALL:
        notes.append(
            f"N is small: {target} has {_count(images, 'image', 'images')}, so one query more or less moves R@1 of a "
            f"direction by up to {100 / images:.1f} points of percent, and intervals over so few are rough."
        )
    return notes


def count_words(study: Study, target: str) -> str:
    """How many queries there are: `N = 64 each way`, or `N = 128 captions, 64 images`."""
    counts = {direction: queries for direction, (queries, _) in study.sizes[target].items()}
    if len(set(counts.values())) == 1:
        return f"N = {next(iter(counts.values()))} each way"
    words = {"t2i": "captions", "i2t": "images"}
    return f"N = {', '.join(f'{counts[d]} {words[d]}' for d in estimates.DIRECTIONS if d in counts)}"


def protocol_notes(study: Study) -> list[str]:
    """Which epoch, which queries, ties, K beyond the gallery, seeds, commits."""
    galleries = [gallery for found in study.sizes.values() for _, gallery in found.values()]
    notes = [
        "Last epoch, never the best one on a test split. Every query of the split counts. Ties count against the "
        "model. An image finds any of its captions; captions of the very same words stand for each other."
    ]
    beyond = [k for k in study.options.ks if galleries and k >= min(galleries)]
    if beyond:
        notes.append(f"R@K with K at or above the gallery's size is 100 by definition (K = {_list(beyond)}).")
    seeds = sorted(int(seed) for seed in study.ranks.loc[study.ranks["framework"] != ZERO_SHOT, "seed"].unique())
    if seeds:
        notes.append(f"Seeds {_list(seeds)}; the column of seeds says how many a row has. Scores are means over seeds.")
    return [*notes, *_cut_notes(study), *_warning_notes(study), *_commit_notes(study)]


def _cut_notes(study: Study) -> list[str]:
    """The share of captions that did not fit the model's context."""
    counts: dict[str, tuple[int, int]] = {}
    unknown: dict[str, None] = {}
    for text in study.runs["captions_cut"].unique():
        counts.update({name: (cut, total) for name, (cut, total) in json.loads(text).items() if cut})
        unknown |= {name: None for name, (cut, _) in json.loads(text).items() if cut is None}
    notes = [f"How many captions of {_list(unknown)} the encoder cut is not known."] if unknown else []
    if not counts:
        return notes
    words = [f"{name} {cut} of {total} ({cut / total:.1%})" for name, (cut, total) in sorted(counts.items())]
    return [
        "Captions longer than the model's context, cut there with their end token kept: " + ", ".join(words) + ".",
        *notes,
    ]


def _warning_notes(study: Study) -> list[str]:
    """What a framework said while it trained, once a framework."""
    said = study.runs[["framework", "warnings"]].drop_duplicates()
    pairs = dict.fromkeys((name, text) for name, texts in said.itertuples(index=False) for text in json.loads(texts))
    return [f"While {name} trained it was said: {text}." for name, text in pairs]


def _commit_notes(study: Study) -> list[str]:
    runs = study.runs
    commits = sorted({str(commit)[:10] for commit in runs["commit"].dropna()})
    if not commits:
        return []
    notes = [f"Trained by commit {_list(commits)}."]
    if len(commits) > 1:
        notes.append("The cells stem from several commits, which the config allows.")
    dirty = int((runs["dirty"].astype("boolean").fillna(False)).sum())
    if dirty:
        notes.append(f"{dirty} of {len(runs)} runs were trained from a working tree with uncommitted changes.")
    return notes


def interval_notes(study: Study) -> list[str]:
    """How the intervals are made and what one seed cannot say."""
    options = study.options
    return [
        f"In brackets the {options.confidence:.0%} bootstrap interval ({options.bootstrap} draws): families of alike "
        "items are drawn with replacement, together with all their queries, both directions and all seeds; with "
        "several seeds the spread between seeds beyond what the draws explain is added (Student's t).",
        "A row with one seed: its interval is that of these weights, and says nothing about another seed.",
    ]


def difference_notes(study: Study) -> list[str]:
    """How a paired difference is made."""
    options = study.options
    return [
        "Each difference is taken over the same queries and the seeds that both sides share, last epoch. Its "
        f"{options.confidence:.0%} interval adds two errors: that of the test set, from a bootstrap of whole families "
        f"({options.bootstrap} draws, the same for both sides), and with several seeds the spread between seeds beyond "
        "what the draws explain; each with Student's t. Two seeds leave it wide.",
        "A row with one seed: its interval says nothing about another seed.",
        *_commit_notes(study),
    ]


def verdict_notes(study: Study, rows: int) -> list[str]:
    """How a verdict comes about, for a test split with so many comparisons."""
    level = 1 - study.options.confidence
    return [
        f"Verdicts follow from the p-value adjusted by Holm over all {_count(rows, 'comparison', 'comparisons')} of "
        f"the test split: below {level:.2g} a is better or worse than b, otherwise no difference is shown, which does "
        "not mean that there is none. The interval and the probability of improvement are of the same distribution, "
        "each row by itself, not adjusted.",
    ]


def tuned_notes(study: Study) -> list[str]:
    """How tuned losses came to their setting."""
    seeds = sorted({choice["seed"] for choice in study.choices.values()})
    if not seeds:
        return []
    most = max(len(choice["settings"]) for choice in study.choices.values())
    targets = sorted({choice["target"] for choice in study.choices.values()})
    return [
        f"Tuned: of up to {most} settings of a loss, the same number at most for each, the one with the best mean R@1 "
        f"on {_list(targets)} after the last epoch with seed {_list(seeds)}; that seed stands in no row unless a grid "
        "lists it. The table `tuning` has every setting."
    ]


def _count(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"


def _list(values: list) -> str:
    return ", ".join(map(str, values))
