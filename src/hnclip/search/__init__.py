"""Retrieval over folders of images: `build` makes an index or brings it up to date, `open_index` searches one."""

from hnclip.search.build import Update, build, remove
from hnclip.search.index import Hit, Index, Query, open_index

__all__ = ["Hit", "Index", "Query", "Update", "build", "open_index", "remove"]
