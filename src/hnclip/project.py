"""Where the workflow lies, which files a study is read from, and in which folder it runs. Loads no torch."""

from contextlib import chdir
from pathlib import Path
from typing import Any

from hnclip.options import nearest

DEFAULT = "scenes"  # the study that config.yaml is by itself


def root() -> Path:
    """The folder of Snakefile, config.yaml, rules and workflow: the clone, or what an installed package carries.

    Raises FileNotFoundError where neither is there.
    """
    package = Path(__file__).resolve().parent
    places = [package.parents[1], package / "project"]
    for place in places:
        if (place / "Snakefile").is_file() and (place / "workflow" / "grid.smk").is_file():
            return place
    raise FileNotFoundError(
        f"the workflow is not where it should be: neither {places[0]} nor {places[1]} has a Snakefile with its "
        "workflow folder; install hnclip again"
    )


def shipped() -> dict[str, Path]:
    """The studies that come with hnclip, by name."""
    return {path.stem: path for path in sorted((root() / "workflow" / "studies").glob("*.yaml"))}


def overlays(studies: list[str]) -> list[Path]:
    """The files of a study and its overlays, absolute: paths, or names of shipped studies; `scenes` has no file.

    A folder stands for the `study.yaml` in it. Raises FileNotFoundError naming what is not there.
    """
    known, found, missing = shipped(), [], []
    for study in studies:
        path = Path(study)
        path = path / "study.yaml" if path.is_dir() else path
        if path.is_file():
            found.append(path.absolute())
        elif study in known:
            found.append(known[study])
        elif study != DEFAULT:
            missing.append(f"{study}{_below(Path(study)) or nearest(study, [DEFAULT, *known])}")
    if missing:
        raise FileNotFoundError(
            f"there is no study {', '.join(missing)}: give the path of a study's file (`hnclip init` writes one), or "
            f"one of those that come with hnclip: {', '.join([DEFAULT, *known])}"
        )
    return found


def _below(folder: Path, most: int = 5) -> str:
    """Where a folder's studies lie that has none itself, in brackets; empty where there are none either."""
    found = sorted(path for pattern in ("*/study.yaml", "*/*/study.yaml") for path in folder.glob(pattern))
    if not found:
        return ""
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return f" (the folder has no study.yaml; below it are {', '.join(map(str, found[:most]))}{more})"


def home(files: list[Path]) -> Path:
    """The folder that a study runs in, where its relative paths start and `results/` lands.

    It is that of the first file of one's own; of shipped studies alone, the current one.
    """
    come_with = root() / "workflow" / "studies"
    return next((path.parent for path in files if path.parent.resolve() != come_with), Path.cwd())


def read(files: list[Path], folder: Path) -> dict[str, Any]:
    """The study's whole config, checked in its folder. Raises ValueError or OSError naming everything wrong with it."""
    from hnclip.plan.config import read as merged

    with chdir(folder):
        return merged(files, root() / "config.yaml")


def short(path: Path) -> str:
    """A path as a person would type it: from the current folder where it lies below, else whole."""
    path = Path(path).absolute()
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
