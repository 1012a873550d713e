"""A figure as one self-contained HTML page: the picture whole, and the file for print one click away."""

from hnclip.report.contents import Entry
from hnclip.report.page import data_uri, download, escape, page


def figure_page(name: str, entry: Entry, png: bytes, pdf: bytes) -> str:
    picture = f'<img class="figure" src="{data_uri(png, "image/png")}" alt="{escape(entry.title)}">'
    links = download(f"{name}.pdf", pdf, "application/pdf", "PDF for print")
    return page(entry.title, f'{picture}\n<p class="note">{links}</p>', wide=True)
