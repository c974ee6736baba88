"""What the server's operators do: images, keys, settings, and the machine itself as far as it is lent out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

import httpx

from .._settings import SettingInfo, settings_of
from .._wire import Unpack, segment
from ..generated.types import (
    ApprovalInfo,
    HostAccess,
    HostContent,
    HostEntry,
    HostOptions,
    HostResult,
    HostWritten,
    ImageInfo,
    ImageList,
    ImageLock,
    ImageProgress,
    KeyInfo,
    KeyOptions,
    PrunedImages,
    SettingsChanges,
)
from .platform import chunks, save
from .resources import AsyncApprovals
from .streams import AsyncResumedEvents, sse
from .transport import AsyncTransport

# In a class with a method of this name `list` means that one.
SettingList = list[SettingInfo]


class AsyncImages:
    """What sandboxes start on. Everybody may look, administrators may change."""

    _PATH = "/api/v1/images"

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self) -> ImageList:
        return ImageList.from_wire(await self._transport.get(self._PATH))

    async def get(self, name: str) -> ImageInfo:
        return ImageInfo.from_wire(await self._transport.get(self._one(name)))

    async def build(self, name: str, *, lock: ImageLock | None = None, snapshot: str | None = None) -> ImageInfo:
        """Begins to build an image of the catalog, with `lock` of exactly its packages; `follow` tells how it goes on."""
        wire: dict[str, Any] = {"name": name}
        if lock is not None:
            wire["lock"] = lock.to_wire()
        if snapshot is not None:
            wire["snapshot"] = snapshot
        return ImageInfo.from_wire(await self._transport.send("POST", f"{self._PATH}/build", wire))

    async def lock(self, name: str) -> ImageLock:
        """Exactly what an image was built of."""
        return ImageLock.from_wire(await self._transport.get(f"{self._one(name)}/lock"))

    async def commit(self, sandbox_id: str, name: str) -> ImageInfo:
        """Begins to make an image of what a sandbox with `rootfs` overlay changed; `follow` tells how it goes on."""
        wire = {"sandbox_id": sandbox_id, "name": name}
        return ImageInfo.from_wire(await self._transport.send("POST", f"{self._PATH}/commit", wire))

    async def pull(self, reference: str, *, platform: str | None = None) -> ImageInfo:
        """Begins to pull an image; `follow` tells how it goes on, under the name of the answer."""
        wire = {"reference": reference} if platform is None else {"reference": reference, "platform": platform}
        return ImageInfo.from_wire(await self._transport.send("POST", f"{self._PATH}/pull", wire))

    async def import_archive(self, name: str, archive: str | PathLike[str]) -> ImageInfo:
        """Takes in an OCI layout or what `docker save` writes; returns when it can be used."""
        wire = await self._transport.post(f"{self._PATH}/import", chunks(archive), {"name": name}, type="application/x-tar")
        return ImageInfo.from_wire(wire)

    async def export(self, name: str, target: str | PathLike[str]) -> None:
        """Writes it to a file as a tar that both Docker and OCI tools read; when that fails, what was there stays."""
        response = await self._transport.open("GET", f"{self._one(name)}/export")
        try:
            await save(target, self._transport.pieces(response))
        finally:
            await response.aclose()

    async def follow(self, name: str, progress: Callable[[ImageProgress], None] | None = None) -> ImageInfo:
        """Follows the work on an image to its end."""

        async def opening(seen: int | None) -> httpx.Response:
            return await self._transport.open("GET", f"{self._one(name)}/progress", headers=sse(None))

        events = AsyncResumedEvents(opening, last="image", resumable=False)
        try:
            while (event := await events.next()) is not None:
                if event.name == "image":
                    return ImageInfo.from_wire(event.json())
                if progress is not None:
                    progress(ImageProgress.from_wire(event.json()))
        finally:
            await events.close()
        return await self.get(name)

    async def log(self, name: str) -> str:
        """What the last work on it said."""
        response = await self._transport.open("GET", f"{self._one(name)}/log")
        try:
            return b"".join([piece async for piece in self._transport.pieces(response)]).decode()
        finally:
            await response.aclose()

    async def delete(self, name: str) -> None:
        """Removes one that no sandbox is on."""
        await self._transport.send("DELETE", self._one(name))

    async def prune(self, *, unused: bool = False) -> PrunedImages:
        """Removes what failed and what nobody refers to any more; with `unused` also images that no sandbox is on."""
        return PrunedImages.from_wire(await self._transport.send("POST", f"{self._PATH}/prune", {"unused": unused}))

    def _one(self, name: str) -> str:
        return f"{self._PATH}/{segment(name, 'name')}"


class AsyncKeys:
    """Keys for clients. The server tells one once, and keeps no copy."""

    _PATH = "/api/v1/keys"

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(self, name: str, **options: Unpack[KeyOptions]) -> KeyInfo:
        return KeyInfo.from_wire(await self._transport.send("POST", self._PATH, {"name": name, **options}))

    async def list(self) -> list[KeyInfo]:
        """Newest first, without the keys themselves."""
        return [KeyInfo.from_wire(one) for one in (await self._transport.get(self._PATH))["keys"]]

    async def delete(self, id: str) -> None:
        """From now on nobody gets in with it."""
        await self._transport.send("DELETE", f"{self._PATH}/{segment(id, 'id')}")


class AsyncSettings:
    """What an administrator may change while the server runs."""

    _PATH = "/api/v1/settings/sandbox"

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self) -> SettingList:
        return settings_of(await self._transport.get(self._PATH))

    async def change(self, **changes: Unpack[SettingsChanges]) -> SettingList:
        """Changes all of these or none, at once and for good. None: as configured again."""
        return settings_of(await self._transport.send("PATCH", self._PATH, changes))

    async def reset(self) -> SettingList:
        """Makes everything as configured again."""
        return settings_of(await self._transport.send("DELETE", self._PATH))


class AsyncHost:
    """The machine that the server runs on, as far as it is lent out: off unless its operator enables it, and then for tokens
    that have the permission `host`."""

    _PATH = "/api/v1/host"

    def __init__(self, transport: AsyncTransport, approvals: AsyncApprovals) -> None:
        self._transport, self._approvals = transport, approvals

    async def access(self) -> HostAccess:
        """What is allowed, blocked, approved and asked for."""
        return HostAccess.from_wire(await self._transport.get(self._PATH))

    async def exec(self, command: Sequence[str], **options: Unpack[HostOptions]) -> HostResult:
        """Runs a command without a shell, and waits for its end."""
        wire = {"command": [*command], **options}
        return HostResult.from_wire(await self._transport.send("POST", f"{self._PATH}/exec", wire))

    async def read(self, path: str, *, offset: int = 0, limit: int | None = None, base64: bool = False) -> HostContent:
        """Reads a part of a file; a mebibyte without a limit."""
        wire: dict[str, Any] = {"path": path, "offset": offset, "base64": base64}
        if limit is not None:
            wire["limit"] = limit
        return HostContent.from_wire(await self._transport.send("POST", f"{self._PATH}/read", wire))

    async def write(self, path: str, content: str, *, base64: bool = False) -> HostWritten:
        """Writes a whole file; its folder must be there. The content is text, or bytes as base64."""
        wire = {"path": path, "content": content, "base64": base64}
        return HostWritten.from_wire(await self._transport.send("POST", f"{self._PATH}/write", wire))

    async def list(self, path: str) -> list[HostEntry]:
        wire = await self._transport.send("POST", f"{self._PATH}/list", {"path": path})
        return [HostEntry.from_wire(one) for one in wire["files"]]

    async def copy(self, source: str, destination: str) -> HostWritten:
        wire = {"source": source, "destination": destination}
        return HostWritten.from_wire(await self._transport.send("POST", f"{self._PATH}/copy", wire))

    async def ask(self, pattern: str, scope: str = "once", *, sandbox_id: str | None = None, reason: str = "") -> ApprovalInfo:
        """Asks a person to allow a command, or a pattern of commands; the scope is `once`, `sandbox` or `namespace`."""
        options: dict[str, Any] = {"kind": "host_command", "scope": scope, "reason": reason}
        if sandbox_id is not None:
            options["sandbox_id"] = sandbox_id
        return await self._approvals.ask(pattern, **options)
