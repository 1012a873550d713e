"""What beside its weights decides the embeddings of a CLIP: heads, pooling, activations; whatever it is called.

What names and shapes of the weights tell already is left out, and so is what has open_clip's default value: of a CLIP
in OpenAI's layout whose heads have 64 numbers nothing is left.
"""

from dataclasses import MISSING, fields
from typing import Any

from hnclip.data.tokenizers import words
from hnclip.models.backbone import Backbone
from hnclip.models.openclip import open_clip
from hnclip.models.whole_towers import WholeTowers

HEAD = 64  # numbers of a head, as OpenAI's towers have it
BY_WEIGHTS = {"layers", "width", "patch_size", "image_size", "mlp_ratio", "ls_init_value", "vocab_size"}
IN_TRAINING = {"patch_dropout", "timm_drop", "timm_drop_path", "timm_model_pretrained", "hf_model_pretrained"}
ELSEWHERE = {"context_length", "tokenizer_mode", "tokenizer_kwargs", "hf_tokenizer_name", "hf_model_name", "hf_config"}
ASIDE = BY_WEIGHTS | IN_TRAINING | ELSEWHERE | {"output_tokens"}
ENDS = {"pool_type", "eos_id", "pad_id"}  # not read where a caption's own length says where it ends
# Of a configuration of transformers, under the names that its models have for them.
OF_TRANSFORMERS = (
    *("model_type", "pad_token_id", "is_decoder", "position_embedding_type"),
    *("num_attention_heads", "num_heads", "n_heads", "num_key_value_heads", "head_dim", "d_kv"),
    *("hidden_act", "hidden_activation", "activation", "feed_forward_proj"),
    *("layer_norm_eps", "layer_norm_epsilon", "rms_norm_eps", "rope_theta"),
    *("relative_attention_num_buckets", "relative_attention_max_distance"),
)
PROBE = (
    "a red Box, on TWO blue ones.",
    "  spaces \t\n and\u00a0others ",
    "0123456789 3.14 1,000 50% #7 a_b a-b a/b (c) [d] {e} <f> \"g\" 'h' it's & &amp; @ ! ? ; : ~ ^ * + = | \\ `",
    "naïve Écorce straße Ångström İstanbul ﬁn ½",
    "кошка γάτα 猫 고양이 קופסה صندوق บ้าน 🐈 ☃ ️",
    "antidisestablishmentarianism zzzzqqqq ABCdefGHI",
)


def read_of(backbone: Backbone) -> dict[str, Any]:
    """The parts of the architecture that weights do not tell, by tower; empty of a CLIP as OpenAI released them."""
    architecture, whole = backbone.architecture, isinstance(backbone, WholeTowers)
    model = open_clip().model
    found = {}
    for part, kind in (("vision_cfg", model.CLIPVisionCfg), ("text_cfg", model.CLIPTextCfg)):
        usual = {field.name: field.default for field in fields(kind) if field.default is not MISSING}
        given = architecture[part]
        kept = {
            key: value
            for key, value in given.items()
            if value != usual.get(key) and key not in ASIDE and (whole or key not in ENDS)
        }
        if given.get("heads", usual.get("heads", 0)) * HEAD == given.get("width", usual["width"]):
            kept.pop("heads", None)
        elif part == "text_cfg" and "hf_model_name" not in given:
            kept["heads"] = given.get("heads", usual["heads"])
        if kept:
            found[part] = kept
    config = getattr(getattr(backbone.clip, "text", None), "config", None)
    if config is not None:
        values = {key: getattr(config, key, None) for key in OF_TRANSFORMERS}
        found["transformers"] = {key: value for key, value in values.items() if value is not None}
    return found


def tokens_of(tokenizer: str, context: int) -> Any:
    """What tells a tokenizer from another: `clip` its name, every other one the tokens that it makes of PROBE."""
    return tokenizer if tokenizer == "clip" else words(tokenizer, context).rows(list(PROBE), context)[0]
