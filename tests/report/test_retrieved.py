"""Retrieved items: ranks by the definition, the queries that differ most, pages that escape what they show."""

import dataclasses

import numpy
import pandas
import pyarrow
import pytest
from matplotlib import pyplot
from PIL import Image

from hnclip import store
from hnclip.report.load import OVERLAP, SOURCES
from hnclip.report.methods import Method
from hnclip.report.model_embeddings import Embedded
from hnclip.report.retrieved import EACH, NOTHING, UNSHOWN, compared
from hnclip.report.retrieved_figure import QUERIES, draw_retrieved
from hnclip.report.retrieved_gallery import retrieved_gallery
from hnclip.report.searches import CAPTION, IMAGE, Shown, ranks, shown_split, tops

METHOD = Method("tiny", "scenes", "longclip", "infonce", "plain", "plain")
IMAGES = 24


def unit(rows_ND: numpy.ndarray) -> numpy.ndarray:
    return (rows_ND / numpy.linalg.norm(rows_ND, axis=1, keepdims=True)).astype(numpy.float32)


def made_split(folder, captions_an_image: int = 2) -> Shown:
    ids = [f"{number:05d}" for number in range(IMAGES)]
    image_of_C = numpy.repeat(numpy.arange(IMAGES), captions_an_image)
    words = [f"caption {row} <b>& so on</b>" for row in range(len(image_of_C))]
    words[5] = words[0]  # two images share one caption
    families = [f"f{number // 4}" for number in range(IMAGES)]
    pictures = [folder / f"{name}.png" for name in ids]
    return Shown("scenes/test", ids, pictures, families, words, image_of_C)


def made_model(split: Shown, noise: float, method: Method = METHOD, seed: int = 1) -> Embedded:
    luck = numpy.random.default_rng(8)
    image_CD = unit(luck.normal(size=(IMAGES, 8)))[split.image_of_C]
    luck = numpy.random.default_rng(int(1000 * noise))
    text_CD = unit(image_CD + noise * luck.normal(size=image_CD.shape))
    ids_C = numpy.array(split.ids_I, object)[split.image_of_C]
    return Embedded(method, seed, split.name, 100.0, ids_C, image_CD, text_CD)


def recorded(model: Embedded, split: Shown) -> pandas.DataFrame:
    """The ranks as a collected table has them."""
    frames = []
    for direction in (CAPTION, IMAGE):
        frame = pandas.DataFrame({"query": split.queries(direction), "rank": ranks(model, split, direction)})
        frames.append(frame.assign(direction=direction, seed=model.seed))
    rows = pandas.concat(frames, ignore_index=True).assign(target=split.name, scoring="cosine", fraction=100)
    named = {name: getattr(model.method, name) for name in ("backbone", "train", "framework", "loss")}
    return rows.assign(**named, family="f", gallery=IMAGES).sample(frac=1, random_state=0)


@pytest.mark.parametrize("direction", [CAPTION, IMAGE])
def test_ranks_against_loops(tmp_path, direction):
    split = made_split(tmp_path)
    model = made_model(split, 1.0)
    queries, gallery = (model.text_CD, model.image_ID) if direction == CAPTION else (model.image_ID, model.text_CD)
    found = ranks(model, split, direction)
    for query, row in enumerate(queries):
        own = split.image_of(direction, query)
        texts = {split.captions_C[c] for c in range(len(split.captions_C)) if split.image_of_C[c] == own}
        texts = {split.captions_C[query]} if direction == CAPTION else texts
        rows = [c for c, text in enumerate(split.captions_C) if text in texts]
        true = {int(split.image_of_C[c]) for c in rows} if direction == CAPTION else set(rows)
        score = gallery @ row
        best = max(score[item] for item in true)
        assert found[query] == sum(score[item] >= best for item in range(len(score)) if item not in true)
    first = tops(model, split, direction, numpy.arange(3), 1)[:, 0]
    assert [first[q] in split.relevant[direction][q] for q in range(3)] == [rank == 0 for rank in found[:3]]


def test_queries_are_named_as_ranks_name_them(tmp_path):
    split = made_split(tmp_path)
    assert split.queries(CAPTION)[:3] == ["00000#0", "00000#1", "00001#0"] and split.queries(IMAGE) == split.ids_I


def test_embeddings_of_another_split_are_refused(tmp_path):
    split = made_split(tmp_path)
    model = made_model(split, 1.0)
    with pytest.raises(ValueError, match="delete them and run again"):
        ranks(dataclasses.replace(model, ids_C=model.ids_C[::-1]), split, CAPTION)


