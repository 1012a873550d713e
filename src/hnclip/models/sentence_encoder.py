"""A sentence transformer from a local folder: captions become unit vectors, without network and without pickle."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from torch.nn.functional import normalize
from transformers import AutoModel, AutoTokenizer, PreTrainedTokenizerBase
from transformers.utils import logging

UNUSED = ("pooler.",)  # BERT's own pooled output, which the mean over tokens replaces


@dataclass(frozen=True)
class SentenceEncoder:
    """The model, its tokenizer, and how many tokens of a caption it reads."""

    model: nn.Module
    tokenizer: PreTrainedTokenizerBase
    context: int

    @torch.no_grad()
    def encode(self, captions: list[str], batch: int) -> tuple[torch.Tensor, int]:
        """Unit embeddings [C, D] in fp32 on the CPU, and how many captions were cut at the context.

        The mean of the last layer's token states, special tokens included and padding left out, at unit length:
        `sum(mask * state) / sum(mask)` (Reimers and Gurevych, 1908.10084).
        """
        device = next(self.model.parameters()).device
        lengths = [len(ids) for ids in self.tokenizer(captions, verbose=False)["input_ids"]]
        order = sorted(range(len(captions)), key=lengths.__getitem__)
        text_CD = torch.empty(len(captions), self.model.config.hidden_size)
        for start in range(0, len(order), batch):
            rows = order[start : start + batch]
            tokens = self.tokenizer(
                [captions[row] for row in rows],
                padding=True,
                truncation=True,
                max_length=self.context,
                return_tensors="pt",
            ).to(device)
            text_CD[rows] = mean_pool(self.model(**tokens).last_hidden_state, tokens["attention_mask"]).cpu()
        return text_CD, sum(length > self.context for length in lengths)


def mean_pool(state_NLW: torch.Tensor, mask_NL: torch.Tensor) -> torch.Tensor:
    """The mean of the states where the mask is 1, as unit vectors [N, W]."""
    mask_NL1 = mask_NL[:, :, None].to(state_NLW.dtype)
    return normalize((state_NLW * mask_NL1).sum(1) / mask_NL1.sum(1).clamp_min(1), dim=-1)


def load_sentence_encoder(folder: Path, context: int) -> SentenceEncoder:
    """The model of this folder in fp32, in evaluation mode; every weight that is read must be there.

    Raises ValueError where weights lack or the context is longer than the model's table of positions, OSError where
    a file lacks.
    """
    logging.disable_progress_bar()  # it would run into our own
    model, found = AutoModel.from_pretrained(
        folder, local_files_only=True, use_safetensors=True, dtype=torch.float32, output_loading_info=True
    )
    lacking = sorted(name for name in found["missing_keys"] if not name.startswith(UNUSED))
    if lacking:
        raise ValueError(f"{folder} lacks {len(lacking)} weights of the model in its config.json: {', '.join(lacking)}")
    positions = getattr(model.config, "max_position_embeddings", context)
    if context > positions:
        raise ValueError(f"context {context} is longer than the {positions} positions of {folder}; lower it")
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    return SentenceEncoder(model.eval(), tokenizer, context)
