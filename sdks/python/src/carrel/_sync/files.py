# Written by sdks/generate.py from the file of this name in _async. Change that one.
"""The files of one sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from typing import Any

import httpx

from .._errors import CarrelError
from .._listing import FileListing
from .._wire import Unpack, file_path
from ..generated.types import FileEntry, GlobOptions, GlobResult, GrepOptions, GrepResult
from .platform import chunks, save
from .streams import FileWatch, following
from .transport import Transport


class Files:
    """Paths are resolved inside the sandbox; a relative one starts at /workspace. Content may be of any size."""

    def __init__(self, transport: Transport, sandbox_path: str) -> None:
        self._transport, self._path = transport, sandbox_path

    def read(self, path: str) -> bytes:
        """All of a file; a directory comes as a zip."""
        return b"".join([chunk for chunk in self.read_chunks(path)])

    def read_text(self, path: str) -> str:
        return (self.read(path)).decode()

    def read_chunks(self, path: str) -> Iterator[bytes]:
        """A file piece by piece, so that it need not fit into memory."""
        response = self._transport.open("GET", self._file(path))
        try:
            for chunk in response.iter_bytes():
                yield chunk
        except httpx.TransportError as e:
            raise self._transport.unreachable(e) from e
        finally:
            response.close()

    def write(self, path: str, content: bytes | str, *, mode: str | None = None, append: bool = False) -> None:
        """Takes the place of what was there at once; missing directories are made. `mode` is in octal."""
        data = content.encode() if isinstance(content, str) else content
        self._transport.put(self._file(path), data, {"mode": mode, "append": "true" if append else None})

    def upload(self, source: str | PathLike[str], path: str, *, mode: str | None = None) -> None:
        """Streams a file of this machine into the sandbox."""
        self._transport.put(self._file(path), chunks(source), {"mode": mode})

    def download(self, path: str, target: str | PathLike[str]) -> None:
        """Streams a file of the sandbox to this machine; when that fails, what was there stays."""
        save(target, self.read_chunks(path))

    def list(self, path: str = "/workspace", *, depth: int = 1) -> FileListing:
        """What is in a directory; of a very large one not all, as `truncated` of the list tells."""
        entries, truncated = self._transport.get_cut(f"{self._path}/files", {"path": path, "depth": depth})
        return FileListing((FileEntry.from_wire(entry) for entry in entries), truncated)

    def stat(self, path: str) -> FileEntry:
        return self._entry("stat", {"path": path})

    def exists(self, path: str) -> bool:
        try:
            self.stat(path)
        except CarrelError as e:
            if e.code != "file_not_found":
                raise
            return False
        return True

    def make_directory(self, path: str) -> FileEntry:
        """Also those above it; one that exists is fine."""
        return self._entry("mkdir", {"path": path})

    def move(self, source: str, target: str, *, overwrite: bool = True) -> FileEntry:
        return self._entry("move", {"from": source, "to": target, "overwrite": overwrite})

    def copy(self, source: str, target: str, *, overwrite: bool = True) -> FileEntry:
        """A directory with all of it."""
        return self._entry("copy", {"from": source, "to": target, "overwrite": overwrite})

    def delete(self, path: str, *, recursive: bool = False) -> None:
        self._transport.send("DELETE", self._file(path), params={"recursive": "true" if recursive else None})

    def glob(self, pattern: str, **options: Unpack[GlobOptions]) -> GlobResult:
        """Files by name, newest first; `**` crosses directories."""
        return GlobResult.from_wire(self._fs("glob", {"pattern": pattern, **options}))

    def grep(self, pattern: str, **options: Unpack[GrepOptions]) -> GrepResult:
        """Lines by content."""
        return GrepResult.from_wire(self._fs("grep", {"pattern": pattern, **options}))

    def watch(self, path: str = "/workspace", *, recursive: bool = True) -> FileWatch:
        """See changes as they happen."""
        params = {"path": path, "recursive": str(recursive).lower()}
        return FileWatch(following(self._transport, f"{self._path}/fs/watch", params=params))

    def _entry(self, verb: str, wire: dict[str, Any]) -> FileEntry:
        return FileEntry.from_wire(self._fs(verb, wire))

    def _fs(self, verb: str, wire: dict[str, Any]) -> Any:
        return self._transport.send("POST", f"{self._path}/fs/{verb}", wire)

    def _file(self, path: str) -> str:
        return f"{self._path}/files/{file_path(path)}"
