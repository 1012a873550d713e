"""The files of this machine that a tokenizer is made from. No torch."""

from fnmatch import fnmatch
from pathlib import Path

from hnclip.architecture import EXPORTED, LOCAL, exported
from hnclip.text_encoder import PACKAGE, folder_of

OPEN_CLIP, HUB = "open_clip:", "hf:"
READ = (".json", ".txt", ".model", ".tiktoken", ".spm", ".bpe", ".codes")
# What lies beside a tokenizer and is not read for it.
OTHERS = (
    EXPORTED,
    "*.index.json",
    "generation_config.json",
    "*processor_config.json",
    "modules.json",
    "*sentence*.json",
)


def tokenizer_files(name: str) -> list[str]:
    """The files that decide what a tokenizer returns; none of `clip`, of open_clip's models and of names of the hub.

    A change of any of them is another tokenizer. Raises ValueError where a package or folder holds no model.
    """
    if name.startswith(OPEN_CLIP + LOCAL):
        folder = Path(name.removeprefix(OPEN_CLIP + LOCAL))
        own = exported(folder)["model_cfg"]["text_cfg"].get("hf_tokenizer_name")
        return [str(folder / EXPORTED), *(_within(folder) if own else [])]
    if name.startswith(PACKAGE):
        return _within(folder_of(name))
    folder = Path(name.removeprefix(HUB))
    return _within(folder) if name.startswith(HUB) and folder.is_dir() else []


def _within(folder: Path) -> list[str]:
    """The files of a tokenizer of transformers: of which kind it is decides which of them are read."""
    files = [path for path in sorted(folder.iterdir()) if path.suffix in READ and path.is_file()]
    return [str(path) for path in files if not any(fnmatch(path.name, other) for other in OTHERS)]
