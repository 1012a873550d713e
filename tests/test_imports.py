"""Imports point one way, and what needs no torch does not load it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "hnclip"

# A module may import from its own layer and those before it.
LAYERS = [
    {
        "caption_places",
        "cell",
        "claim",
        "split_files",
        "inputs",
        "store",
        "options",
        "packages",
        "command",
        "commits",
        "model_spec",
        "architecture",
        "embedded_by",
        "joined_files",
        "read_source",
        "text_encoder",
        "tokenizer_files",
        "tower_files",
        "tuning",
        "__init__",
        "__version__",
    },
    {
        "data",
        "models",
        "losses",
        "recipe",
        "ranks",
        "rank_counts",
        "exact_scores",
        "record",
        "gradients",
        "checkpoint",
        "encode",
        "processes",
        "sharded",
        "parts",
    },
    {
        "frameworks",
        "integrations",
        "gradient_pair",
        "scored",
        "starter",
        "cell_framework",
        "deadline",
        "devices",
        "optimise",
        "training_data",
    },
    {
        "audit",
        "train",
        "embed",
        "embed_captions",
        "embed_given",
        "embed_own",
        "embed_run",
        "encoder",
        "evaluate",
        "evaluate_captions",
        "export",
        "loading_code",
        "model_card",
    },
]
# These stand beside the layers: what they may import of hnclip.
BESIDE = {
    "report": {"cell", "store", "options", "command", "commits", "report", "tuning"},
    "cli": set(),
    "doctor": {
        "caption_places",
        "data",
        "doctor",
        "encode",
        "encoder",
        "model_spec",
        "models",
        "options",
        "report",
        "store",
        "text_encoder",
    },
    "__main__": {"cli"},
    "launch": {"command", "gpu_slots"},
    "profiles": {"options"},
    "search": {"search", "data", "encoder", "model_spec", "report", "store", "claim", "__version__"},
    "unfinished": {"cell"},
    "replaced": {"cell", "data", "split_files", "store", "study"},
    "gpu_slots": {"claim"},
    "study": {
        "caption_places",
        "cell",
        "inputs",
        "split_files",
        "packages",
        "store",
        "command",
        "study_data",
        "study_runs",
        "tower_files",
        "tuning",
    },
    "study_runs": {"cell", "split_files", "tuning"},
    "choose": {"command", "store", "tuning"},
    "study_data": {"cell", "split_files", "text_encoder"},
    "check_cached": {"cell", "data", "inputs"},
    "check_captions": {"cell", "options", "split_files", "text_encoder"},
    "check_sources": {"cell", "options", "data"},
    "check": {
        "architecture",
        "caption_places",
        "cell",
        "check_cached",
        "check_captions",
        "check_inputs",
        "check_losses",
        "check_scale",
        "check_schema",
        "check_sources",
        "check_towers",
        "options",
        "split_files",
        "study",
        "tower_files",
        "frameworks",
        "data",
        "recipe",
    },
    "check_losses": {"cell", "losses", "options", "tuning"},
    "check_towers": {"architecture", "cell", "frameworks", "joined_files", "options", "recipe"},
    "check_scale": {"cell", "losses", "options", "recipe", "tuning"},
    "check_schema": {"cell", "options"},
    "project": {"options", "plan"},
    "new_study": {"check", "data", "inputs", "model_spec", "new_study", "options", "project"},
    "run_workflow": {"commits", "project"},
    "one_cell": {"cell"},
    "plan": {
        "architecture",
        "joined_files",
        "cell",
        "inputs",
        "split_files",
        "study",
        "check",
        "check_schema",
        "options",
        "command",
        "frameworks",
        "data",
        "models",
        "plan",
    },
    "check_inputs": {"cell", "frameworks", "inputs", "options", "data"},
}
LIGHT = [
    "hnclip",
    "hnclip.cell",
    "hnclip.split_files",
    "hnclip.launch",
    "hnclip.store",
    "hnclip.study",
    "hnclip.check",
    "hnclip.choose",
    "hnclip.command",
    "hnclip.commits",
    "hnclip.options",
]


def layer(module: str) -> int | None:
    return next((number for number, names in enumerate(LAYERS) if module in names), None)


def module_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """The parts of hnclip that a file imports anywhere, functions included."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            names = [node.module] if node.module != "hnclip" else [f"hnclip.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("hnclip.")}
    return found


def test_every_module_has_its_place():
    modules = {module_of(path) for path in SOURCE.rglob("*.py")}
    assert modules - set().union(*LAYERS) - set(BESIDE) == set()


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path):
    module = module_of(path)
    if module == "cli":  # on top of all
        return
    if module in BESIDE:
        allowed = BESIDE[module]
    else:
        allowed = set().union(*LAYERS[: layer(module) + 1]) - ({"frameworks"} if module == "starter" else set())
    assert imported(path) <= allowed


def torchless(folder: str) -> list[str]:
    """The modules of a package folder, by their dotted names."""
    paths = sorted((SOURCE / folder).rglob("*.py"))
    return [".".join(["hnclip", *path.relative_to(SOURCE).with_suffix("").parts]) for path in paths]


def test_what_needs_no_torch_does_not_load_it():
    names = [
        name.removesuffix(".__init__")
        for folder in ("report", "data/prepare", "plan", "cli", "search")
        for name in torchless(folder)
    ]
    names = [*LIGHT, "hnclip.frameworks", "hnclip.data.manifest", "hnclip.data.images", "hnclip.data.pixels", *names]
    code = (
        "import sys\nfrom importlib import import_module\n"
        f"for name in {[name for name in names if not name.endswith('__main__')]}:\n"
        "    import_module(name)\n"
        "    assert not {'torch', 'open_clip', 'torchvision'} & set(sys.modules), name\n"
        "print('done')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=SOURCE.parent)
    assert done.stdout == "done\n", done.stderr


def test_the_public_names_are_loaded_when_asked_for():
    code = (
        "import sys, hnclip\nassert hnclip.Cell('a', 'b', 'c', 'd', 5, 1) and 'torch' not in sys.modules\n"
        "assert hnclip.BoostedClipLoss.__name__ == 'BoostedClipLoss' and 'torch' in sys.modules\n"
        "assert {'Cell', 'BoostedClipLoss', '__version__'} <= set(dir(hnclip))\nprint('done')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=SOURCE.parent)
    assert done.stdout == "done\n", done.stderr


def test_an_unknown_public_name_is_refused_with_the_known_ones():
    import hnclip

    with pytest.raises(AttributeError, match="BoostedClipLoss, Cell"):
        _ = hnclip.BoostedLoss
