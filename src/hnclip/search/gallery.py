"""What a search found as a page of pictures: one file that works offline."""

import io
import os
from collections.abc import Sequence
from pathlib import Path

from hnclip.data.images import decode
from hnclip.report.page import data_uri, escape, page, paragraph
from hnclip.search.index import Hit, Index, Query
from hnclip.store import write_text

SIDE = 320  # the longer side of a thumbnail, pixels: sharp where a screen has two for one

LOOK = """<style>
.row { grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: 1.4rem 1rem; }
section { margin-top: 1.2rem; }
.frame { display: flex; align-items: center; justify-content: center; height: 11rem; padding: .4rem;
  border: 1px solid #ddd; border-radius: 3px; }
.frame img { max-height: 11rem; border: 0; }
.frame .missing { flex: 1; height: 100%; box-sizing: border-box; }
.query { margin: .8rem 0 1.2rem; }
.query .frame { width: 11rem; border-color: #555; }
figcaption { padding-top: .3rem; }
figcaption b { font-variant-numeric: tabular-nums; }
.file { display: block; color: #4d4d4d; }
</style>"""


def write_gallery(path: Path, index: Index, found: Sequence[tuple[Query, Sequence[Hit]]]) -> None:
    """Write the page: each query with what was found for it. Pictures are held in it, their files linked."""
    about = (
        f"{len(index):,} images in {index.folder}, searched with {index.record['model']['name']}. Beneath a picture: "
        "its rank, the cosine of its embedding with the query's (comparable within one query only), and its file."
    )
    title = _named(found[0][0]) if len(found) == 1 else f"{len(found)} searches"
    sections = [_section(query, hits, index, headed=len(found) > 1) for query, hits in found]
    write_text(path, page(title, "\n".join([LOOK, paragraph(about, "note"), *sections])))


def _section(query: Query, hits: Sequence[Hit], index: Index, headed: bool) -> str:
    shown = [f"<h2>{escape(_named(query))}</h2>"] if headed else []
    if query.kind == "image":
        shown.append(f'<div class="query">{_figure(os.path.abspath(query.words), "the query", index)}</div>')
    if query.cut:
        shown.append(paragraph("Longer than the model reads: its end was not looked for.", "note"))
    figures = [_figure(hit.path, f"<b>{hit.rank}</b> · <b>{hit.cosine:.3f}</b>", index) for hit in hits]
    return "<section>" + "\n".join(shown) + '\n<div class="row">\n' + "\n".join(figures) + "\n</div></section>"


def _named(query: Query) -> str:
    return f"“{query.words}”" if query.kind == "text" else f"Like {os.path.basename(query.words)}"


def _figure(path: str, label: str, index: Index) -> str:
    """A picture that leads to its file; `label` is HTML."""
    home = os.path.dirname(os.path.abspath(index.folder)) + os.sep
    name = escape(path.removeprefix(home))
    broken = name.replace("/", "/<wbr>")  # a long path may go on in a new line there
    try:
        link = escape(Path(path).as_uri())
        shown = f'<a href="{link}"><img src="{thumbnail(path)}" alt="{name}" loading="lazy"></a>'
        return _boxed(shown, f'{label} <a class="file" href="{link}">{broken}</a>')
    except FileNotFoundError:
        words = "the file has gone"
    except (OSError, ValueError):
        words = "the file cannot be read any more"
    return _boxed(f'<div class="missing" role="img">{words}</div>', f'{label} <span class="file">{broken}</span>')


def _boxed(shown: str, words: str) -> str:
    return f'<figure><div class="frame">{shown}</div><figcaption>{words}</figcaption></figure>'


def thumbnail(path: str) -> str:
    """A picture as a data URI, upright, transparency on white, its longer side at most SIDE."""
    image = decode(Path(path).read_bytes(), path, exif="apply")
    image.thumbnail((SIDE, SIDE))
    written = io.BytesIO()
    image.save(written, "JPEG", quality=85)
    return data_uri(written.getvalue(), "image/jpeg")
