"""Random sentence-transformers models of a few numbers, made in a folder of the test's own."""

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from transformers import BertConfig, BertModel, BertTokenizerFast
from world import BACKBONE

from hnclip import export
from hnclip.models.load import backbone_from

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [*SPECIAL, *"a the red blue green big small box ball cat dog on under".split()]


def text_model(folder) -> SentenceTransformer:
    """A BERT of one layer without dropout, over WORDS."""
    torch.manual_seed(0)
    folder.mkdir(parents=True)
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    BertModel(BertConfig(vocab_size=len(WORDS), **sizes, **still)).save_pretrained(folder)
    tower = Transformer(str(folder))
    return SentenceTransformer(modules=[tower, Pooling(16)], device="cpu")


def clip_model(folder) -> SentenceTransformer:
    """The tests' tiny CLIP as transformers has it, for pictures and captions."""
    folder.mkdir(parents=True)
    export.write_transformers(folder, backbone_from(BACKBONE))
    return SentenceTransformer(modules=[Transformer(str(folder))], device="cpu")
