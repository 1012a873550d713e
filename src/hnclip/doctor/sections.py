"""The sections of the diagnosis's page; one that has nothing to show is empty."""

from hnclip.doctor import figures
from hnclip.doctor.alike import EDGES, Batch
from hnclip.doctor.diagnosis import LEAST, Diagnosis, Repeated
from hnclip.doctor.percent import percent
from hnclip.doctor.repeats import DRAWS
from hnclip.doctor.section import pair, section, table, toy
from hnclip.doctor.verdict import GAMMA, adaptive, constant
from hnclip.report.geometry import ALIKE
from hnclip.report.page import escape, paragraph, prose
from hnclip.report.solved import SOLVED


def lengths(found: Diagnosis) -> str:
    said, own = found.lengths.record, found.lengths.context
    tokens, count = said["tokens"], len(found.captions.rows)
    sampled = f"{tokens['n']:,} captions drawn from {count:,}" if tokens["n"] < count else f"all {count:,} captions"
    rows = [
        (f"{cut.context}{' (this model)' if cut.context == own else ''}", percent(cut.captions), percent(cut.tokens))
        for cut in found.lengths.cuts
    ]
    spread = [
        (name, f"{of['n']:,}", *(f"{of[key]:,.0f}" for key in ("least", "median", "mean", "p95", "most")))
        for name, of in (("words", said["words"]), ("tokens", tokens))
    ]
    drawn = figures.picture(lambda axes: figures.lengths(axes, found.lengths), "captions by tokens")
    note = (
        f"Tokens of {sampled} by the tokenizer {found.lengths.tokenizer!r}, start and end included. What lies beyond "
        "the context is never seen by the model."
    )
    tables = [
        table(("", "N", "least", "median", "mean", "95 %", "most"), spread),
        "<p></p>",
        table(("context (tokens)", "captions cut", "tokens lost"), rows),
        paragraph(note, "note"),
    ]
    return section("How long the captions are", pair(drawn, "".join(tables)))


def likeness(found: Diagnosis) -> str:
    alike = found.alike
    if alike is None:
        return section("How alike the captions are", paragraph("One image: its captions have no companions."))
    pairs = ", ".join(f"{percent(alike.share(edge))} at or above {edge:g}" for edge in EDGES)
    drawn = f"{len(alike.rows_M):,} captions"
    if len(alike.rows_M) < len(found.captions.rows):
        drawn += (
            f" of images drawn by chance, of {len(found.captions.rows):,}; among all, hardest companions are harder"
        )
    note = (
        f"By {alike.encoder}, over {drawn}: cosines with the captions of other images. Of all pairs, {pairs}. "
        "The hardest companion is the caption of another image with the highest cosine; it grows with the number of "
        "captions. Cosines of two encoders do not compare."
    )
    if alike.cut:
        note += f" The encoder did not read {percent(alike.cut)} of the captions to their ends."
    left = figures.picture(lambda axes: figures.cosines(axes, alike), "caption cosines")
    right = figures.picture(lambda axes: figures.buckets(axes, alike), "captions by hardest companion")
    return section(f"How alike the captions are{toy(alike.toy)}", pair(left, right) + paragraph(note, "note"))


def batches(found: Diagnosis) -> str:
    """What a random batch holds, and what the boost would add there."""
    alike = found.alike
    if alike is None:
        return ""
    repeated = {one.batch: one for one in found.repeated}
    header = (
        "pairs", "mean cosine", "spread", "hardest", f"twins ≥ {ALIKE:g}", "copies", "near copies", "batches with any",
        "boost: to all", "boost: hardest more",
    )  # fmt: skip
    rows = [_batch(one, repeated.get(one.batch), alike.scale) for one in alike.batches]
    note = (
        "A caption in a random batch of so many images: mean cosine with the others, their standard deviation, the "
        f"highest; how many others it meets at a cosine of {ALIKE:g} or more, with the same words, or as a near copy "
        f"(not by cosine); the share of {DRAWS} batches with any copy or near copy. Last, the boost with γ = {GAMMA:g} "
        f"at s = {alike.scale:.0f}{'' if alike.own_scale else ' (that of released CLIP models)'} in logits: γ · s · "
        "mean is added to every negative alike, as by a margin; γ · s · (hardest − mean) is what the hardest gets more."
    )
    return section(f"What meets in a batch{toy(alike.toy)}", table(header, rows) + paragraph(note, "note"))


def _batch(one: Batch, copies: Repeated | None, scale: float) -> list[str]:
    cosines = [f"{value:.2f}" for value in (one.mean, one.spread, one.hardest, one.twins)]
    told = [_count(copies.exact), _count(copies.near), percent(copies.batches_near)] if copies else ["–"] * 3
    return [str(one.batch), *cosines, *told, f"{constant(one, scale):.1f}", f"{adaptive(one, scale):.1f}"]


def saturation(found: Diagnosis) -> str:
    start = found.start
    title = "Batches that plain InfoNCE counts as solved before training"
    if start is None:
        few = f"fewer than {LEAST} images can be read"
        why = few if found.captions.pictured else "it needs the images (--images) and the model (--model)"
        return section(title, paragraph(f"Not measured: {why}.", "note"))
    header = ("s", *(f"{point.batch} pairs" for point in start.own))
    rows = [
        (f"{scale:.0f}{' (its own)' if points is start.own else ''}", *(percent(point.solved) for point in points))
        for scale, points in start.by_scale.items()
    ]
    rows.append(("gap, in cosine", *(f"{point.gap:+.3f}".replace("-", "−") for point in start.own)))
    draws = ", ".join(f"{point.draws} of {point.batch}" for point in start.own)
    note = (
        f"By {start.model}, over {start.images:,} images with one random caption each ({draws}). Solved: the loss, "
        f"both directions averaged, is below {SOLVED:g}. Gap: a pair's cosine less that of its hardest negative. A "
        "batch that is solved teaches nothing at this s; more pairs or a lower s leave more to learn."
    )
    told = table(header, rows) + paragraph(note, "note")
    if any(point.solved for points in start.by_scale.values() for point in points):
        told = pair(figures.picture(lambda axes: figures.solved(axes, start), "solved batches by size"), told)
    return section(f"{title}{toy(start.toy)}", told)


def to_try(found: Diagnosis) -> str:
    suggestion = found.verdict.suggestion
    parts = [f"<p>{prose(suggestion.reason)}</p>"]
    if suggestion.losses:
        note = (
            "Entries for `losses` of a study (`hnclip init` writes one), to be named in its grid; each is tuned on "
            "validation, at most eight settings a loss."
        )
        parts += [f'<pre class="try">{escape(suggestion.yaml)}</pre>', f'<p class="note">{prose(note)}</p>']
    if found.verdict.remarks:
        parts.append("<ul>" + "".join(f"<li>{prose(words)}</li>" for words in found.verdict.remarks) + "</ul>")
    return section("What to try", "\n".join(parts))


def how(found: Diagnosis) -> str:
    words = (
        "This page is about data, not about results: in the project's own studies, on drawn scenes with a small model, "
        "the boost gained nothing over a constant margin of the same size, nor over plain InfoNCE at its best "
        "temperature (docs/findings.md); none was run on photographs with released weights. What each number means: "
        "docs/doctor.md."
    )
    return paragraph(words, "note")


def _count(value: float) -> str:
    return "0" if not value else f"{value:.2f}" if value >= 0.005 else "< 0.01"
