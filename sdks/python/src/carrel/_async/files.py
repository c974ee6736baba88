"""The files of one sandbox."""

from __future__ import annotations

from collections.abc import AsyncIterator
from os import PathLike
from typing import Any

import httpx

from .._errors import CarrelError
from .._listing import FileListing
from .._wire import Unpack, file_path
from ..generated.types import FileEntry, GlobOptions, GlobResult, GrepOptions, GrepResult
from .platform import chunks, save
from .streams import AsyncFileWatch, following
from .transport import AsyncTransport


class AsyncFiles:
    """Paths are resolved inside the sandbox; a relative one starts at /workspace. Content may be of any size."""

    def __init__(self, transport: AsyncTransport, sandbox_path: str) -> None:
        self._transport, self._path = transport, sandbox_path

    async def read(self, path: str) -> bytes:
        """All of a file; a directory comes as a zip."""
        return b"".join([chunk async for chunk in self.read_chunks(path)])

    async def read_text(self, path: str) -> str:
        return (await self.read(path)).decode()

    async def read_chunks(self, path: str) -> AsyncIterator[bytes]:
        """A file piece by piece, so that it need not fit into memory."""
        response = await self._transport.open("GET", self._file(path))
        try:
            async for chunk in response.aiter_bytes():
                yield chunk
        except httpx.TransportError as e:
            raise self._transport.unreachable(e) from e
        finally:
            await response.aclose()

    async def write(self, path: str, content: bytes | str, *, mode: str | None = None, append: bool = False) -> None:
        """Takes the place of what was there at once; missing directories are made. `mode` is in octal."""
        data = content.encode() if isinstance(content, str) else content
        await self._transport.put(self._file(path), data, {"mode": mode, "append": "true" if append else None})

    async def upload(self, source: str | PathLike[str], path: str, *, mode: str | None = None) -> None:
        """Streams a file of this machine into the sandbox."""
        await self._transport.put(self._file(path), chunks(source), {"mode": mode})

    async def download(self, path: str, target: str | PathLike[str]) -> None:
        """Streams a file of the sandbox to this machine; when that fails, what was there stays."""
        await save(target, self.read_chunks(path))

    async def list(self, path: str = "/workspace", *, depth: int = 1) -> FileListing:
        """What is in a directory; of a very large one not all, as `truncated` of the list tells."""
        entries, truncated = await self._transport.get_cut(f"{self._path}/files", {"path": path, "depth": depth})
        return FileListing((FileEntry.from_wire(entry) for entry in entries), truncated)

    async def stat(self, path: str) -> FileEntry:
        return await self._entry("stat", {"path": path})

    async def exists(self, path: str) -> bool:
        try:
            await self.stat(path)
        except CarrelError as e:
            if e.code != "file_not_found":
                raise
            return False
        return True

    async def make_directory(self, path: str) -> FileEntry:
        """Also those above it; one that exists is fine."""
        return await self._entry("mkdir", {"path": path})

    async def move(self, source: str, target: str, *, overwrite: bool = True) -> FileEntry:
        return await self._entry("move", {"from": source, "to": target, "overwrite": overwrite})

    async def copy(self, source: str, target: str, *, overwrite: bool = True) -> FileEntry:
        """A directory with all of it."""
        return await self._entry("copy", {"from": source, "to": target, "overwrite": overwrite})

    async def delete(self, path: str, *, recursive: bool = False) -> None:
        await self._transport.send("DELETE", self._file(path), params={"recursive": "true" if recursive else None})

    async def glob(self, pattern: str, **options: Unpack[GlobOptions]) -> GlobResult:
        """Files by name, newest first; `**` crosses directories."""
        return GlobResult.from_wire(await self._fs("glob", {"pattern": pattern, **options}))

    async def grep(self, pattern: str, **options: Unpack[GrepOptions]) -> GrepResult:
        """Lines by content."""
        return GrepResult.from_wire(await self._fs("grep", {"pattern": pattern, **options}))

    def watch(self, path: str = "/workspace", *, recursive: bool = True) -> AsyncFileWatch:
        """See changes as they happen."""
        params = {"path": path, "recursive": str(recursive).lower()}
        return AsyncFileWatch(following(self._transport, f"{self._path}/fs/watch", params=params))

    async def _entry(self, verb: str, wire: dict[str, Any]) -> FileEntry:
        return FileEntry.from_wire(await self._fs(verb, wire))

    async def _fs(self, verb: str, wire: dict[str, Any]) -> Any:
        return await self._transport.send("POST", f"{self._path}/fs/{verb}", wire)

    def _file(self, path: str) -> str:
        return f"{self._path}/files/{file_path(path)}"
