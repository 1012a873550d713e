"""Files of ranks that do not fit the others are named, with what is wrong."""

from pathlib import Path

import pandas
import pytest

from hnclip import store
from hnclip.report.collect import collect


def ranks_file(study_json: Path, loss: str) -> Path:
    return next(study_json.parent.glob(f"runs/**/{loss}/f100/s1/ranks.parquet"))


def damage_fewer(frame: pandas.DataFrame) -> pandas.DataFrame:
    return frame[frame["query"] != "00003"]


def damage_gallery(frame: pandas.DataFrame) -> pandas.DataFrame:
    return frame.assign(gallery=frame["gallery"] + 1)


def damage_query(frame: pandas.DataFrame) -> pandas.DataFrame:
    return frame.assign(query=frame["query"].replace("00003", "99999"))


def damage_target(frame: pandas.DataFrame) -> pandas.DataFrame:
    return frame[frame["target"] != "scenes/unseen"]


def damage_repeat(frame: pandas.DataFrame) -> pandas.DataFrame:
    return pandas.concat([frame, frame.head(1)])


def damage_columns(frame: pandas.DataFrame) -> pandas.DataFrame:
    return frame.drop(columns="family")


def damage_scoring(frame: pandas.DataFrame) -> pandas.DataFrame:
    return frame.drop(columns="scoring")


def damage_cosine(frame: pandas.DataFrame) -> pandas.DataFrame:
    return frame.assign(scoring="tokens")


def damage_rescored(frame: pandas.DataFrame) -> pandas.DataFrame:
    return pandas.concat([frame, damage_fewer(frame).assign(scoring="tokens")])


def damage_rescored_repeat(frame: pandas.DataFrame) -> pandas.DataFrame:
    return damage_repeat(pandas.concat([frame, frame.assign(scoring="tokens")]).iloc[::-1])


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (damage_fewer, "7 queries against a gallery of 8, where others have 8 queries against a gallery of 8"),
        (damage_gallery, "8 queries against a gallery of 9, where others have 8 queries against a gallery of 8"),
        (damage_query, "other queries or families"),
        (damage_target, "holds no ranks of scenes/unseen"),
        (damage_repeat, "ranks 1 queries twice, such as '00000#0'"),
        (damage_columns, "lacks the columns family"),
        (damage_scoring, "lacks the columns scoring"),
        (damage_cosine, "holds no ranks of scenes/test, scenes/unseen"),
        (damage_rescored, "i2t, scoring tokens): 7 queries against a gallery of 8, where others have 8 queries"),
        (damage_rescored_repeat, "ranks 1 queries twice, such as '00007' (i2t, scenes/unseen, scoring tokens)"),
    ],
)
def test_a_file_that_does_not_fit_is_named(small_study, damage, words):
    path = ranks_file(small_study, "hn")
    store.write_rows(path, damage(pandas.read_parquet(path)))
    with pytest.raises(ValueError) as caught:
        collect(small_study, small_study.parent / "tables")
    assert str(path) in str(caught.value) and words in str(caught.value)
    assert str(ranks_file(small_study, "infonce")) not in str(caught.value)


def test_a_query_may_be_ranked_once_a_scoring(small_study):
    path = ranks_file(small_study, "hn")
    frame = pandas.read_parquet(path)
    store.write_rows(path, pandas.concat([frame, frame.assign(scoring="tokens")]))
    collect(small_study, small_study.parent / "tables")
    ranks = pandas.read_parquet(small_study.parent / "tables/ranks.parquet")
    assert ranks["scoring"].value_counts().to_dict() == {"cosine": 3 * 2 * 2 * 8, "tokens": 2 * 2 * 8}
