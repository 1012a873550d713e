"""Images by their URLs, which somebody downloaded: each is looked for under the folder of images."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from hnclip.caption_places import visible_files
from hnclip.data.captions import Table
from hnclip.data.pictures import SUFFIXES, Absent
from hnclip.data.readers.img2dataset import read_reports, reports_of


class Downloads:
    """The images under a folder, found by the URLs that they came from."""

    def __init__(self, folder: Path):
        self._folder = folder
        reports = reports_of(folder)
        table = read_reports(folder, reports, with_failed=True) if reports else None
        self._told = {row["url"]: row["image"] for _, row in table.rows if "url" in row} if table else {}
        self._files = {name for name in visible_files(folder) if name.lower().endswith(SUFFIXES)}
        self._bases: dict[str, list[str]] = {}
        for name in self._files:
            self._bases.setdefault(name.rsplit("/", 1)[-1], []).append(name)

    def told(self, url: str) -> bool:
        """True where img2dataset tells which file is this URL's."""
        return url in self._told

    def find(self, url: str) -> str | Absent:
        """The image's path within the folder: as img2dataset tells, as HOST/PATH, as PATH, or by its base name."""
        if url in self._told:
            return self._told[url]
        parts = urlsplit(url)
        place = unquote(parts.path).lstrip("/")
        for name in (f"{parts.netloc}/{place}", place):
            if name in self._files:
                return name
        base = place.rsplit("/", 1)[-1]
        found = sorted(self._bases.get(base, []))
        if len(found) == 1:
            return found[0]
        if found:
            return Absent(f"{url}: several files have its name: {', '.join(found)}")
        return Absent(f"{url}: no such file under {self._folder} (looked for {parts.netloc}/{place}, {place}, {base})")


def with_files(table: Table, column: str, folder: Path) -> Table:
    """The table with the images' paths in place of their URLs.

    A file that several URLs would have by their names is none of theirs, as nothing says which of them it came from.
    """
    downloads = Downloads(folder)
    urls = dict.fromkeys(url for _, row in table.rows if isinstance(url := row.get(column), str) and url.strip())
    image_of = {url: downloads.find(url) for url in urls}
    guessed: dict[str, list[str]] = {}
    for url, image in image_of.items():
        if isinstance(image, str) and not downloads.told(url):
            guessed.setdefault(image, []).append(url)
    for image, several in guessed.items():
        if len(several) > 1:
            listed = ", ".join(several[:5]) + f" and {len(several) - 5} more" * (len(several) > 5)
            reason = f"{image} may be of {listed}; download them under different names"
            image_of |= dict.fromkeys(several, Absent(reason))
    rows = [(where, {**row, column: _image(row.get(column), image_of)}) for where, row in table.rows]
    return replace(table, rows=rows)


def _image(value: Any, image_of: dict[str, str | Absent]) -> Any:
    return image_of.get(value, value) if isinstance(value, str) else value
