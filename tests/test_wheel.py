"""The built wheel works outside the repository, the starter's weights included."""

import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).parents[1]
SOURCES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "docs/attribution.md")
WORKFLOW = ("Snakefile", "config.yaml", "rules", "workflow", "envs", "profiles")

pytestmark = pytest.mark.slow


def run(*command, cwd: Path, **environment: str) -> str:
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    copy = tmp_path_factory.mktemp("copy of the tree")
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in SOURCES:
        (copy / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    for name in WORKFLOW:
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, copy / name)
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", copy / "dist", cwd=copy)
    return next((copy / "dist").glob("*.whl"))


def test_the_wheel_holds_the_weights_and_the_licence(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "hnclip/weights/tiny.safetensors" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    sources = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*.py")}
    assert sources == {name for name in names if name.endswith(".py")}


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A function that runs `python -m hnclip` of the installed wheel in a folder, and the folder of its environment."""
    home = tmp_path_factory.mktemp("installed")
    python = home / "environment" / "bin" / "python"
    run(sys.executable, "-m", "venv", "--without-pip", home / "environment", cwd=home)
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", wheel, cwd=home)
    environment = {"PYTHONPATH": sysconfig.get_path("purelib"), "XDG_CACHE_HOME": str(home / "cache")}
    return home, lambda *command, cwd: run(python, *command, cwd=cwd, **environment)


def test_the_wheel_carries_the_workflow(wheel):
    carried = [path for name in WORKFLOW for path in [ROOT / name, *(ROOT / name).rglob("*")] if path.is_file()]
    expected = {f"hnclip/project/{path.relative_to(ROOT)}" for path in carried}
    assert expected == {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("hnclip/project/")}


def test_a_study_is_begun_and_its_workflow_read_from_an_empty_folder(installed, tmp_path):
    home, python = installed
    rows = ["image,caption"]
    for number in range(30):
        Image.new("RGB", (8, 8), (number, 0, 0)).save(tmp_path / f"{number}.png")
        rows.append(f"{number}.png,A square of colour number {number}")
    (tmp_path / "captions.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "elsewhere").mkdir()
    said = python("-m", "hnclip", "init", tmp_path, "--split", "60/20/20", "--yes", cwd=tmp_path / "elsewhere")
    assert f"hnclip run {tmp_path}" in said
    root = python("-c", "from hnclip.project import root; print(root())", cwd=tmp_path)
    assert Path(root.strip()).is_relative_to(home)
    would = python("-m", "hnclip", "run", tmp_path, "--dry-run", cwd=tmp_path / "elsewhere")
    assert "Preparing benchmark" in would and "Training tiny/" in would
    made = python("-m", "hnclip", "run", "smoke", "--dry-run", cwd=tmp_path / "elsewhere")
    assert "Training tiny/" in made and not (tmp_path / "elsewhere" / "results").exists()


def test_the_installed_wheel_loads_the_starter_outside_the_repository(installed, tmp_path):
    place, python = installed
    code = (
        "import sys, hnclip\nassert 'torch' not in sys.modules\n"
        "from hnclip.models.load import backbone_from\n"
        "transform = {'size': 48, 'interpolation': 'bicubic', 'resize': 'shortest', 'exif': 'ignore'}\n"
        "entry = {'kind': 'starter', 'context': 248, 'tokenizer': 'clip', 'transform': transform}\n"
        "print(hnclip.__file__, backbone_from(entry).clip.positional_embedding.shape[0], sep='\\n')"
    )
    output = python("-c", code, cwd=tmp_path)
    home, positions = output.splitlines()
    assert Path(home).is_relative_to(place)
    assert positions == "248"
