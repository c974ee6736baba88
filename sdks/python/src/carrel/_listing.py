"""What a directory holds."""

from __future__ import annotations

from collections.abc import Iterable

from .generated.types import FileEntry


class FileListing(list[FileEntry]):
    """The entries of a directory, as many as the server gives at once."""

    truncated: bool
    """Whether there are more, which are not in this list."""

    def __init__(self, entries: Iterable[FileEntry], truncated: bool) -> None:
        super().__init__(entries)
        self.truncated = truncated
