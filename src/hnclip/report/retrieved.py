"""Queries that two methods rank most differently: plain fine-tuning beside the boost."""

from dataclasses import dataclass

import numpy

from hnclip.report.load import Study, test_targets
from hnclip.report.methods import Method
from hnclip.report.model_embeddings import Embedded, embedded_cells, read_cell
from hnclip.report.searches import CAPTION, IMAGE, Shown, ranks, shown_split, tops

TOP = 5  # items shown of each search
EACH = 3  # queries shown that gain most, and as many that lose most, a direction
DIRECTIONS = (CAPTION, IMAGE)
NOTHING = (
    "No retrieved images: the study embeds no plain cell beside a boosted one with the same seed; a grid with both and "
    "embed: true does."
)
UNSHOWN = "No retrieved images: the manifests of the embedded test splits hold no captions and images."


@dataclass(frozen=True)
class Example:
    """One query under both methods: ranks as the runs recorded them, ranks by the embeddings, gallery rows on top."""

    direction: str
    query: int
    recorded: tuple[int, int]
    again: tuple[int, int]
    tops: tuple[numpy.ndarray, numpy.ndarray]

    @property
    def gained(self) -> bool:
        return self.recorded[1] < self.recorded[0]


@dataclass(frozen=True)
class Compared:
    """Two methods of one seed on a split, the second with the boost; `agreeing` of `ranks` are the same twice."""

    methods: tuple[Method, Method]
    seed: int
    split: Shown
    examples: list[Example]
    agreeing: int
    ranks: int


def compared(study: Study) -> list[Compared]:
    """Every embedded pair of methods on every test split that can be shown, in the order of the test splits."""
    targets = [split for target in test_targets(study) if (split := shown_split(study, target))]
    found = []
    for methods, seed, paths in pairs(study):
        models = [{model.split: model for model in read_cell(m, seed, p)} for m, p in zip(methods, paths, strict=True)]
        found += [
            _compare(study, split, *(model[split.name] for model in models))
            for split in targets
            if all(split.name in model for model in models)
        ]
    return found


def nothing(study: Study) -> str:
    """Why there is nothing to compare."""
    return UNSHOWN if pairs(study) else NOTHING


def pairs(study: Study) -> list[tuple[tuple[Method, Method], int, tuple[list[str], list[str]]]]:
    """(plain and boosted method of one setting, their first common seed, their files); tuned beside tuned."""
    cells = embedded_cells(study)
    found = {}
    for plain, seed, plain_path in cells:
        for boosted, other, boosted_path in cells:
            alike = (plain.backbone, plain.train, plain.framework, plain.tuned)
            alike = alike == (boosted.backbone, boosted.train, boosted.framework, boosted.tuned)
            if (plain.kind, boosted.kind) == ("plain", "boosted") and alike and seed == other:
                found.setdefault((plain, boosted), ((plain, boosted), seed, (plain_path, boosted_path)))
    return list(found.values())


def _compare(study: Study, split: Shown, plain: Embedded, boosted: Embedded) -> Compared:
    examples, agreeing, total = [], 0, 0
    for direction in DIRECTIONS:
        recorded = [_recorded(study, model, split, direction) for model in (plain, boosted)]
        again = [ranks(model, split, direction) for model in (plain, boosted)]
        agreeing += sum(int((a == b).sum()) for a, b in zip(recorded, again, strict=True))
        total += sum(map(len, again))
        chosen = [query for part in _most_different(split, direction, *recorded) for query in part]
        if chosen:
            found = [tops(model, split, direction, chosen, TOP) for model in (plain, boosted)]
            examples += [
                Example(
                    direction, query, *(tuple(int(side[query]) for side in both) for both in (recorded, again)), top
                )
                for query, *top in zip(chosen, *found, strict=True)
            ]
    return Compared((plain.method, boosted.method), plain.seed, split, examples, agreeing, total)


def _recorded(study: Study, model: Embedded, split: Shown, direction: str) -> numpy.ndarray:
    """The ranks that the run recorded, in the order of the split's queries, [Q]."""
    rows = model.method.ranks(study, split.name)
    rows = rows[(rows["seed"] == model.seed) & (rows["direction"] == direction)].set_index("query")["rank"]
    wanted = split.queries(direction)
    missing = [name for name in wanted if name not in rows.index]
    if missing:
        raise ValueError(
            f"{model.method.framework}, {model.method.loss}, seed {model.seed} has no ranks on {split.name} for "
            f"{', '.join(missing[:20])} ({len(missing)} in all); evaluate it anew"
        )
    return rows.loc[wanted].to_numpy()


def _most_different(split: Shown, direction: str, plain_Q: numpy.ndarray, boosted_Q: numpy.ndarray) -> tuple:
    """(queries that gain most by the boost, queries that lose most), one a family; EACH at most.

    By the ratio of ranks counted from 1, so that 1 against 20 differs more than 200 against 300.
    """
    gain_Q = numpy.log1p(plain_Q) - numpy.log1p(boosted_Q)
    found = []
    for gain in (gain_Q, -gain_Q):
        by_family: dict[str, int] = {}
        for query in numpy.argsort(-gain, kind="stable"):
            if gain[query] <= 0 or len(by_family) == EACH:
                break
            by_family.setdefault(split.families_I[split.image_of(direction, query)], int(query))
        found.append(list(by_family.values()))
    return tuple(found)
