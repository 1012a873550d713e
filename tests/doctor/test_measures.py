import numpy
import pytest
from doctor_world import alike, lengths, unit

from hnclip.doctor.alike import batches
from hnclip.doctor.lengths import Lengths
from hnclip.doctor.percent import percent
from hnclip.doctor.sample import rows_of_images
from hnclip.doctor.start import at_start


def test_what_a_context_cuts_is_counted():
    found = Lengths(numpy.array([1, 2, 3]), numpy.array([50, 77, 107]), 2, "clip", 77)
    cut = found.cut(77)
    assert cut.captions == pytest.approx(1 / 3) and cut.tokens == pytest.approx(30 / (48 + 75 + 105))
    assert [one.context for one in found.cuts] == [77, 248] and found.cut(248).captions == 0


def test_an_own_context_stands_between_the_usual_ones():
    assert [cut.context for cut in lengths(context=100).cuts] == [77, 100, 248]


def test_a_batch_of_all_captions_has_their_cosines():
    text_MD = unit(numpy.random.default_rng(1).normal(size=(16, 8)) + 1)
    (found,) = batches([str(row) for row in range(16)], text_MD)
    cosine = text_MD @ text_MD.T
    off = cosine[~numpy.eye(16, dtype=bool)].reshape(16, 15)
    assert found.hardest == pytest.approx(off.max(1).mean(), abs=1e-5)
    assert found.mean == pytest.approx(off.mean(), abs=1e-5)
    assert found.spread == pytest.approx(off.std(1).mean(), abs=1e-5)
    assert found.twins == pytest.approx((off >= 0.8).sum(1).mean())


def test_captions_of_one_image_do_not_meet():
    text_MD = unit(numpy.array([[1, 0], [1, 0], [0, 1], [0, 1]]))
    (found,) = batches(["a", "a", "b", "b"], text_MD)
    assert found.batch == 2 and found.hardest == pytest.approx(0)


def test_shares_of_pairs_and_buckets_are_counted():
    found = alike(common=0.5, count=60)
    off = (found.text_MD @ found.text_MD.T)[~numpy.eye(60, dtype=bool)]
    assert found.share(0.5) == pytest.approx((off >= 0.5).mean(), abs=0.02)
    assert sum(count for _, count in found.buckets) == 60 and found.buckets[0][0] == "< 0.5"


def test_samples_hold_whole_images_and_nest():
    ids = [name for name in "abcdefgh" for _ in range(3)]
    few, more = rows_of_images(ids, 7), rows_of_images(ids, 12)
    assert len(few) == 6 and len(more) == 12 and set(few) < set(more)
    assert len({ids[row] for row in few}) == 2
    assert list(rows_of_images(ids, None)) == list(range(24))
    assert len(rows_of_images(ids, 2)) == 6  # two images, whatever they hold
    assert len(rows_of_images(ids, None, 3)) == 9 and len(rows_of_images(ids, None, 99)) == 24


def test_batches_at_the_start_are_solved_where_each_caption_has_its_image():
    text_CD = numpy.eye(20, dtype=numpy.float32)
    found = at_start("given", False, 100.0, numpy.array([f"{row:02}" for row in range(20)]), text_CD, text_CD)
    assert list(found.by_scale) == [100.0, 33.0, 17.0, 10.0]
    assert [point.batch for point in found.own] == [16] and found.own[0].solved == 1
    assert found.by_scale[10.0][0].loss == pytest.approx(numpy.log(1 + 15 * numpy.exp(-10)), rel=1e-3)
    wrong = at_start("given", False, 100.0, numpy.arange(20).astype(str), numpy.roll(text_CD, 1, 0), text_CD)
    assert wrong.own[0].solved == 0


@pytest.mark.parametrize(
    ("share", "words"),
    [(0, "0 %"), (1, "100 %"), (0.0001, "< 0.1 %"), (0.9998, "> 99.9 %"), (0.034, "3.4 %"), (0.5, "50 %")],
)
def test_shares_are_not_rounded_to_none_or_all(share, words):
    assert percent(share) == words
