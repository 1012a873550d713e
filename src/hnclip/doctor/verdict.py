"""What the diagnosis says: a headline, three sentences, and what to try, by what the project's own studies showed.

The studies (docs/findings.md) show no gain of the boost over a constant margin of the same size, nor over plain InfoNCE
at its best temperature. So data can be of the kind that the boost was made for, or not; that it helps is never said.
"""

from dataclasses import dataclass
from typing import Any

from hnclip.doctor.alike import Alike, Batch
from hnclip.doctor.lengths import Lengths
from hnclip.doctor.percent import percent
from hnclip.doctor.repeats import Repeats
from hnclip.doctor.start import Start
from hnclip.doctor.suggestion import Suggestion, remarks, suggest

GAMMA = 0.5  # the paper's
FEW_IMAGES = 100  # below it a difference between losses cannot be told from chance
SHORT = 20  # words; captions of COCO have 10, the studies' 52 and more
FLAT = 1.0  # logits that must tell the hardest negative of a batch from the average one
RARE = 0.05  # twins that a caption has in a random batch of 64, below which there are none to speak of

HEADLINES = {
    "one": "One image: there is nothing to tell apart",
    "few": "Too few images to tell",
    "short": "Short captions: not the data that the boost was made for",
    "toy": "Long captions; how alike they are, only your own model can tell",
    "flat": "Long captions, all alike to the same degree: the boost would be a constant margin",
    "apart": "Long captions, but hardly any near-twins",
    "kind": "Long captions with near-twins: the data that the boost was made for",
}


@dataclass(frozen=True)
class Verdict:
    """kind: a key of HEADLINES. sentences: what the data is, what the boost would do, what to do."""

    kind: str
    headline: str
    sentences: tuple[str, str, str]
    suggestion: Suggestion
    remarks: list[str]

    @property
    def record(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "headline": self.headline,
            "sentences": list(self.sentences),
            "suggestion": self.suggestion.record,
            "remarks": self.remarks,
        }


def judge(images: int, lengths: Lengths, repeats: Repeats, alike: Alike | None, start: Start | None) -> Verdict:
    """The verdict on data of so many images; `alike` None where there is one image, `start` without images."""
    kind = _kind(images, lengths, alike)
    suggestion = suggest(kind, alike, bool(repeats.exact))
    sentences = (_data(images, lengths, repeats, alike), _boost(kind, alike), _todo(kind, suggestion))
    return Verdict(kind, HEADLINES[kind], sentences, suggestion, remarks(lengths, repeats, alike, start))


def adaptive(batch: Batch, scale: float, gamma: float = GAMMA) -> float:
    """Logits by which the boost tells a caption's hardest negative of a batch from its average one."""
    return gamma * scale * (batch.hardest - batch.mean)


def constant(batch: Batch, scale: float, gamma: float = GAMMA) -> float:
    """Logits that the boost adds to every negative alike."""
    return gamma * scale * batch.mean


def of_size(alike: Alike, size: int) -> Batch:
    """The simulated batches of this size, or the nearest there are."""
    return min(alike.batches, key=lambda batch: abs(batch.batch - size))


def _kind(images: int, lengths: Lengths, alike: Alike | None) -> str:
    if alike is None:
        return "one"
    if images < FEW_IMAGES:
        return "few"
    if lengths.record["words"]["median"] < SHORT:
        return "short"
    if alike.toy:
        return "toy"
    if adaptive(of_size(alike, 16), alike.scale) < FLAT:
        return "flat"
    return "apart" if of_size(alike, 64).twins < RARE else "kind"


def _data(images: int, lengths: Lengths, repeats: Repeats, alike: Alike | None) -> str:
    said = lengths.record["words"]
    count, cut = said["n"], lengths.cut(lengths.context).captions
    have = "have" if count != 1 else "has"
    words = f"{count:,} caption{'s' * (count != 1)} of {images:,} image{'s' * (images != 1)} {have} "
    words += f"{said['median']:.0f} words in the median, and a context of {lengths.context} tokens cuts "
    words += f"{percent(cut)} of them" if cut else "none of them"
    near = repeats.rows(repeats.near) / count
    words += f"; {percent(near)} share most of their phrases with another image's" if near >= 0.01 else ""
    if alike is None or alike.toy:
        return f"{words}."
    batch = of_size(alike, 64)
    by = "your model" if alike.trained else alike.encoder
    return (
        f"{words}; by {by} a caption's cosine with others is {alike.geometry.mean:.2f} on average and "
        f"{batch.hardest:.2f} with the hardest of a random batch of {batch.batch}."
    )


def _boost(kind: str, alike: Alike | None) -> str:
    if alike is None:
        return "Contrast needs the captions of at least two images."
    if kind == "toy":
        return (
            "What the boost would do hangs on the cosines of the model that you train, and `tiny`, which knows nothing "
            "but drawn scenes, cannot stand in for it."
        )
    batch = of_size(alike, 16)
    of = "" if alike.own_scale else " (released CLIP models' own)"
    added = (
        f"With γ = {GAMMA:g} at s = {alike.scale:.0f}{of} the boost adds {constant(batch, alike.scale):.0f} logits to "
        f"every negative alike, as a constant margin does, and {adaptive(batch, alike.scale):.1f} more to the hardest "
        f"of {batch.batch}"
    )
    if kind == "few":
        return f"With fewer than {FEW_IMAGES} images any difference between two losses is chance."
    if kind == "short":
        tried = "was made for, and tried on, captions of fifty words and more; of captions as short as these no study"
        start = "The boost" if alike.toy else f"{added}; it"
        return f"{start} {tried} of ours says anything."
    if kind == "flat":
        return (
            f"{added}: to this model all captions are about equally far apart, so that nothing is left but the margin."
        )
    if kind == "apart":
        by = "" if alike.trained else f" ({alike.encoder} is made for sentences; a CLIP finds the same captions closer)"
        return f"{added}; but captions at a cosine of .8 and more, which it was made for, hardly meet in a batch{by}."
    return f"{added}; in our own studies that second, adaptive part gained nothing over a margin of the same size."


def _todo(kind: str, suggestion: Suggestion) -> str:
    scales = ", ".join(f"{scale:g}" for scale in suggestion.scales)
    if kind == "one":
        return "Add captions of further images and run this again."
    if kind == "few":
        return "Collect more pairs, or use a released model as it is; do not choose a loss by this data."
    by = "" if suggestion.measured else ", by another encoder than yours"
    margin = f" ({suggestion.margin:.2f}, γ = {GAMMA:g} times the mean cosine{by})" if suggestion.margin else ""
    tune = f"Tune the temperature of plain InfoNCE first (s = {scales}, and learned)"
    if kind == "toy":
        return f"{tune}, and run this again with `--model`, or `--text-model`, before you judge a boost."
    if kind == "short":
        return f"{tune} and leave the boost out, or try it only beside a margin of the same size."
    if kind in ("flat", "apart"):
        return f"{tune}; a margin beside it may as well be constant{margin}."
    gammas = " and ".join(f"{gamma:g}" for gamma in suggestion.gammas)
    return (
        f"{tune}, then try γ = {gammas} and the matched margin{margin} "
        "at the same scales, and keep the boost only if it beats both on validation."
    )
