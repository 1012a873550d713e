"""The paper's own method by its definition: the global term, and late interaction of patches and words."""

import pytest
import torch
from golden_vectors import golden, relative_error
from torch.nn.functional import cross_entropy, normalize
from world import BACKBONE, SIZE, random_captions

from hnclip.frameworks import create
from hnclip.frameworks.base import Step
from hnclip.losses.objective import LossEntry, contrastive
from hnclip.models.load import backbone_from

TERM = contrastive(LossEntry(boost="captions", gamma=0.5), torch.Generator())
LENGTHS = [9, 20, 4, 12]


@pytest.fixture
def batch():
    random = torch.Generator().manual_seed(1)
    ids_NT, length_N = random_captions(LENGTHS, random)
    image = torch.randint(0, 256, (4, SIZE, SIZE, 3), dtype=torch.uint8, generator=random)
    return {"image": image, "text": ids_NT, "text_length": length_N}


def by_definition(backbone, batch, weight):
    """Both terms with loops over images, captions, patches and words."""
    image, patches = backbone.image(batch["image"])
    text, words = backbone.text(batch["text"], batch["text_length"])
    patches = normalize(backbone.project_patches(patches)[:, 1:], dim=-1)  # no class token
    to_words, to_patches = torch.zeros(4, 4), torch.zeros(4, 4)
    for i in range(4):
        for j in range(4):
            own = normalize(backbone.project_words(words[j, 1 : LENGTHS[j] - 1]), dim=-1)  # neither start nor end
            cosine = patches[i] @ own.T
            to_words[i, j] = torch.stack([row.max() for row in cosine]).mean()
            to_patches[i, j] = torch.stack([row.max() for row in cosine.T]).mean()
    scale, target = backbone.scale(), torch.arange(4)
    offset = 0.5 * (text @ text.T) * (1 - torch.eye(4))
    logits, back = scale * (image @ text.T + offset), scale * (text @ image.T + offset)
    token = (cross_entropy(scale * to_words, target) + cross_entropy(scale * to_patches.T, target)) / 2
    both = (cross_entropy(logits, target) + cross_entropy(back, target)) / 2
    return {"global": both, "token": weight * token}


@pytest.mark.parametrize(("options", "weight"), [({}, 1.0), ({"token_weight": 0.25}, 0.25)])
def test_terms_are_those_of_the_definition(batch, options, weight):
    framework = create("hnclip", backbone_from(BACKBONE), options)
    found = framework.losses(framework(batch), Step(torch.arange(4), 0, 1, 0.0), TERM)
    expected = by_definition(framework.backbone, batch, weight)
    assert list(found) == list(expected)
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=1e-4, atol=1e-5)


def test_the_token_term_of_the_framework_is_the_golden_one_and_moves_the_scale():
    file = golden("token_term")
    framework = create("hnclip", backbone_from(BACKBONE), {}).double()
    with torch.no_grad():
        framework.backbone.clip.logit_scale.fill_(file["scale"].log())
    rows = normalize(torch.randn(len(file["word_count"]), 8, dtype=torch.float64), dim=-1)
    z = {"image": rows, "text": rows, "patches": file["patches"], "words": file["words"]}
    z["word_count"] = file["word_count"]
    token = framework.losses(z, Step(torch.arange(len(rows)), 0, 1, 0.0), TERM)["token"]
    assert relative_error(token, file["loss"]) < 1e-6
    token.backward()
    assert framework.backbone.clip.logit_scale.grad.abs() > 0
