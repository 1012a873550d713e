"""Pages of galleries: one self-contained HTML file, light, fit for print; nothing is loaded from elsewhere."""

import base64
import html
import io
import re
from pathlib import Path

from PIL import Image, ImageOps

SIDE = 200  # the longer side of a thumbnail, pixels
UNREADABLE = (OSError, ValueError, SyntaxError, Image.DecompressionBombError)

LOOK = """
:root { color-scheme: light; }
body { margin: 1.5rem auto; max-width: 68rem; padding: 0 1rem; background: #fff; color: #1a1a1a;
  font: 15px/1.5 "DejaVu Sans", Verdana, "Segoe UI", sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .5rem; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; border-bottom: 1px solid #ccc; }
h3 { font-size: 1rem; margin: 1.2rem 0 .4rem; }
p { margin: .4rem 0; max-width: 52rem; }
.note { color: #4d4d4d; font-size: .87rem; }
.row { display: grid; grid-template-columns: repeat(auto-fill, minmax(12.5rem, 1fr)); gap: 1rem; }
section { margin: 0 0 1.4rem; }
section, figure { break-inside: avoid; }
figure { margin: 0; min-width: 0; }
figcaption { font-size: .8rem; line-height: 1.4; overflow-wrap: anywhere; }
img { display: block; max-width: 100%; border: 1px solid #ccc; }
img.truth, .missing.truth { outline: 4px solid #009e73; }
.missing { display: flex; align-items: center; justify-content: center; height: 8rem; padding: .5rem;
  border: 1px dashed #8a8a8a; color: #4d4d4d; font-size: .8rem; text-align: center; overflow-wrap: anywhere; }
mark { background: #ffe08a; color: inherit; border-radius: 2px; }
img.figure { border: 0; }
ul.note { max-width: 60rem; padding-left: 1.1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .87rem; font-variant-numeric: tabular-nums; }
th, td { padding: .15rem .6rem; border-bottom: 1px solid #ddd; text-align: right; vertical-align: top; }
th:first-child, td:first-child, th.words, td.words { text-align: left; }
td.number, .short { white-space: nowrap; }
td.words { max-width: 24rem; }
.wide table { font-size: .8rem; }
.wide th, .wide td { padding: .12rem .45rem; }
.scroll tr > .words:first-child { position: sticky; left: 0; background: #fff; }
code { font: .92em "DejaVu Sans Mono", Consolas, monospace; }
thead th { border-bottom: 1px solid #555; vertical-align: bottom; }
th.span { text-align: center; border-bottom: 1px solid #aaa; }
th.bare { border-bottom: 0; }
tr.rule td { border-top: 1px solid #555; }
pre { font: .8rem/1.4 "DejaVu Sans Mono", Consolas, monospace; overflow-x: auto; }
body.wide { max-width: none; margin: 1rem; }
@media print { body { margin: 0; max-width: none; font-size: 10pt; } mark { border-bottom: 1px solid #000; } }
"""


def page(title: str, body: str, wide: bool = False, look: str = "") -> str:
    """A whole document around a body of HTML; the title is plain words. A wide one takes all of the window.

    `look` is a stylesheet added to that of all pages.
    """
    kind = ' class="wide"' if wide else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{LOOK}{look}</style>\n</head>\n<body{kind}>\n"
        f"<h1>{escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def escape(text: str) -> str:
    """Text as HTML shows it, in elements and in quoted attributes.

    Unusual spaces are plain ones, and what else is not for print is gone.
    """
    letters = (letter if letter.isprintable() or letter in "\n\t" else " " * letter.isspace() for letter in str(text))
    return html.escape("".join(letters), quote=True)


def prose(words: str) -> str:
    """Our own sentences, where `names` stand between backticks; never a caption."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(words))


def paragraph(words: str, kind: str = "") -> str:
    """Plain words as one paragraph; kind is `note` for what stands beneath."""
    return f'<p class="{escape(kind)}">{escape(words)}</p>' if kind else f"<p>{escape(words)}</p>"


def data_uri(content: bytes, kind: str) -> str:
    """A file as an address that holds it; kind is its media type."""
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


def download(name: str, content: bytes, kind: str, words: str) -> str:
    """A link that saves a file which the page itself holds."""
    return f'<a download="{escape(name)}" href="{data_uri(content, kind)}">{escape(words)} ({escape(name)})</a>'


def picture(path: Path, words: str, truth: bool = False) -> str:
    """A thumbnail with alternative text, framed where it is the truth; what cannot be shown is a box that says so."""
    kind = "truth" if truth else ""
    try:
        source = thumbnail(path)
    except FileNotFoundError:
        return _missing(f"no picture: {Path(path).name} is not here", kind)
    except UNREADABLE:
        return _missing(f"no picture: {Path(path).name} cannot be read", kind)
    return f'<img src="{source}" alt="{escape(words)}"{_class(kind)}>'


def thumbnail(path: Path, side: int = SIDE) -> str:
    """A picture as a data URI, upright, its longer side at most `side`; OSError where it cannot be read."""
    small, shrunk = read_small(path, side)
    written = io.BytesIO()
    if shrunk:
        small.save(written, "JPEG", quality=85)
    else:
        small.save(written, "PNG")
    return data_uri(written.getvalue(), "image/jpeg" if shrunk else "image/png")


def read_small(path: Path, side: int = SIDE) -> tuple[Image.Image, bool]:
    """(the picture in RGB on white, upright, its longer side at most `side`; whether it was larger)."""
    with Image.open(path) as image:
        shrunk = max(image.size) > side
        image.thumbnail((side, side))
        image = ImageOps.exif_transpose(image)
        if image.has_transparency_data:  # without a ground its hidden colours would show
            image = image.convert("RGBA")
            image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
        return image.convert("RGB"), shrunk


def _missing(words: str, kind: str) -> str:
    return f'<div class="{f"missing {kind}".strip()}" role="img">{escape(words)}</div>'


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
