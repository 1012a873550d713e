"""Losses whose numbers are chosen on the validation split: their settings, and the choice among them.

An entry of the config whose numbers are lists is tuned. Each combination is a setting, trained with the one seed of
`tuning`; the cells of the loss, at their own seeds, take the setting with the best recall on the validation split.
Standard library only.
"""

from itertools import product
from typing import Any

Entry = dict[str, Any]
MOST = 8  # settings that a loss may try, so that each has the same chance


def is_tuned(entry: Entry) -> bool:
    """True where the entry of a loss lists several values of a number."""
    return any(isinstance(value, list) for value in entry.values())


def settings(name: str, entry: Entry) -> dict[str, Entry]:
    """Every setting of a tuned loss by its name, such as `hn-tuned-gamma0_25-scale17`, in the order of its lists.

    A number that is null is left to the code, as where the entry lacks the key: a learned scale.
    """
    lists = {key: value for key, value in entry.items() if isinstance(value, list)}
    found = {}
    for values in product(*lists.values()):
        chosen = dict(zip(lists, values, strict=True))
        words = "-".join(f"{key}{_word(value)}" for key, value in sorted(chosen.items()))
        whole = {**entry, **chosen}
        found[f"{name}-{words}"] = {key: value for key, value in whole.items() if value is not None}
    return found


def _word(value: Any) -> str:
    """A number in a name of a path."""
    if value is None:
        return "learned"
    return f"{value:g}".replace("-", "m").replace(".", "_").replace("+", "")


def entry_of(losses: dict[str, Entry], name: str) -> Entry:
    """The entry of this name among the config's losses and the settings of its tuned ones; KeyError without one."""
    if name in losses:
        return losses[name]
    for parent, entry in losses.items():
        if is_tuned(entry) and name.startswith(f"{parent}-") and name in (found := settings(parent, entry)):
            return found[name]
    raise KeyError(name)


def best(scores: dict[str, float]) -> str:
    """The name with the highest score; the first of equals."""
    return max(scores, key=scores.__getitem__)


def settle(config: dict[str, Any], choice: dict[str, Any]) -> dict[str, Any]:
    """A tuned cell's config with the chosen setting in place of the lists."""
    entries = {setting["name"]: setting["entry"] for setting in choice["settings"]}
    return {**config, "loss": entries[choice["chosen"]]}
