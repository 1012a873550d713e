"""The built wheel works outside the repository, the starter's weights included."""

import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "docs/attribution.md")

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
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", copy / "dist", cwd=copy)
    return next((copy / "dist").glob("*.whl"))


def test_the_wheel_holds_the_weights_and_the_licence(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "hnclip/weights/tiny.safetensors" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    sources = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*.py")}
    assert sources == {name for name in names if name.endswith(".py")}


def test_the_installed_wheel_loads_the_starter_outside_the_repository(wheel, tmp_path):
    python = tmp_path / "environment" / "bin" / "python"
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "environment", cwd=tmp_path)
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", wheel, cwd=tmp_path)
    code = (
        "import sys, hnclip\nassert 'torch' not in sys.modules\n"
        "from hnclip.models.load import backbone_from\n"
        "transform = {'size': 48, 'interpolation': 'bicubic', 'resize': 'shortest', 'exif': 'ignore'}\n"
        "entry = {'kind': 'starter', 'context': 248, 'tokenizer': 'clip', 'transform': transform}\n"
        "print(hnclip.__file__, backbone_from(entry).clip.positional_embedding.shape[0], sep='\\n')"
    )
    output = run(python, "-c", code, cwd=tmp_path, PYTHONPATH=sysconfig.get_path("purelib"))
    home, positions = output.splitlines()
    assert Path(home).is_relative_to(tmp_path)
    assert positions == "248"
