"""The report of a small study, opened in a real browser: it answers, loads nothing, and captions stay text."""

import re
import shutil
import subprocess
from pathlib import Path

import pandas
import pytest
from conftest import made_config, made_study
from dag_world import OVERLAY, Study
from PIL import Image

from hnclip.report.collect import collect
from hnclip.report.contents import FIGURES, GALLERIES, PAGES, TABLES
from hnclip.report.figures import write_figures
from hnclip.report.galleries import write_galleries
from hnclip.report.load import read_study
from hnclip.report.pages import write_pages
from hnclip.report.tables import write_tables
from hnclip.report.verdicts import questions

pytestmark = pytest.mark.slow

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SCRIPT = "<script>document.title = 'owned'</script>"
# Opens every item of the first page's list, one after the other, and writes down which of them showed a page.
CLICKS = """<script>setTimeout(async () => {
  const links = [...document.querySelectorAll('#contents a')].map((link) => [link.textContent, link.href]);
  const note = document.createElement('ol');
  note.id = 'opened';
  for (const [words, href] of links) {
    location.href = href;
    await new Promise((done) => setTimeout(done, 100));
    const frame = document.querySelector('iframe');
    const item = document.createElement('li');
    item.textContent = frame && frame.src.startsWith('data:text/html') ? words : 'nothing: ' + words;
    note.append(item);
  }
  document.body.append(note);
}, 1000)</script>"""


@pytest.fixture(scope="module")
def browser() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser on PATH: none of {', '.join(BROWSERS)}")
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A study of two frameworks whose captions hold a script."""
    root = tmp_path_factory.mktemp("made")
    path = made_study(root, made_config(study="dag", run=["main"]), families=4, size=2)
    for manifest in (root / "data").glob("*.parquet"):
        rows = pandas.read_parquet(manifest)
        rows.assign(caption=rows["caption"] + f" {SCRIPT}").to_parquet(manifest)
    collect(path, root / "tables")
    return read_study(path, root / "tables")


@pytest.fixture(scope="module")
def report(made, tmp_path_factory) -> Path:
    """Snakemake's report of it; stubs stand for the study's commands, and what it shows is put in their place."""
    study = Study(tmp_path_factory.mktemp("report"))
    study.snakemake(OVERLAY)
    folder = study.folder / "results" / "dag"
    write_tables(made, folder / "tables")
    write_figures(made, folder / "figures")
    write_galleries(made, folder / "galleries")
    write_pages(made, folder / "report")
    study.snakemake(OVERLAY, "--report", "report.html")
    return study.folder / "report.html"


def opened(browser: str, page: Path, *options: str) -> str:
    """The document after its scripts have run."""
    command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000"]
    command += [f"--user-data-dir={page.parent / 'browser'}", "--window-size=1400,1000", *options, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=True).stdout


def test_the_first_page_asks_and_answers_and_lists_everything(browser, report, made):
    text = opened(browser, report, "--dump-dom")
    shown = text[text.index('id="first-page"') :]
    for number, question in enumerate(questions(made), start=1):
        assert f"{number}. {question.words}" in shown
    assert shown.count('class="chip') == sum(bool(g.rows) for question in questions(made) for g in question.groups) > 0
    assert "N on scenes/test: 8 captions search 8 images" in shown and "say little" in shown
    for entry in [*TABLES.values(), *FIGURES.values(), *GALLERIES.values(), *PAGES.values()]:
        assert f": {entry.label}</a>" in shown
    assert "system-message" not in shown and "Made by <tt" in shown.replace("<code", "<tt")


def test_nothing_is_loaded_from_elsewhere(browser, report):
    pages = [report, *(path for path in report.parent.glob("results/dag/*/*.html") if path.name != "first_page.html")]
    assert len(pages) == 1 + len(TABLES) + len(FIGURES) + len(GALLERIES) + len(PAGES)
    for page in pages:
        text = page.read_text(encoding="utf-8") if page != report else opened(browser, page, "--dump-dom")
        text = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
        assert not re.findall(r"""(?:src|href)=["']?(?!data:|javascript:|#)[^"'\s>]+""", text), page
        assert not re.search(r"""@import|url\(\s*["']?(?:https?:)?//""", text), page


def test_every_item_opens_from_the_first_page(browser, report):
    page = report.with_name("clicks.html")
    page.write_text(report.read_text(encoding="utf-8") + CLICKS, encoding="utf-8")
    note = re.search(r'<ol id="opened">(.*?)</ol>', opened(browser, page, "--dump-dom"), re.DOTALL)[1]
    items = re.findall(r"<li>(.*?)</li>", note, re.DOTALL)
    assert len(items) == len(TABLES) + len(FIGURES) + len(GALLERIES) + len(PAGES)
    assert not [words for words in items if words.startswith("nothing")]


def test_a_script_in_a_caption_stays_text(browser, report):
    text = opened(browser, report.parent / "results/dag/galleries/near_twins.html", "--dump-dom")
    assert "&lt;" in text and "document" in text and "<script" not in text
    assert re.search("<title>Near-twins", text)


def test_the_report_is_seen(browser, report):
    shot = report.with_name("shot.png")
    opened(browser, report, f"--screenshot={shot}")
    with Image.open(shot) as image:
        assert image.size[0] == 1400 and len(image.convert("L").getcolors()) > 30
    assert report.stat().st_size < 30e6
