"""What the HTML report says beside its tables and figures, rendered as Snakemake renders it."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "workflow" / "report"
pytestmark = pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # docutils from 0.22 on


def rendered(name: str, **changes) -> str:
    """The caption under the default config with changes, as HTML."""
    jinja2, core = pytest.importorskip("jinja2"), pytest.importorskip("docutils.core")
    config = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8")) | changes
    template = jinja2.Environment(trim_blocks=True, lstrip_blocks=True).from_string((FOLDER / name).read_text("utf-8"))
    text = template.render(snakemake=SimpleNamespace(config=config))
    settings = {"halt_level": 2, "report_level": 2}
    return " ".join(core.publish_parts(text, writer_name="html", settings_overrides=settings)["body"].split())


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.glob("*.rst")))
def test_every_caption_is_sound_and_names_the_study(name):
    text = rendered(name, study="lorem")
    assert "results/lorem/" in text and "{" not in text and "system-message" not in text


def test_the_first_page_says_where_the_numbers_are():
    text = rendered("workflow.rst")
    for words in ("as CSV, HTML, Markdown and LaTeX", "results/scenes/tables", "results/scenes/figures"):
        assert words in text


def test_a_study_of_one_fraction_says_so_beside_the_empty_figure():
    assert "the figure is empty" in rendered("fractions.rst", run=["main", "frameworks"])
    whole = rendered("fractions.rst", run=["main", "fractions"])
    assert "the figure is empty" not in whole and "95 % intervals" in whole


def test_grids_of_one_share_each_make_curves_together_where_they_meet():
    config = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    half = config["grids"]["main"] | {"fractions": [50]}
    both = {"run": ["main", "half"], "grids": config["grids"] | {"half": half}}
    assert "the figure is empty" not in rendered("fractions.rst", **both)
    half["losses"] = ["frozen"]
    assert "the figure is empty" in rendered("fractions.rst", **both)
