"""A server."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from .._wire import Self, Unpack
from ..generated.types import (
    ArtifactInfo,
    EngineInfo,
    Event,
    Health,
    ImageInfo,
    QueueStatus,
    SandboxOptions,
    SandboxPage,
    SandboxUsage,
    ValidateOptions,
    Validation,
)
from .resources import AsyncApprovals, AsyncAudit, AsyncSecrets, AsyncSnapshots, AsyncVolumes
from .sandbox import SANDBOXES, AsyncSandbox
from .streams import AsyncEventStream, news
from .transport import AsyncTransport


class AsyncCarrel:
    """A Carrel server. Nothing is sent before the first call. Closing ends the connections and leaves sandboxes alone.

    Without arguments CARREL_URL and CARREL_TOKEN name the server and the token.
    """

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        self._transport = AsyncTransport(url, token)
        self.sandboxes = AsyncSandboxes(self)
        self.secrets = AsyncSecrets(self._transport)
        self.volumes = AsyncVolumes(self._transport)
        self.snapshots = AsyncSnapshots(self._transport)
        self.approvals = AsyncApprovals(self._transport)
        self.audit = AsyncAudit(self._transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        await self._transport.close()

    async def health(self) -> Health:
        return Health.from_wire(await self._transport.get("/health"))

    async def engines(self) -> list[EngineInfo]:
        """What the server can start sandboxes with, and what isolation each would really apply."""
        return [EngineInfo.from_wire(one) for one in (await self._transport.get("/api/v1/engines"))["engines"]]

    async def languages(self) -> list[str]:
        """Languages that contexts exist for."""
        return [one["name"] for one in (await self._transport.get("/api/v1/languages"))["languages"]]

    def events(
        self, *, type: str | None = None, sandbox: str | None = None, namespace: str | None = None, after: int | None = None
    ) -> AsyncEventStream:
        """What happens to your sandboxes, from now on or after an event that was seen. `type` is whole words or their first
        part, with commas: `execution,sandbox.stopped`."""
        params = {"type": type, "sandbox": sandbox, "namespace": namespace}
        return news(self._transport, "/api/v1/events", after=after, params=params)

    async def recent_events(
        self, limit: int = 100, *, type: str | None = None, sandbox: str | None = None, namespace: str | None = None
    ) -> list[Event]:
        """The last ones that the server remembers, oldest first."""
        params = {"recent": limit, "type": type, "sandbox": sandbox, "namespace": namespace}
        return [Event.from_wire(one) for one in (await self._transport.get("/api/v1/events", params))["events"]]

    async def validate(self, code: str, **options: Unpack[ValidateOptions]) -> Validation:
        """Looks at code without running it."""
        return Validation.from_wire(await self._transport.send("POST", "/api/v1/validate", {"code": code, **options}))

    async def usage(self) -> list[SandboxUsage]:
        """What the running sandboxes use now."""
        return [SandboxUsage.from_wire(one) for one in (await self._transport.get("/api/v1/usage"))["sandboxes"]]

    async def queue(self) -> QueueStatus:
        """Who runs and who waits."""
        return QueueStatus.from_wire(await self._transport.get("/api/v1/queue"))

    async def artifacts(self, sha256: str) -> list[ArtifactInfo]:
        """Where a file came from, by its digest in hex; newest first, also from sandboxes that are gone."""
        wire = await self._transport.get("/api/v1/artifacts", {"sha256": sha256})
        return [ArtifactInfo.from_wire(one) for one in wire["artifacts"]]

    async def images(self) -> list[ImageInfo]:
        """What sandboxes can be started on."""
        return [ImageInfo.from_wire(one) for one in (await self._transport.get("/api/v1/images"))["images"]]

    async def egress_presets(self) -> dict[str, list[str]]:
        """Sets of rules that a policy can name, with what each allows on this server."""
        presets: dict[str, list[str]] = (await self._transport.get("/api/v1/egress/presets"))["presets"]
        return presets

    async def request(self, method: str, path: str, wire: Any = None, *, params: dict[str, Any] | None = None) -> Any:
        """Any other call of the contract: JSON in, JSON out."""
        return await self._transport.send(method, path, wire, params=params)


class AsyncSandboxes:
    """The sandboxes of this token's owner."""

    def __init__(self, carrel: AsyncCarrel) -> None:
        self._carrel = carrel

    async def create(self, *, idempotency_key: str | None = None, **options: Unpack[SandboxOptions]) -> AsyncSandbox:
        return await AsyncSandbox.create(self._carrel, idempotency_key=idempotency_key, **options)

    async def get(self, id: str) -> AsyncSandbox:
        return await AsyncSandbox.get(id, self._carrel)

    async def list(self, page: int = 1, page_size: int = 20, **query: str) -> SandboxPage:
        """One page, newest first. The query may name status, search, image, namespace, sort_by and sort_order."""
        wire = await self._carrel._transport.get(SANDBOXES, {"page": page, "page_size": page_size, **query})
        return SandboxPage.from_wire(wire)
