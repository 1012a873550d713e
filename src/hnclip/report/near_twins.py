"""Near-twins of a benchmark: pictures whose captions are hardest companions of each other, shared words marked."""

from hnclip.report.caption_sets import CaptionSet, read_sets
from hnclip.report.data_notes import licence_notes
from hnclip.report.geometry import Geometry, caption_geometry
from hnclip.report.load import Study
from hnclip.report.page import escape, page, paragraph, picture
from hnclip.report.twins import SIZE, Group, closest, groups, pieces, shared_words, typical

TITLE = "Near-twins: captions that are hardest companions of each other"
COUNT = 4  # groups of each sort
SORTS = (
    ("The closest", closest, "Groups begin at the captions with the hardest companions."),
    ("Typical", typical, "Groups begin at the captions whose hardest companion is as hard as the median caption's."),
)
HOW = (
    f"Each row is a group of {SIZE} captions of different images: a caption, its hardest companion (the caption of "
    "another image with the highest cosine), and further captions, each the one whose least cosine with those already "
    "there is highest. An image stands in one group only.",
    "Content words that all captions of a group have are marked; what tells the pictures apart is what is left "
    "unmarked. Cosines are those of the encoder named in the heading, as it came; no trained model has a part in this.",
)
NONE = "No near-twins: the study lists no embeddings of captions."


def near_twins(study: Study) -> str:
    """The page: for every set of captions its closest and its typical groups."""
    sections = [_section(found) for found in read_sets(study)]
    if not sections:
        return page(TITLE, paragraph(NONE))
    notes = [paragraph(words, "note") for words in licence_notes(study)]
    return page(TITLE, "\n".join([*map(paragraph, HOW), *notes, *sections]))


def found_groups(found: CaptionSet, geometry: Geometry, count: int = COUNT) -> list[tuple[str, str, list[Group]]]:
    """(sort, how it was chosen, its groups) of a set, no image in two groups."""
    used: set[int] = set()
    return [
        (name, words, groups(found.ids_N, found.text_ND, geometry, order(geometry), count, used))
        for name, order, words in SORTS
    ]


def group_words(group: Group) -> str:
    return f"cosines within the group: mean {group.mean:.3f}, least {group.least:.3f}"


def _section(found: CaptionSet) -> str:
    heading = f"<h2>{escape(found.name)} ({escape(found.encoder)}, {len(found.captions)} captions)</h2>"
    if found.images < 2:
        return heading + paragraph(f"{found.name} has one image: its captions have no companions.")
    body = [paragraph("Captions alone: this set has no pictures.", "note")] if found.alone else []
    for name, words, twins in found_groups(found, caption_geometry(found.ids_N, found.text_ND)):
        if twins:
            body += [f"<h3>{escape(name)}</h3>", paragraph(words, "note")]
            body += [_group(found, group) for group in twins]
    return "\n".join([heading, *body])


def _group(found: CaptionSet, group: Group) -> str:
    captions = [found.captions[row] for row in group.rows]
    shared = shared_words(captions)
    figures = "\n".join(_figure(found, row, shared) for row in group.rows)
    note = f"{group_words(group)}; content words that all {len(captions)} have: {len(shared)}"
    return f'<section>\n<div class="row">\n{figures}\n</div>\n{paragraph(note, "note")}\n</section>'


def _figure(found: CaptionSet, row: int, shared: frozenset[str]) -> str:
    name = str(found.ids_N[row])
    shown = "" if found.alone else picture(found.pictures[row], f"picture {name}")
    caption = "".join(
        f"<mark>{escape(text)}</mark>" if marked else escape(text)
        for text, marked in pieces(found.captions[row], shared)
    )
    return f"<figure>{shown}<figcaption><b>{escape(name)}</b><br>{caption}</figcaption></figure>"
