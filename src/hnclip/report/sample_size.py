"""How many queries or seeds would show a difference as large as the one seen."""

import math

from hnclip.report.contrast import Contrast

NEEDED = 1.959964 + 0.841621  # standard errors: a two-sided p of .05, unadjusted, in 80 % of repetitions
MOST = 1000  # times what there is; beyond that nobody asks


def families_needed(found: Contrast) -> float:
    """Families at these seeds; infinite where the seeds' spread alone is too large, or there is no difference."""
    room = (found.score / NEEDED) ** 2 - found.seed_error**2
    return found.families * found.family_error**2 / room if room > 0 else math.inf


def seeds_needed(found: Contrast) -> float:
    """Seeds on this test set; infinite where the test set is too small for any number; NaN where one seed was seen."""
    if found.seeds == 1:
        return math.nan
    shared = max(0.0, found.family_error**2 - found.luck / found.seeds)
    room = (found.score / NEEDED) ** 2 - shared
    return (found.luck + found.seeds * found.seed_error**2) / room if room > 0 else math.inf


def hint(found: Contrast, queries: int) -> str:
    """What would show a difference of this size, in words: queries at these seeds, seeds on these queries."""
    if found.score == 0 or math.isnan(found.family_error):
        return "no difference seen, so no size would show one" if found.score == 0 else "too few families to say"
    if math.isinf(families_needed(found)) and math.isinf(seeds_needed(found)):
        return "neither queries nor seeds alone: the seeds differ too much, and the test set is too small"
    return f"{_queries(found, queries)}; {_seeds(found)}"


def _queries(found: Contrast, queries: int) -> str:
    needed = families_needed(found)
    each = "these weights" if found.seeds == 1 else f"these {found.seeds} seeds"
    if math.isinf(needed):
        return f"no number of queries with {each}: the seeds differ too much"
    if needed <= found.families:
        return f"no more queries with {each}"
    if needed > MOST * found.families:
        return f"over {MOST} times as many queries with {each}"
    families = max(2, math.ceil(needed))
    return f"about {_round(queries * needed / found.families)} queries ({_round(families)} families) with {each}"


def _seeds(found: Contrast) -> str:
    needed = seeds_needed(found)
    if math.isnan(needed):
        return "one seed does not tell how many seeds"
    if math.isinf(needed):
        return "no number of seeds: the test set is too small"
    if needed <= found.seeds:
        return "no more seeds on these queries"
    if needed > MOST:
        return f"over {MOST} seeds on these queries"
    return f"about {_round(max(2, math.ceil(needed)))} seeds on these queries"


def _round(value: float) -> int:
    """Two figures at most: the estimate has no more."""
    whole = math.ceil(value)
    step = 10 ** max(0, len(str(whole)) - 2)
    return math.ceil(whole / step) * step
