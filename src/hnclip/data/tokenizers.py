"""The tokenizers that backbones were trained with, under one name each in a config.

`clip` is the byte-pair vocabulary of CLIP; `open_clip:MODEL` what open_clip gives a model (or `local-dir:FOLDER`);
`hf:NAME` a tokenizer of the hub, from its cache or a folder; `package:NAME` that of an installed Python package.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from hnclip.models.openclip import open_clip
from hnclip.text_encoder import PACKAGE, folder_of
from hnclip.tokenizer_files import HUB, OPEN_CLIP

TOGETHER = 4096  # captions whose masks and types, which nothing reads, are in memory at once
FORMS = "clip, open_clip:MODEL, hf:NAME or hf:FOLDER, package:NAME"


class Words(Protocol):
    """A tokenizer: token ids of captions, special tokens included, and what shorter captions are filled up with."""

    pad_id: int

    def rows(self, captions: list[str], context: int) -> tuple[list[list[int]], int]:
        """Ids of each caption, at most `context`, and how many captions had more."""


@dataclass(frozen=True)
class BytePairs:
    """open_clip's own tokenizer; the end token stands last, whatever is cut."""

    simple: Any
    pad_id: int = 0

    def rows(self, captions: list[str], context: int) -> tuple[list[list[int]], int]:
        words, found, cut = self.simple, [], 0
        for caption in captions:
            ids = words.encode(caption)
            cut += len(ids) > context - 2
            found.append([words.sot_token_id, *ids[: context - 2], words.eot_token_id])
        return found, cut


@dataclass(frozen=True)
class FromTransformers:
    """A tokenizer of transformers as open_clip uses it: the text is cleaned, and an end token may be blanked."""

    hub: Any  # open_clip's HFTokenizer

    @property
    def pad_id(self) -> int:
        return self.hub.tokenizer.pad_token_id

    def rows(self, captions: list[str], context: int) -> tuple[list[list[int]], int]:
        found, cut = [], 0
        for start in range(0, len(captions), TOGETHER):
            ids, longer = self._rows(captions[start : start + TOGETHER], context)
            found += ids
            cut += longer
        return found, cut

    def _rows(self, captions: list[str], context: int) -> tuple[list[list[int]], int]:
        captions = [self.hub.clean_fn(caption) for caption in captions]
        found = self.hub.tokenizer(captions, verbose=False)["input_ids"]
        long = [row for row, ids in enumerate(found) if len(ids) > context]
        if long:
            cut = self.hub.tokenizer([captions[row] for row in long], truncation=True, max_length=context)["input_ids"]
            for row, ids in zip(long, cut, strict=True):
                found[row] = ids
        if self.hub.strip_sep_token:
            found = [[0 if token == self.hub.tokenizer.sep_token_id else token for token in ids] for ids in found]
        return found, len(long)


def words(name: str, context: int) -> Words:
    """The tokenizer of this name. Raises ValueError where there is none or it cannot be had."""
    package = open_clip()
    if name == "clip":
        return BytePairs(package.SimpleTokenizer(context_length=context))
    if not name.startswith((OPEN_CLIP, HUB, PACKAGE)):
        raise ValueError(f"unknown tokenizer {name!r}; known: {FORMS}")
    try:
        if name.startswith(OPEN_CLIP):
            found = package.get_tokenizer(name.removeprefix(OPEN_CLIP), context_length=context)
        else:
            place = str(folder_of(name)) if name.startswith(PACKAGE) else name.removeprefix(HUB)
            found = package.tokenizer.HFTokenizer(place, context_length=context)
    except (OSError, ValueError) as error:
        reason = str(error).strip().split("\n")[0]
        raise ValueError(
            f"the tokenizer {name!r} could not be had ({reason}); without a network name a folder: hf:FOLDER"
        ) from error
    if isinstance(found, package.SimpleTokenizer):
        return BytePairs(found)
    if found.tokenizer_mode or found.tokenizer.pad_token_id is None:
        fault = f"its mode {found.tokenizer_mode!r} is not known" if found.tokenizer_mode else "it cannot pad"
        raise ValueError(f"the tokenizer {name!r} does not fit: {fault}")
    return FromTransformers(found)
