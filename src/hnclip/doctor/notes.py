"""What both the terminal and the page say of a diagnosis: warnings that must not be missed, and its main numbers."""

from hnclip.doctor.diagnosis import Diagnosis
from hnclip.doctor.percent import percent
from hnclip.doctor.verdict import of_size


def loud(found: Diagnosis) -> list[str]:
    """What a reader must know before any number."""
    cosines = found.alike is not None and found.alike.toy
    batches = found.start is not None and found.start.toy
    what = ["cosines, hardness and near-twins"] * cosines + ["solved batches"] * batches
    if not what:
        return []
    return [
        "`tiny` is a toy: a model of 3.5 million parameters that knows drawn scenes and nothing else. What is "
        f"said below of {' and of '.join(what)} is what it sees, not what your model would, and the verdict does not "
        "rest on it. Lengths and duplicates hold. Name the model that you train with `--model`"
        + (", or an encoder of sentences with `--text-model`." if cosines else ".")
    ]


def tiles(found: Diagnosis) -> list[tuple[str, str]]:
    """(value, what it is), the main numbers."""
    lengths, repeats, alike = found.lengths, found.repeats, found.alike
    count = len(found.captions.rows)
    exact, near = repeats.rows(repeats.exact), repeats.rows(repeats.near)
    cut = lengths.cut(lengths.context)
    shown = [
        (f"{count:,}", f"captions of {found.captions.images:,} images" if found.captions.named else "captions"),
        (f"{lengths.record['words']['median']:.0f}", "words in the median caption"),
        (percent(cut.captions), f"captions cut at {cut.context} tokens (of {len(lengths.tokens_M):,})"),
        (
            percent(exact / count),
            f"captions that another image has as well ({exact:,})",
        ),
        (percent(near / count), f"captions with a near copy ({near:,})"),
    ]
    if alike is not None:
        toy = " (toy)" if alike.toy else ""
        batch = of_size(alike, 64)
        shown += [
            (f"{alike.geometry.mean:.2f}", f"mean cosine of two captions{toy}"),
            (f"{batch.hardest:.2f}", f"hardest of a random batch of {batch.batch}{toy}"),
        ]
    if found.start is not None and found.start.own:
        first = found.start.own[0]
        toy = " (toy)" if found.start.toy else ""
        shown.append((percent(first.solved), f"batches of {first.batch} solved at the start{toy}"))
    return shown
