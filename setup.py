"""The wheel carries the workflow, as `hnclip/project/`, so that `hnclip` runs studies outside the repository."""

from pathlib import Path
from shutil import copyfile

from setuptools import setup
from setuptools.command.build_py import build_py

CARRIED = ("Snakefile", "config.yaml", "rules", "workflow", "envs", "profiles")


class BuildWithWorkflow(build_py):
    """Copies the workflow's files into the built package; an editable install uses those of the repository."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            for source, target in self._carried():
                target.parent.mkdir(parents=True, exist_ok=True)
                copyfile(source, target)

    def get_outputs(self, *args, **kwargs) -> list[str]:
        outputs = super().get_outputs(*args, **kwargs)
        return outputs if self.editable_mode else [*outputs, *(str(target) for _, target in self._carried())]

    def _carried(self) -> list[tuple[Path, Path]]:
        here = Path(__file__).parent
        found = [
            path
            for name in CARRIED
            for path in ([here / name] if (here / name).is_file() else (here / name).rglob("*"))
        ]
        target = Path(self.build_lib) / "hnclip" / "project"
        return [(path, target / path.relative_to(here)) for path in sorted(found) if path.is_file()]


setup(cmdclass={"build_py": BuildWithWorkflow})
