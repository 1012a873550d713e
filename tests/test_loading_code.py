"""The code of a card sees pictures as the training does."""

import io

import numpy as np
import pytest
from PIL import Image

from hnclip.data.images import decode
from hnclip.loading_code import CODE, OPEN_CLIP_WORDS, RGB


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "LA", "L", "P"])
def test_a_picture_with_hidden_colours_is_what_the_training_sees(mode):
    hidden = np.arange(4 * 6 * 4, dtype=np.uint8).reshape(4, 6, 4) * 2
    file = io.BytesIO()
    Image.fromarray(hidden, "RGBA").convert(mode).save(file, "PNG", **({"transparency": 3} if mode == "P" else {}))
    names = {"Image": Image}
    exec(RGB, names)
    assert np.array_equal(names["rgb"](Image.open(file)), decode(file.getvalue(), "picture", "ignore"))


@pytest.mark.parametrize("code", [OPEN_CLIP_WORDS, *(CODE[name] for name in sorted(CODE) if name != "adapter")])
def test_every_card_that_takes_pictures_says_so(code):
    assert RGB.strip() in code and "rgb(image)" in code.replace(RGB, "") and "from PIL import Image" in code
    compile(code, "card", "exec")