@pytest.fixture
def shown(study, tmp_path):
    """The made study with a plain and a boosted embedded cell, a manifest, and pictures of all images but one."""
    split = made_split(tmp_path)
    rows = [
        {"id": split.ids_I[i], "image": f"{split.ids_I[i]}.png", "caption": text, "family": split.families_I[i]}
        for text, i in zip(split.captions_C, split.image_of_C, strict=True)
    ]
    store.write_rows(tmp_path / "test.parquet", rows)
    for nth, path in enumerate(split.pictures_I[1:]):
        Image.new("RGB", (300, 150), (10 * nth, 90, 120)).save(path)
    listed, frames = [], []
    for loss, noise in (("infonce", 0.9), ("hn", 0.7)):
        model = made_model(split, noise, dataclasses.replace(METHOD, loss=loss))
        path = tmp_path / f"{loss}.parquet"
        write(path, model)
        listed.append({"cell": f"tiny/scenes/longclip/{loss}/f100/s1", "benchmark": "scenes", "path": str(path)})
        frames.append(recorded(model, split))
    manifests = {"scenes/test": str(tmp_path / "test.parquet")}
    record = {**study.record, "cell_embeddings": listed, "manifests": manifests}
    return dataclasses.replace(study, record=record, ranks=pandas.concat(frames))


def write(path, model: Embedded) -> None:
    columns = {"split": [model.split] * len(model.ids_C), "id": model.ids_C.tolist()}
    columns |= {
        name: pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(rows_CD.ravel()), rows_CD.shape[1])
        for name, rows_CD in (("image", model.image_CD), ("text", model.text_CD))
    }
    store.write_rows(path, pyarrow.table(columns), {"scale": "100.0"})


def test_the_queries_differ_most_and_no_two_are_of_one_family(shown):
    (item,) = compared(shown)
    assert [method.kind for method in item.methods] == ["plain", "boosted"]
    assert item.agreeing == item.ranks == 2 * (IMAGES + 2 * IMAGES)
    for direction in (CAPTION, IMAGE):
        sides = [recorded(made_model(item.split, noise), item.split) for noise in (0.9, 0.7)]
        plain, boosted = (
            rows[rows["direction"] == direction]
            .set_index("query")["rank"]
            .loc[item.split.queries(direction)]
            .to_numpy()
            for rows in sides
        )
        ratio = (plain + 1) / (boosted + 1)
        gained = [e for e in item.examples if e.direction == direction and e.gained]
        assert 0 < len(gained) <= EACH and ratio[gained[0].query] == ratio.max()
        families = [item.split.families_I[item.split.image_of(direction, e.query)] for e in gained]
        assert len(set(families)) == len(families)
        assert all(e.recorded == (plain[e.query], boosted[e.query]) == e.again for e in gained)


def test_the_page_shows_words_escaped_and_frames_the_truth(shown):
    text = retrieved_gallery(shown)
    assert "<b>&" not in text and "&lt;b&gt;&amp; so on" in text
    assert text.count('class="truth"') > 0 and "00000.png is not here" in text
    assert "144 of 144 are the same" in text and "http" not in text.replace("http-equiv", "")


def test_the_page_says_whose_pictures_it_shows(shown):
    assert "commercial" not in retrieved_gallery(shown) and "Trained on:" not in retrieved_gallery(shown)
    sources = pandas.DataFrame([("scenes", "dci", "CC BY-NC 4.0", True)], columns=list(SOURCES))
    overlap = pandas.DataFrame([("scenes", "scenes/test", 24, 12, 0.5, 0)], columns=list(OVERLAP))
    text = retrieved_gallery(dataclasses.replace(shown, sources=sources, overlap=overlap))
    assert "Not for commercial use" in text and "Trained on: 12 of the 24 images of scenes/test (50.0%)" in text


def test_ranks_that_the_embeddings_do_not_give_are_told(shown):
    moved = shown.ranks.assign(
        rank=numpy.where(shown.ranks["loss"] == "hn", shown.ranks["rank"] + 1, shown.ranks["rank"])
    )
    text = retrieved_gallery(dataclasses.replace(shown, ranks=moved))
    assert "72 of 144 are the same" in text and "by the embeddings)" in text


def test_missing_ranks_are_named(shown):
    with pytest.raises(ValueError, match="evaluate it anew"):
        compared(dataclasses.replace(shown, ranks=shown.ranks[shown.ranks["query"] != "00003#1"]))


def test_the_figure_has_two_rows_a_caption(shown):
    figure = draw_retrieved(shown)
    (item,) = compared(shown)
    captions = [e for e in item.examples if e.direction == CAPTION]
    count = min(QUERIES, sum(e.gained for e in captions)) + min(QUERIES, sum(not e.gained for e in captions))
    assert len(figure.axes) == 2 * count * 7
    words = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert sum(w.startswith(("gains", "loses")) for w in words) == count and any("rank 1 of 24" in w for w in words)
    pyplot.close(figure)


def test_what_cannot_be_shown_is_said(study, shown):
    bare = dataclasses.replace(study, record={})
    unseen = dataclasses.replace(shown, record={**shown.record, "manifests": {}})
    for given, words in ((bare, NOTHING), (unseen, UNSHOWN)):
        assert words in retrieved_gallery(given) and words.startswith("No ")
        figure = draw_retrieved(given)
        assert figure.axes[0].texts[0].get_text() == words
        pyplot.close(figure)
    assert shown_split(unseen, "scenes/test") is None
