"""A model that a person named, ready to embed pictures and texts of their own: for search, diagnosis and evaluation."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hnclip.data.bounded import PIXELS, Room, bounded, grouped
from hnclip.data.images import Transform, count_pixels, decode, transform_image
from hnclip.data.tokens import tokenize
from hnclip.embedded_by import Maker
from hnclip.encode import device, encode_texts
from hnclip.model_spec import backbone_entry, is_adapted, lasting, made_with, whole_paths
from hnclip.models.backbone import Backbone
from hnclip.models.cached import CachedTowers, load_adapter
from hnclip.models.load import backbone_from
from hnclip.models.reading import read_of, tokens_of
from hnclip.options import from_dict


class Encoder:
    """Unit embeddings of pictures and texts by one model (`hnclip.model_spec` has how it may be named).

    `name` is what it was asked for as, `entry` its backbone's entry. Embeddings of two encoders may be compared only
    where their `identity` is the same. Raises ValueError for a run on embeddings of another model than stands now where
    theirs stood.
    """

    def __init__(self, name: str, batch: int = 32):
        self.name = name
        self.entry = backbone_entry(name)
        self.batch = batch
        self.backbone: Backbone = backbone_from(self.entry).eval().to(device())
        self.transform = from_dict(Transform, self.entry["transform"], "transform of the backbone")
        self.maps = self._maps()
        self._check_maker()

    def _maps(self) -> CachedTowers | None:
        """Of a run on cached embeddings, what it does to them."""
        if not is_adapted(self.name):
            return None
        maps = load_adapter(Path(self.name) / "weights.safetensors").eval().to(device())
        width = self.backbone.architecture["embed_dim"]
        if maps.widths != (width, width):
            raise ValueError(
                f"{self.name} maps embeddings of {maps.widths} numbers (image, text); its backbone now gives {width}"
            )
        return maps

    def _check_maker(self) -> None:
        """Maps of embeddings that were given as a file are for those of one model."""
        maker = made_with(self.name)
        if maker and (now := self._of_towers().hexdigest()) != maker.identity:
            raise ValueError(
                f"{self.name} maps embeddings that {maker.model} made (identity {maker.identity[:12]}), and that is "
                f"another model now (identity {now[:12]}): its weights, its preprocessing or how its towers are read "
                "changed, or an earlier hnclip, which told less of them, made the embeddings. Put the old model back, "
                "or embed again by `hnclip embed` and run the study again"
            )

    def maker(self) -> Maker:
        """What a file of this encoder's embeddings says of it."""
        entry = None if self.maps else whole_paths(self.entry, Path.cwd())
        return Maker(lasting(self.name), self.identity, entry)

    @property
    def width(self) -> int:
        """Numbers of an embedding."""
        return (self.maps or self.backbone).architecture["embed_dim"]

    @property
    def scale(self) -> float:
        """The inverse temperature that the model multiplies cosines by."""
        return (self.maps or self.backbone).scale().item()

    @cached_property
    def identity(self) -> str:
        """A hash of the weights and of how pictures and texts come to them, 64 hexadecimal digits.

        It is the same whatever the model is called: open_clip's name, an exported folder, another place.
        """
        told = self._of_towers()
        if self.maps:
            _tell(told, self.maps.weights())
        return told.hexdigest()

    def _of_towers(self) -> Any:
        """The hash of all but the maps."""
        context = self.entry["context"]
        seen_by = {"context": context, "transform": self.entry["transform"]}
        seen_by["tokenizer"] = tokens_of(self.entry["tokenizer"], context)
        seen_by |= asdict(self.backbone.preprocess)  # mean and deviation, which hang on the tag of the weights
        # the same weights are released with two activations, and only one of them is right
        seen_by["quick_gelu"] = self.backbone.architecture.get("quick_gelu", False)
        if read := read_of(self.backbone):
            seen_by["architecture"] = read
        told = sha256(json.dumps(seen_by, sort_keys=True).encode())
        _tell(told, self.backbone.weights())
        return told

    @torch.no_grad()
    def texts(self, texts: Sequence[str]) -> np.ndarray:
        """Embeddings of texts, float32 [C, D]; one too long for the context is cut.

        Raises ValueError for empty ones, and where the model's weights are broken.
        """
        tokens = tokenize(list(texts), self.entry["tokenizer"], self.entry["context"])
        text_CD = encode_texts(self.backbone, tokens, self.batch)
        return self._finite((self.maps.text(text_CD.to(device()))[0].cpu() if self.maps else text_CD).numpy(), "texts")

    def cut(self, texts: Sequence[str]) -> list[bool]:
        """For each text, whether it is too long for the context, so that its end is not read."""
        context = self.entry["context"]
        return (tokenize(list(texts), self.entry["tokenizer"], context + 1).lengths() > context).tolist()

    @torch.no_grad()
    def images(self, files: Iterable[tuple[str, bytes]]) -> np.ndarray:
        """Embeddings of pictures given as (name, the file's bytes), float32 [I, D].

        Raises ValueError for one that cannot be read, naming it.
        """
        return self._rows(self._look(data, name) for name, data in files)

    def files(self, paths: Sequence[Path]) -> np.ndarray:
        """Embeddings of image files, float32 [I, D]; they are opened on several threads, and few at once.

        Raises ValueError or OSError for one that cannot be read, naming it.
        """
        room = Room(PIXELS)

        def look(path: Path) -> np.ndarray:
            data = Path(path).read_bytes()
            with room.taken(count_pixels(data)):
                return self._look(data, str(path))

        return self._rows(bounded(look, paths, 4 * self.batch))

    def _look(self, data: bytes, name: str) -> np.ndarray:
        return transform_image(decode(data, name, self.transform.exif), self.transform)

    def _rows(self, pictures: Iterable[np.ndarray]) -> np.ndarray:
        found = [self.pixels(group) for group in grouped(pictures, self.batch)]
        return np.concatenate(found) if found else np.zeros((0, self.width), np.float32)

    @torch.no_grad()
    def pixels(self, pictures: Sequence[np.ndarray]) -> np.ndarray:
        """Embeddings of pictures that `transform` was applied to, uint8 [side, side, 3] each, float32 [I, D]."""
        pixels_NHWC = torch.from_numpy(np.stack(pictures)).to(self.backbone.mean.device)
        image_ND, _ = self.backbone.image(pixels_NHWC, states=0)
        return self._finite((self.maps.image(image_ND)[0] if self.maps else image_ND).cpu().numpy(), "pictures")

    def _finite(self, rows_ND: np.ndarray, what: str) -> np.ndarray:
        """The rows as they are: embeddings that are no numbers would be written, and found nowhere."""
        bad = int((~np.isfinite(rows_ND).all(1)).sum())
        if bad:
            raise ValueError(
                f"{self.name} gives no finite embeddings ({bad} of {len(rows_ND)} {what} tried): its weights are "
                "broken; train it again, or take another copy of the file"
            )
        return rows_ND


def _tell(told: Any, weights: dict[str, torch.Tensor]) -> None:
    """Add weights to a hash."""
    for name, value in sorted(weights.items()):
        told.update(name.encode())
        told.update(np.ascontiguousarray(value.detach().cpu().float().numpy()).tobytes())
