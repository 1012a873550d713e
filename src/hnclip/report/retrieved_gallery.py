"""A page of queries that plain fine-tuning and the boost rank most differently, with what each finds."""

from hnclip.report.data_notes import licence_notes, mark, seen_words
from hnclip.report.load import Study
from hnclip.report.methods import Setting, setting_words
from hnclip.report.page import escape, page, paragraph, picture
from hnclip.report.retrieved import EACH, TOP, Compared, Example, compared, nothing
from hnclip.report.searches import CAPTION, IMAGE

TITLE = "Queries that two methods rank most differently"
INTRO = (
    "Of every test split the queries whose rank the boost changes most, each way: "
    f"{EACH} at most that gain and {EACH} that lose, no two of one family; by the ratio of ranks, so that 1 against 20 "
    f"differs more than 200 against 300. Under each query the first {TOP} items that either method finds; what belongs "
    "to the query is framed in green. Rank 1 is the first place; ties count against the model. These are the extremes "
    "on both sides and no sample: how often either wins, the tables say."
)
WORDS = {CAPTION: "A caption looks for its image", IMAGE: "An image looks for its caption"}


def retrieved_gallery(study: Study) -> str:
    """The page; where nothing can be compared it says why."""
    found = compared(study)
    if not found:
        return page(TITLE, paragraph(nothing(study)))
    notes = [paragraph(words, "note") for words in licence_notes(study)]
    return page(TITLE, "\n".join([paragraph(INTRO), *notes, *(_part(study, item) for item in found)]))


def _part(study: Study, item: Compared) -> str:
    plain, boosted = item.methods
    place = setting_words(study, Setting(plain.backbone, plain.train, plain.framework))
    parts = [f"<h2>{escape(f'{place} on {item.split.name}: {plain.label} | {boosted.label}')}</h2>"]
    parts.append(paragraph(counted(item), "note"))
    if mark(study, plain.train, item.split.name):
        parts.append(paragraph(f"Trained on: {seen_words(study, plain.train, item.split.name)}.", "note"))
    for direction, words in WORDS.items():
        for gained in (True, False):
            examples = [e for e in item.examples if e.direction == direction and e.gained == gained]
            parts.append(f"<h3>{escape(words)}: {'gains' if gained else 'loses'} by the boost</h3>")
            parts += [_example(item, example) for example in examples] or [paragraph("None.")]
    return "\n".join(parts)


def counted(item: Compared) -> str:
    """N, the seed, and whether the ranks by the embeddings are those that the runs recorded."""
    images, captions = len(item.split.ids_I), len(item.split.captions_C)
    return (
        f"N: {captions} captions search {images} images, {images} images search {captions} captions; seed {item.seed}, "
        f"last epoch. The ranks are those that the runs recorded; computed again from the embeddings "
        f"{item.agreeing} of {item.ranks} are the same."
    )


def _example(item: Compared, example: Example) -> str:
    split, image = item.split, item.split.image_of(example.direction, example.query)
    if example.direction == CAPTION:
        query = paragraph(split.captions_C[example.query])
    else:
        query = picture(split.pictures_I[image], f"the query, image {split.ids_I[image]}")
    parts = [f"<section>{query}"]
    relevant = set(split.relevant[example.direction][example.query].tolist())
    for nth, method in enumerate(item.methods):
        parts.append(f"<p><strong>{escape(method.label)}</strong>: {escape(rank_words(item, example, nth))}</p>")
        items = [_item(item, example.direction, row, row in relevant) for row in example.tops[nth].tolist()]
        parts.append(f'<div class="row">{"".join(items)}</div>')
    return "\n".join([*parts, "</section>"])


def rank_words(item: Compared, example: Example, nth: int) -> str:
    """The place of the query's own item under a method, counted from 1."""
    size = len(item.split.ids_I if example.direction == CAPTION else item.split.captions_C)
    words = f"rank {example.recorded[nth] + 1} of {size}"
    again = example.again[nth]
    return words if again == example.recorded[nth] else f"{words} (rank {again + 1} by the embeddings)"


def _item(item: Compared, direction: str, row: int, truth: bool) -> str:
    """A found image; of a found caption its words under the image that it belongs to."""
    split = item.split
    image = row if direction == CAPTION else int(split.image_of_C[row])
    name = split.ids_I[image]
    words = name if direction == CAPTION else split.captions_C[row]
    mark = "<strong>belongs to the query</strong><br>" if truth else ""
    shown = picture(split.pictures_I[image], f"image {name}", truth)
    return f"<figure>{shown}<figcaption>{mark}{escape(words)}</figcaption></figure>"
