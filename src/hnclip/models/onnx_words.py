"""The tokenizer beside an exported graph: a backbone's own as tokenizer.json, checked against that of the training."""

import re
import string
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hnclip.data.tokenizers import FromTransformers, words
from hnclip.models.backbone import Backbone
from hnclip.models.to_open_clip import CLEANINGS
from hnclip.models.to_transformers import write_processor

CAPTIONS = (
    "A red box, on two blue ones.",
    "  Two   dogs_and a CAT:\nit's \"theirs\" (isn't it?)! ",
    "3 of 10 small, round, grey stones lie beside an old wooden door; " * 99,
)


def pad_id(backbone: Backbone) -> int:
    """What shorter captions of a batch are filled up with; a causal tower never looks at it."""
    return words(backbone.tokenizer, backbone.context).pad_id


def write_words(folder: Path, backbone: Backbone) -> None:
    """Write tokenizer.json, which cuts at the context and pads.

    Raises ValueError where it gives other tokens than the tokenizer of the training.
    """
    fast, fill = _fast(backbone), pad_id(backbone)
    fast.enable_truncation(backbone.context)
    fast.enable_padding(pad_id=fill, pad_token=fast.id_to_token(fill))
    wanted, _ = words(backbone.tokenizer, backbone.context).rows(list(CAPTIONS), backbone.context)
    for caption, ids in zip(CAPTIONS, wanted, strict=True):
        if fast.encode(caption).ids != ids:
            raise ValueError(
                f"tokenizer.json would read {caption[:40]!r} as other tokens than the tokenizer {backbone.tokenizer!r} "
                "that the model was trained with; take open_clip, which keeps it"
            )
    fast.save(str(folder / "tokenizer.json"))


def _fast(backbone: Backbone) -> Any:
    """The backbone's tokenizer as one of the package tokenizers, which is what tokenizer.json holds."""
    found = words(backbone.tokenizer, backbone.context)
    if not isinstance(found, FromTransformers):
        from transformers import CLIPTokenizer

        with TemporaryDirectory() as folder:
            write_processor(Path(folder), backbone.preprocess, backbone.context)
            return CLIPTokenizer.from_pretrained(folder).backend_tokenizer
    from tokenizers import normalizers

    fast = found.hub.tokenizer.backend_tokenizer
    own = [fast.normalizer] if fast.normalizer else []
    fast.normalizer = normalizers.Sequence([cleaning(CLEANINGS[found.hub.clean_fn.__name__]), *own])
    return fast


def cleaning(name: str) -> Any:
    """What open_clip does to a text before its tokenizer: `whitespace`, `lower` or `canonicalize`."""
    from tokenizers import Regex, normalizers

    spaces = [normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()]
    lower = [normalizers.Lowercase()] if name != "whitespace" else []
    marks = [normalizers.Replace("_", " "), normalizers.Replace(Regex(f"[{re.escape(string.punctuation)}]"), "")]
    return normalizers.Sequence([*(marks if name == "canonicalize" else []), *lower, *spaces])
