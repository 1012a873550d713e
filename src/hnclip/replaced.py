"""Image files that are no longer those that a benchmark was made of, which nothing else notices. No torch."""

import os
from collections.abc import Sequence
from pathlib import Path

from hnclip.cell import Config
from hnclip.data.manifest import images, read_manifest
from hnclip.split_files import all_splits, manifest_path
from hnclip.store import sha256_of
from hnclip.study import narrow

LOOKED = ".images_looked_at"  # beside the manifests; its time is that of the last look


def manifests(config: Config) -> dict[str, list[str]]:
    """The files that preparing each of the study's benchmarks ends with."""
    used = narrow(config)["benchmarks"]
    return {name: [manifest_path(name, split) for split in all_splits(entry)] for name, entry in used.items()}


def refuse(config: Config, home: Path, way_out: str) -> None:
    """Raise ValueError naming every image of the study that was replaced since its data was prepared.

    `home` is the folder that the study runs in, `way_out` the command that prepares the data anew.
    """
    made = {name: [home / path for path in paths] for name, paths in manifests(config).items()}
    changed = {name: paths for name in made if (paths := changed_images(made[name], home / "results"))}
    if changed:
        listed = "\n".join(f"  of benchmark {name}:\n    " + "\n    ".join(paths) for name, paths in changed.items())
        raise ValueError(
            f"images were replaced since the study's data was prepared:\n{listed}\n"
            f"`{way_out}` checks all images and prepares the data anew, and the next run trains what hangs on it. To "
            "keep what is trained, put the old images back"
        )


def forget(config: Config, home: Path) -> list[str]:
    """Remove the manifests of benchmarks whose images were replaced, so that they are prepared anew; their names."""
    forgotten = []
    for name, paths in manifests(config).items():
        if changed_images([home / path for path in paths], home / "results"):
            forgotten.append(name)
            for path in paths:
                (home / path).unlink(missing_ok=True)
    return forgotten


def changed_images(manifests: Sequence[Path], results: Path) -> list[str]:
    """The images whose content is another than the benchmark's manifests say, by their paths.

    Only files that were written or moved after the manifests are read, and once. Images below `results` are hnclip's
    own; of one that is gone the job tells that would decode it.
    """
    own = os.path.join(os.path.abspath(results), "")
    younger, changed = 0, {}
    for manifest in filter(Path.is_file, map(Path, manifests)):
        since = max(path.stat().st_mtime_ns for path in (manifest, manifest.with_name(LOOKED)) if path.exists())
        rows = images(read_manifest(manifest))
        for image, sha256 in zip(rows["image"], rows["sha256"], strict=True):
            path = os.path.abspath(manifest.parent / image)
            if not path.startswith(own) and os.path.isfile(path) and os.stat(path).st_ctime_ns >= since:
                younger += 1
                if sha256_of(path) != sha256:
                    changed[path] = None
    if younger and not changed:
        Path(manifests[0]).with_name(LOOKED).touch()
    return list(changed)
