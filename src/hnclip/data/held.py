"""Images that lie within the data's own files, looked at and read there: only the few that are needed become files."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from hnclip.data.bounded import PIXELS, Room, bounded
from hnclip.data.folder_checks import Look, look_at
from hnclip.data.pictures import Picture, Pictures, Unpacked, named

AHEAD = 32  # images that wait to be decoded


class Held:
    """The images of shards or tables, under the paths that `unpack_pictures` would give them in `folder`.

    unpacked: what each is called, and its path, where nothing is until `bring`. looks: of each path what `look_at`
    says. Making one decodes every image once.
    """

    def __init__(self, pictures: Pictures, folder: Path):
        self._pictures, self._folder = pictures, Path(folder)
        room = Room(PIXELS)

        def look(found: tuple[Picture, bytes]) -> tuple[Picture, str, Look]:
            picture, data = found
            return picture, *look_at(data, picture.name or "its image", room)

        digests: dict[Picture, str] = {}
        looks: dict[Picture, Look] = {}
        for picture, digest, result in bounded(look, pictures(), AHEAD):
            digests[picture], looks[picture] = digest, result
        self.unpacked: dict[Picture, Unpacked] = named(digests, self._folder)
        self.looks: dict[Path, Look] = {self.unpacked[picture].path: result for picture, result in looks.items()}

    def read(self, paths: Iterable[Path]) -> Iterator[tuple[Path, bytes]]:
        """Each of these images once, with its bytes, in the order in which the data has them."""
        wanted = set(paths)
        for picture, data in self._pictures() if wanted else ():
            path = self.unpacked[picture].path
            if path in wanted:
                wanted.remove(path)
                yield path, data
            if not wanted:
                return

    def bring(self, paths: Iterable[Path]) -> None:
        """Write these images as files of the folder."""
        for path, data in self.read(paths):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
