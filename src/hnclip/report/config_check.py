"""Whether every cell was trained as its study says: the config in its run record, and one file of published weights."""

import json
from pathlib import Path
from typing import Any

from hnclip import store
from hnclip.cell import Cell, Config, resolve
from hnclip.tuning import settle

ABSENT = "(absent)"


def check_configs(config: Config, cells: list[dict[str, Any]]) -> None:
    """Raise ValueError where a run record's `config` is missing or is not what the study resolves for its cell.

    Every such cell is named, with the dotted name of each key that differs and both its values.
    """
    wrong, folders = [], []
    for entry in cells:
        path = Path(entry["run"]) / "run.json"
        record = store.read_json(path)
        if "config" not in record:
            problems = ["its run.json holds no `config`"]
        else:
            wanted = resolve(config, Cell.parse(entry["cell"]))
            if "choice" in entry:
                wanted = settle(wanted, store.read_json(entry["choice"]))
            problems = [
                f"{key}: trained with {trained}, the study says {said}"
                for key, trained, said in differences(record["config"], wanted)
            ]
        if problems:
            wrong.append("\n    ".join([f"  {entry['cell']}", *problems]))
            folders.append(f"  {entry['run']}")
    if wrong:
        raise ValueError(
            "cells were not trained with the config of their study:\n"
            + "\n".join(wrong)
            + "\nDelete their run folders and run again:\n"
            + "\n".join(folders)
        )


def check_weights(cells: list[dict[str, Any]]) -> None:
    """Raise ValueError where cells, and the frozen backbone, had other bytes under one name of published weights.

    A tag or the hub names them, so a new file upstream changes no input and runs nothing again.
    """
    found: dict[str, dict[str, dict[str, None]]] = {}  # places by hash by name
    for entry in cells:
        run, backbone = Path(entry["run"]), Cell.parse(entry["cell"]).backbone
        fetched = run.parents[7] / "embeddings" / backbone / "fetched.json"  # beside results/STUDY/runs/CELL
        for name, sha256 in store.read_json(run / "run.json").get("published_weights", {}).items():
            found.setdefault(name, {}).setdefault(sha256, {})[str(run)] = None
            if fetched.is_file():
                found[name].setdefault(store.read_json(fetched)["sha256"], {})[str(fetched)] = None
    mixed = {name: hashes for name, hashes in found.items() if len(hashes) > 1}
    if mixed:
        listed = [
            "\n    ".join([f"  {name}, SHA-256 {sha256}", *places])
            for name, hashes in mixed.items()
            for sha256, places in hashes.items()
        ]
        raise ValueError(
            "published weights changed while the study ran:\n" + "\n".join(listed) + "\nDelete what the older file "
            "made, run folders and the backbone's folder under results/embeddings, and run again; or name a local file"
        )


def differences(trained: Config, said: Config) -> list[tuple[str, str, str]]:
    """(dotted key, value in `trained`, value in `said`) wherever they differ; 1 and 1.0, tuple and list are equal."""
    a, b = _leaves(_as_json(trained)), _leaves(_as_json(said))
    keys = dict.fromkeys([*b, *a])
    return [(key, _words(a, key), _words(b, key)) for key in keys if key not in a or key not in b or a[key] != b[key]]


def _as_json(record: Any) -> Any:
    return json.loads(json.dumps(record))


def _leaves(value: Any, name: str = "") -> dict[str, Any]:
    """The values of nested dictionaries, and of lists of them, by dotted name."""
    if isinstance(value, dict) and value:
        parts = list(value.items())
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        parts = list(enumerate(value))
    else:
        return {name: value}
    found: dict[str, Any] = {}
    for key, item in parts:
        found |= _leaves(item, f"{name}.{key}" if name else str(key))
    return found


def _words(leaves: dict[str, Any], key: str) -> str:
    return json.dumps(leaves[key], ensure_ascii=False) if key in leaves else ABSENT
