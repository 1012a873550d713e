"""What to try: a small grid of losses for a study's config, and remarks, each with its reason."""

from dataclasses import dataclass
from typing import Any

from hnclip.doctor.alike import Alike
from hnclip.doctor.lengths import CLIP, LONG, Lengths
from hnclip.doctor.percent import percent
from hnclip.doctor.repeats import Repeats
from hnclip.doctor.start import Start

SCALES = (6, 10, 17, 33)  # of the studies' tuned boosts; plain's best was 8, and 100 is where released models stand
GAMMAS = (0.25, 0.5)
BOOSTED = ("kind", "toy")  # kinds of data for which the grid has the boost
WITHOUT = ("one", "few")  # kinds for which there is no grid
MUCH = 0.05  # of captions cut, or of batches solved, that is worth a remark


@dataclass(frozen=True)
class Suggestion:
    """Numbers to try; `boost` says whether the boost is worth a try at all.

    margin: γ = .5 times the mean caption cosine of this data, None if not known; measured: it is by the model that is
    trained, and not by another encoder. mask: whether captions of the same words should be no negatives of each
    other. reason: why these.
    """

    boost: bool
    scales: tuple[int, ...]
    gammas: tuple[float, ...]
    margin: float | None
    measured: bool
    mask: bool
    reason: str

    @property
    def losses(self) -> dict[str, dict[str, Any]]:
        """Entries for `losses` of a study's config."""
        if not self.scales:
            return {}
        mask = {"mask_duplicates": True} if self.mask else {}
        found = {"plain-tuned": {"base": "infonce", "boost": "none", "scale": [*self.scales, None], **mask}}
        tried = {"gamma": list(self.gammas), "scale": list(self.scales), **mask}
        if self.boost:
            found["boosted-tuned"] = {"base": "infonce", "boost": "captions", **tried}
        if self.boost or not self.measured:
            found["matched-tuned"] = {"base": "infonce", "boost": "matched", **tried}
        elif self.margin is not None:
            margin = {"base": "infonce", "boost": "constant", "margin": self.margin, "scale": list(self.scales), **mask}
            found["margin-tuned"] = margin
        return found

    @property
    def yaml(self) -> str:
        """The entries as they stand in a config, and how its grid names them; empty where nothing is to be tried.

        The grid's line is a comment: a second `grids` in the file that `hnclip init` wrote would replace its own.
        """
        entries = {
            name: ", ".join(f"{key}: {_yaml(value)}" for key, value in entry.items())
            for name, entry in self.losses.items()
        }
        lines = [f"  {name}: {{{entry}}}" for name, entry in entries.items()]
        if not lines:
            return ""
        grid = [
            "# Only what a grid names is trained: in the study's own, below `grids`, let its line `losses` be",
            f"#   losses: [infonce, hn, {', '.join(entries)}]",
        ]
        return "\n".join(["losses:", *lines, "tuning: {seed: 41}", *grid]) + "\n"

    @property
    def record(self) -> dict[str, Any]:
        return {
            "scale": list(self.scales),
            "boost": self.boost,
            "gamma": list(self.gammas),
            "margin": self.margin,
            "margin_by_the_model_that_is_trained": self.measured,
            "mask_duplicates": self.mask,
            "reason": self.reason,
            "losses": self.losses,
        }


def suggest(kind: str, alike: Alike | None, repeated: bool) -> Suggestion:
    """The grid for a kind of data (`hnclip.doctor.verdict`)."""
    if kind in WITHOUT:
        return Suggestion(False, (), (), None, False, repeated, "There is too little data to choose a loss by.")
    margin = None if alike is None or alike.toy else round(0.5 * alike.geometry.mean, 2)
    margin = margin if margin and margin > 0 else None
    measured = margin is not None and alike is not None and alike.trained
    boost = kind in BOOSTED
    reason = (
        "On the project's drawn scenes plain InfoNCE at a fixed s of 8 gained 3.0 points of R@1 over its learned s of "
        "100 (shown), and the tuned boost stood within 0.2 points of it: so the temperature comes first. "
    )
    if boost:
        reason += "Beside the boost stands the matched margin, which has the same mean and nothing adaptive. "
    else:
        reason += "Nothing here speaks for an offset that differs between negatives: a constant does the same. "
    if boost or not measured:
        reason += "`matched` measures its margin in each batch, by the model that is trained"
        reason += f"; on these captions {margin:.2f}{'' if measured else f' by {alike.encoder}'}." if margin else "."
    return Suggestion(boost, SCALES, GAMMAS, margin, measured, repeated, reason.strip())


def remarks(lengths: Lengths, repeats: Repeats, alike: Alike | None, start: Start | None) -> list[str]:
    """Further advice, each with its reason."""
    found = []
    clip, long = lengths.cut(CLIP), lengths.cut(LONG)
    if clip.captions > MUCH and lengths.context <= CLIP:
        found.append(
            f"A context of {LONG} tokens would cut {percent(long.captions)} of the captions, this one cuts "
            f"{percent(clip.captions)} and loses {percent(clip.tokens)} of all tokens: take a model with a "
            "longer context, or one stretched to it."
        )
    if lengths.cut(lengths.context).captions > MUCH and lengths.context > CLIP:
        found.append(
            f"{percent(lengths.cut(lengths.context).captions)} of the captions are cut even at {lengths.context} "
            "tokens: what stands at their ends is never learned. Shorten them, or put what matters first."
        )
    if repeats.exact:
        found.append(
            f"{repeats.rows(repeats.exact):,} captions have the words of another image's caption: no loss can tell "
            "such images apart, and the boost asks most of just these. Set `mask_duplicates: true`, which leaves out "
            f"those that are letter for letter the same ({repeats.literal:,}), or write captions that differ."
        )
    if start is not None and not start.toy:
        found += _saturation(start)
    return found


def _saturation(start: Start) -> list[str]:
    few, most = start.own[0], start.own[-1]
    if few.solved < MUCH:
        return [
            f"Plain InfoNCE has {percent(few.solved)} of the batches of {few.batch} solved at the start: it is not "
            "saturated yet, so there is nothing for a boost to wake up; look again after the first epoch."
        ]
    if most.batch > few.batch and most.solved < few.solved / 2:
        return [
            f"Of batches of {few.batch}, {percent(few.solved)} are solved before training, of {most.batch} only "
            f"{percent(most.solved)}: a larger true batch (`tile` saves its memory) "
            "gives plain InfoNCE what it lacks."
        ]
    return [
        f"{percent(few.solved)} of the batches of {few.batch} and {percent(most.solved)} of those of "
        f"{most.batch} are solved before training: the model knows this data; a lower scale leaves it "
        "something to learn."
    ]


def _yaml(value: Any) -> str:
    """A value as YAML writes it within a line."""
    if isinstance(value, list):
        return f"[{', '.join(map(_yaml, value))}]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f"{value:g}" if isinstance(value, int | float) else str(value)
