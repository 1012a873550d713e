"""Captions rewritten by a language model behind an OpenAI-compatible endpoint; every answer is kept on disk."""

import hashlib
import http.client
import json
import os
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from hnclip.store import read_json, write_json

KEY = "HNCLIP_LLM_KEY"  # the environment variable with the endpoint's key, if it wants one
GROUP = 16  # captions a thread asks for before failures are told
SHOWN = 20

PROMPT = (
    "Rewrite the caption of an image without any word for {kinds}. Keep every object, number, position and action, "
    "keep the order and the wording of the rest, and add nothing. Answer with the caption alone."
)

# No HTTP answer, or one of another shape.
_NO_ANSWER = (OSError, http.client.HTTPException, ValueError, LookupError, TypeError, AttributeError)


@dataclass(frozen=True)
class LanguageModel:
    """An endpoint: `url` is what `/chat/completions` follows, for example http://localhost:8000/v1.

    prompt: the system's message; {kinds} in it becomes the kinds to remove. parallel: requests at a time. tries: of
    one caption before it counts as failed, `pause` seconds apart, doubled each time. timeout: seconds of a request.
    """

    url: str
    model: str
    prompt: str = PROMPT
    parallel: int = 4
    tries: int = 3
    pause: float = 1.0
    timeout: float = 120.0

    def __post_init__(self):
        faults = [] if self.url.startswith(("http://", "https://")) else [f"url must be http(s), got {self.url!r}"]
        faults += [
            f"{name} must be at least 1, got {getattr(self, name)}"
            for name in ("parallel", "tries")
            if getattr(self, name) < 1
        ]
        if faults:
            raise ValueError("; ".join(faults))


def rewrite(captions: list[str], model: LanguageModel, kinds: tuple[str, ...], folder: Path) -> list[str]:
    """The model's answer to every caption; answers in `folder` are taken, new ones are added to it one by one.

    Raises ValueError naming the captions that have no answer after some tries; it stops at the first group with one.
    """
    prompt = model.prompt.replace("{kinds}", " or ".join(kinds))
    first: dict[str, int] = {}
    for row, caption in enumerate(captions):
        first.setdefault(caption, row)  # once a text: two threads must not write the same answer
    numbered = [(row, caption) for caption, row in first.items()]
    with ThreadPoolExecutor(model.parallel) as pool:
        for start in range(0, len(numbered), GROUP * model.parallel):
            group = numbered[start : start + GROUP * model.parallel]
            failed = [fault for fault in pool.map(lambda item: _fetch(*item, model, prompt, folder), group) if fault]
            if failed:
                more = f"\n  and {len(failed) - SHOWN} more" if len(failed) > SHOWN else ""
                raise ValueError(
                    f"the language model at {model.url} gave no answer; those it gave are kept in {folder}, so correct "
                    "the entry or the endpoint and run again:\n  " + "\n  ".join(failed[:SHOWN]) + more
                )
    return [read_json(answer_path(folder, model.model, prompt, caption))["answer"] for caption in captions]


def answer_path(folder: Path, model: str, prompt: str, caption: str) -> Path:
    """The file of one answer, named by a hash of what was asked."""
    return Path(folder) / f"{hashlib.sha256(json.dumps([model, prompt, caption]).encode()).hexdigest()[:32]}.json"


def _fetch(row: int, caption: str, model: LanguageModel, prompt: str, folder: Path) -> str | None:
    """Fetch and keep one answer unless it is there; a line that says what went wrong, or None."""
    path = answer_path(folder, model.model, prompt, caption)
    if path.exists():
        return None
    reason = ""
    for attempt in range(model.tries):
        if attempt:
            time.sleep(model.pause * 2 ** (attempt - 1))
        try:
            answer = _ask(caption, model, prompt)
        except _NO_ANSWER as error:
            reason = f"{type(error).__name__}: {error}"
            continue
        if answer:
            write_json(path, {"model": model.model, "caption": caption, "answer": answer})
            return None
        reason = "an empty answer"
    return f"row {row}: {caption[:60]!r}: {reason}"


def _ask(caption: str, model: LanguageModel, prompt: str) -> str:
    messages = [{"role": "system", "content": prompt}, {"role": "user", "content": caption}]
    data = json.dumps({"model": model.model, "messages": messages, "temperature": 0}).encode()
    headers = {"Content-Type": "application/json"}
    if os.environ.get(KEY):
        headers["Authorization"] = f"Bearer {os.environ[KEY]}"
    request = urllib.request.Request(f"{model.url.rstrip('/')}/chat/completions", data, headers)
    with urllib.request.urlopen(request, timeout=model.timeout) as response:
        return json.load(response)["choices"][0]["message"]["content"].strip()
