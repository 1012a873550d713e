"""What the config says of a source."""

import os
import re
from dataclasses import dataclass, field

from hnclip.data.sources import File, Source
from hnclip.options import unknown


@dataclass(frozen=True)
class Options:
    """How a source is had.

    mirror: where its files lie under their names, instead of where they were published. files: those that are on this
    machine already, by name; for an archive, the file or a folder that it was unpacked into. sha256: hashes in place of
    the published ones; null: what comes first is recorded. offline: nothing is downloaded; so with HF_HUB_OFFLINE.
    """

    mirror: str | None = None
    files: dict[str, str] = field(default_factory=dict)
    sha256: dict[str, str | None] = field(default_factory=dict)
    offline: bool = False

    def __post_init__(self):
        if self.mirror is not None and not self.mirror.startswith(("http://", "https://")):
            raise ValueError(f"mirror: expected http://... or https://..., got {self.mirror!r}")
        for name, value in self.sha256.items():
            if value is not None and not re.fullmatch("[0-9a-f]{64}", value):
                raise ValueError(f"sha256: that of {name} has to be 64 digits 0-9 and a-f, or null; got {value!r}")

    def faults(self, source: Source) -> list[str]:
        """What is named that is none of the source's files."""
        known = [file.name for file in source.files]
        return [
            f"{key}: {unknown('file', name, known)}"
            for key in ("files", "sha256")
            for name in getattr(self, key)
            if name not in known
        ]

    def is_offline(self) -> bool:
        return self.offline or os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")

    def address(self, file: File) -> str | None:
        """Where the file is downloaded from; None where a person has to fetch it."""
        return f"{self.mirror.rstrip('/')}/{file.name}" if self.mirror else file.url
