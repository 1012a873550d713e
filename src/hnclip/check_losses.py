"""What is wrong with the losses of a config: their numbers, how they are tuned, and what audits measure. No torch."""

from collections.abc import Iterator

from hnclip import tuning
from hnclip.cell import Config
from hnclip.losses.entry import LossEntry
from hnclip.options import from_dict, unknown


def loss_problems(config: Config, named: set[str]) -> Iterator[str]:
    """Each fault, of losses that are not `named` already."""
    yield from _losses(config, named)
    yield from _tuned(config)
    yield from _audited(config)


def _losses(config: Config, named: set[str]) -> Iterator[str]:
    """What a loss or one of its settings lacks, or has and nothing reads; each fault once, of losses not yet named."""
    for name, entry in config["losses"].items():
        if name in named:
            continue
        found = tuning.settings(name, entry).values() if tuning.is_tuned(entry) else [entry]
        faults = {}
        for each in found:
            try:
                from_dict(LossEntry, each, f"losses.{name}")
            except ValueError as error:
                faults[str(error)] = None
        yield from (text.replace(" loss: ", " ", 1) for text in faults)


def _tuned(config: Config) -> Iterator[str]:
    """Tuned losses with too many settings, or trained where nothing can be chosen."""
    for name, entry in config["losses"].items():
        if tuning.is_tuned(entry) and len(found := tuning.settings(name, entry)) > tuning.MOST:
            yield f"losses.{name}: {len(found)} settings, but a loss may try {tuning.MOST}, so that chances are equal"
    for grid in (name for name in config["run"] if name in config["grids"]):
        axes = config["grids"][grid]
        tuned = [name for name in axes["losses"] if tuning.is_tuned(config["losses"].get(name, {}))]
        for train in (name for name in axes["train"] if tuned and name in config["benchmarks"]):
            if not config["benchmarks"][train].get("validation"):
                yield f"grids.{grid}: {', '.join(tuned)} cannot be tuned on {train}, which has no `validation` split"


def _audited(config: Config) -> Iterator[str]:
    """Audits without fp32, and of losses that are not there, are tuned, or need what an audited cell does not read."""
    if "32-true" not in config["audit"]["precisions"]:
        yield "audit.precisions: 32-true is among what is measured always; name it too"
    audited = [config["grids"][name] for name in config["run"] if config["grids"].get(name, {}).get("audit")]
    trained = dict.fromkeys(loss for axes in audited for loss in axes["losses"])
    others = [loss for loss in trained if config["losses"].get(loss, {}).get("boost") != "frozen"]
    for side in ("plain", "boosted"):
        if (name := config["audit"][side]) not in config["losses"]:
            yield f"audit.{side}: " + unknown("loss", name, config["losses"])
        elif tuning.is_tuned(config["losses"][name]):
            yield f"audit.{side}: {name} is tuned; name a loss of one setting"
        elif config["losses"][name]["boost"] == "frozen" and others:
            yield f"audit.{side}: {name} needs embeddings that cells of {', '.join(others)} do not read; name another"
