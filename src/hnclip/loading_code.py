"""How an exported folder is loaded: the code that its card shows, one piece a library, run by the tests."""

LIBRARIES = {
    "open_clip": "open_clip",
    "transformers": "transformers",
    "peft": "peft",
    "adapter": "hnclip",
    "onnx": "onnx",
}
# What training sees of a picture (`hnclip.data.images`); `convert("RGB")` alone would uncover hidden colours.
RGB = """
def rgb(image):  # transparency goes onto white, as in the training
    if not image.has_transparency_data:
        return image.convert("RGB")
    image = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image).convert("RGB")
"""
CODE = {
    "open_clip": f"""
import open_clip
from PIL import Image

model, _, preprocess = open_clip.create_model_and_transforms("local-dir:FOLDER")
tokenizer = open_clip.get_tokenizer("local-dir:FOLDER")
{RGB}
model.eval()  # then model.encode_image(preprocess(rgb(image))[None]), model.encode_text(tokenizer(captions))
""",
    "transformers": f"""
from PIL import Image
from transformers import CLIPModel, CLIPProcessor

model = CLIPModel.from_pretrained("FOLDER")
processor = CLIPProcessor.from_pretrained("FOLDER")
{RGB}
# then model(**processor(text=captions, images=rgb(image), return_tensors="pt", padding=True, truncation=True))
""",
    "peft": f"""
from peft import PeftModel
from PIL import Image
from transformers import CLIPModel, CLIPProcessor

model = PeftModel.from_pretrained(CLIPModel.from_pretrained("FOLDER/base"), "FOLDER/adapter")
processor = CLIPProcessor.from_pretrained("FOLDER/base")
{RGB}
# then model(**processor(text=captions, images=rgb(image), return_tensors="pt", padding=True, truncation=True))
""",
    "adapter": """
import torch
from safetensors.torch import load_file
from torch.nn.functional import gelu, linear, normalize

weights = load_file("FOLDER/adapter.safetensors")

def adapt(rows, side):  # embeddings of the backbone, [N, width], of side "image" or "text", to unit rows
    part = {name.removeprefix(f"{side}_map."): value for name, value in weights.items() if name.startswith(side)}
    rows = normalize(torch.as_tensor(rows).float(), dim=-1)
    kept = rows @ part["projection"] if "projection" in part else rows
    if "last.weight" not in part:  # this side was not trained
        return normalize(kept, dim=-1)
    inner = gelu(linear(rows, part["first.weight"], part["first.bias"])) if "first.weight" in part else rows
    return normalize(kept + linear(inner, part["last.weight"], part["last.bias"]), dim=-1)
""",
    "onnx": """
import json
import numpy as np
from onnxruntime import InferenceSession
from PIL import Image
from tokenizers import Tokenizer

image_tower, text_tower = InferenceSession("FOLDER/image.onnx"), InferenceSession("FOLDER/text.onnx")
tokenizer = Tokenizer.from_file("FOLDER/tokenizer.json")  # cuts at the context and pads
look = json.load(open("FOLDER/preprocess.json"))["image"]
"""
    + RGB
    + """
def embed_texts(captions):
    ids = [found.ids for found in tokenizer.encode_batch(captions)]
    return text_tower.run(None, {"input_ids": np.array(ids, np.int64)})[0]

def embed_image(image):
    size, short = look["size"], min(image.size)
    sides = [size if side == short else int(size * side / short) for side in image.size]
    sides = sides if look["resize"] == "shortest" else [size, size]
    left, top = (round((side - size) / 2) for side in sides)
    picture = rgb(image).resize(sides, Image.Resampling[look["interpolation"].upper()])
    pixels = np.asarray(picture.crop((left, top, left + size, top + size)), np.float32) / 255
    return image_tower.run(None, {"pixel_values": pixels.transpose(2, 0, 1)[None]})[0][0]
""",
}
# Of a text tower of transformers, whose configuration open_clip looks for by name.
OPEN_CLIP_WORDS = f"""
import json
import open_clip
from PIL import Image

words = json.load(open("FOLDER/open_clip_config.json"))["model_cfg"]["text_cfg"] | {{"hf_model_name": "FOLDER"}}
model, _, preprocess = open_clip.create_model_and_transforms("local-dir:FOLDER", text_cfg=words)
tokenizer = open_clip.get_tokenizer("local-dir:FOLDER")
{RGB}
model.eval()  # then model.encode_image(preprocess(rgb(image))[None]), model.encode_text(tokenizer(captions))
"""


def code(format: str, name: str, words_by_name: bool = False) -> str:
    """The code that loads the folder `name`, run where it lies."""
    return (OPEN_CLIP_WORDS if format == "open_clip" and words_by_name else CODE[format]).replace("FOLDER", name)
