"""Files of the Hugging Face hub, written hub:datasets/OWNER/REPO/FILE, or hub:OWNER/REPO/FILE for a model's."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from hnclip.data import downloads

PREFIX = "hub:"


def parse(url: str) -> tuple[str | None, str, str]:
    """Kind of repository (None: a model's), its name and the file's. Raises ValueError for another spelling."""
    rest = url.removeprefix(PREFIX)
    kind = "dataset" if rest.startswith("datasets/") else None
    owner, _, rest = rest.removeprefix("datasets/").partition("/")
    repository, _, name = rest.partition("/")
    if not (url.startswith(PREFIX) and owner and repository and name):
        raise ValueError(f"{url!r} names no file on the hub; expected {PREFIX}datasets/OWNER/REPO/FILE")
    return kind, f"{owner}/{repository}", name


def page(url: str) -> str:
    """Where a person finds the file."""
    kind, repository, _ = parse(url)
    return f"https://huggingface.co/{'datasets/' if kind else ''}{repository}"


def cached(url: str) -> Path | None:
    """The file in the hub's own cache on this machine, if it is there."""
    from huggingface_hub import try_to_load_from_cache

    kind, repository, name = parse(url)
    found = try_to_load_from_cache(repository, name, repo_type=kind)
    return Path(found) if isinstance(found, str) else None


def download_from_hub(url: str, target: Path) -> None:
    """Write a file of the hub to `target`. Raises OSError where it cannot be had."""
    from huggingface_hub import hf_hub_download

    kind, repository, name = parse(url)
    work = target.parent / downloads.PARTS / "hub"
    work.mkdir(parents=True, exist_ok=True)
    had(url, lambda: hf_hub_download(repository, name, repo_type=kind, local_dir=work)).replace(target)
    shutil.rmtree(work, ignore_errors=True)


def had(url: str, get: Callable[[], str]) -> Path:
    """The path that `get` downloads the file to, tried again after what may pass. Raises OSError in one line."""
    from huggingface_hub import constants
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, RepositoryNotFoundError
    from huggingface_hub.errors import LocalEntryNotFoundError as NotReached

    # The bases: that of every error of its HTTP client, by release requests, httpx or httpx2. RuntimeError: xet's.
    for attempt in range(1, downloads.TRIES + 1):
        try:
            return Path(get())
        except (OSError, ValueError, RuntimeError, EntryNotFoundError, *HfHubHTTPError.__bases__) as error:
            lasting = isinstance(error, RepositoryNotFoundError | EntryNotFoundError | ValueError)
            if constants.HF_HUB_OFFLINE or (lasting and not isinstance(error, NotReached)):
                raise OSError(f"{url}: {_first_line(error)}") from error
            if attempt == downloads.TRIES:
                raise OSError(f"{url} failed {downloads.TRIES} times, at last with: {_first_line(error)}") from error
            pause = min(downloads.PAUSE * 2 ** (attempt - 1), downloads.LONGEST)
            print(f"{url}: {_first_line(error)}; trying again in {pause:.0f} s", flush=True)
            time.sleep(pause)


def _first_line(error: Exception) -> str:
    return downloads.shown(str(error)).strip().split("\n")[0] or type(error).__name__
