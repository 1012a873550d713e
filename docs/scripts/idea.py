"""The picture of docs/idea.md: what the boost does to one batch of drawn scenes, under the embedded backbone.

python docs/scripts/idea.py docs/images/idea.svg
"""

import argparse
import io
from pathlib import Path
from random import Random

import matplotlib
import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from PIL import Image

from hnclip.data.scene import Scene, draw, near_twin, random_scene
from hnclip.data.scene_words import dense_sentences
from hnclip.encoder import Encoder

GAMMA, SOFT = 0.5, 8
FAMILIES, MEMBERS = 4, 4
BOOST, OTHER, PLAIN, MARGIN = "#d55e00", "#e69f00", "#555555", "#009e73"


def batch(seed: int) -> list[tuple[Scene, str]]:
    """Scenes of a batch: families of near-twins, each scene with its caption."""
    random, found = Random(seed), []
    for family in range(FAMILIES):
        first = random_scene(random, 4)
        scenes = [first, *(near_twin(first, random, 2) for _ in range(MEMBERS - 1))]
        found += [(scene, " ".join(dense_sentences(scene, f"{seed}:{family}"))) for scene in scenes]
    return found


def png(scene: Scene) -> bytes:
    data = io.BytesIO()
    Image.fromarray(draw(scene, 48)).save(data, "PNG")
    return data.getvalue()


def measured(seed: int) -> dict[str, np.ndarray | float]:
    """Of every wrong caption of the batch: its cosine with the right one, and how much closer the right one is."""
    model, pairs = Encoder("tiny"), batch(seed)
    images_ND = model.images((str(number), png(scene)) for number, (scene, _) in enumerate(pairs))
    texts_ND = model.texts([caption for _, caption in pairs])
    cosine_NN = (images_ND @ texts_ND.T).astype(np.float64)
    family_N = np.arange(len(pairs)) // MEMBERS
    wrong_NN = ~np.eye(len(pairs), dtype=bool)
    return {
        "captions": (texts_ND @ texts_ND.T)[wrong_NN].astype(np.float64),
        "gap": (cosine_NN.diagonal()[:, None] - cosine_NN)[wrong_NN],
        "twin": (family_N[:, None] == family_N)[wrong_NN],
        "scale": model.scale,
    }


def weight(gap, boost: float, scale: float):
    """The softmax weight of a wrong caption beside the right one, 0 to 1: how hard it is pushed away."""
    return 1 / (1 + np.exp(scale * (gap - boost)))


def draw_added(axes: Axes, found: dict) -> None:
    """What the boost adds to each wrong caption's logit, and the mean of it: the part that is the same for all."""
    added = found["scale"] * GAMMA * found["captions"]
    for twin, colour, label in ((True, BOOST, "near-twins"), (False, OTHER, "other captions")):
        chosen = found["twin"] == twin
        axes.scatter(found["captions"][chosen], added[chosen], s=16, color=colour, linewidths=0, label=label)
    axes.axhline(added.mean(), color=MARGIN, linewidth=1.5, label="the mean: a matched margin")
    axes.set_ylim(0, None)
    axes.set_title("What is added to wrong captions", loc="left", fontsize=10)
    axes.set_xlabel("cosine of the wrong caption with the right one")
    axes.set_ylabel("added to its logit, sγḠ")
    axes.legend(frameon=False, fontsize=8, loc="lower right")


def draw_weights(axes: Axes, found: dict) -> None:
    """Until which gap a wrong caption is pushed away, under each loss; the batch's own gaps as ticks below."""
    gap, twin, scale = np.linspace(-0.25, 0.8, 300), found["twin"], found["scale"]
    curves = [
        (f"plain, s = {scale:.0f}", PLAIN, "-", 0.0, scale),
        (f"plain, s = {SOFT}", PLAIN, "--", 0.0, SOFT),
        (f"boosted, s = {scale:.0f}: near-twins", BOOST, "-", GAMMA * found["captions"][twin].mean(), scale),
        (f"boosted, s = {scale:.0f}: others", OTHER, "-", GAMMA * found["captions"][~twin].mean(), scale),
        (f"matched margin, s = {scale:.0f}", MARGIN, "-", GAMMA * found["captions"].mean(), scale),
    ]
    for label, colour, line, boost, sharp in curves:
        axes.plot(gap, weight(gap, boost, sharp), line, color=colour, label=label)
    for gaps, colour, height in ((found["gap"][twin], BOOST, -0.07), (found["gap"][~twin], OTHER, -0.14)):
        axes.scatter(gaps, np.full(len(gaps), height), marker="|", s=24, color=colour, linewidths=0.8)
    axes.set_ylim(-0.2, 1.65)
    axes.set_yticks([0, 0.5, 1])
    axes.set_title("How hard they are pushed away", loc="left", fontsize=10)
    axes.set_xlabel("gap: cosine of the right caption less that of the wrong one")
    axes.set_ylabel("softmax weight")
    axes.legend(frameon=False, fontsize=8, loc="upper left", ncols=2)


def numbers(found: dict) -> dict[str, float]:
    """The numbers that docs/idea.md tells."""
    twin, captions, gap = found["twin"], found["captions"], found["gap"]
    return {
        "inverse temperature s": found["scale"],
        "mean cosine with near-twins": captions[twin].mean(),
        "mean cosine with others": captions[~twin].mean(),
        "mean added to a near-twin's logit": found["scale"] * GAMMA * captions[twin].mean(),
        "mean added to another's logit": found["scale"] * GAMMA * captions[~twin].mean(),
        "matched margin": GAMMA * captions.mean(),
        "median gap to near-twins": np.median(gap[twin]),
        "median gap to others": np.median(gap[~twin]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="an .svg or .png file")
    parser.add_argument("--seed", type=int, default=2, help="which scenes are drawn")
    arguments = parser.parse_args()
    matplotlib.use("agg")
    matplotlib.rcParams["svg.hashsalt"] = "hnclip"
    found = measured(arguments.seed)
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9.6, 3.8), layout="constrained")
    draw_added(left, found)
    draw_weights(right, found)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(arguments.out, metadata={"Date": None} if arguments.out.suffix == ".svg" else None)
    for name, value in numbers(found).items():
        print(f"{name}: {value:.2f}")


if __name__ == "__main__":
    main()
