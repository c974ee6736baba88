"""A server."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from .._wire import Self, Unpack, segment
from ..generated.types import (
    ArtifactInfo,
    BudgetInfo,
    BudgetLimits,
    EngineInfo,
    Event,
    Health,
    ImageBuilder,
    PoolInfo,
    QueueStatus,
    SandboxOptions,
    SandboxPage,
    SandboxUsage,
    ValidateOptions,
    Validation,
    WebPage,
    WebResults,
)
from .operations import AsyncHost, AsyncImages, AsyncKeys, AsyncSettings
from .resources import AsyncApprovals, AsyncAudit, AsyncSecrets, AsyncSnapshots, AsyncVolumes
from .sandbox import SANDBOXES, AsyncSandbox
from .skills import AsyncSkills
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
        self.skills = AsyncSkills(self._transport)
        self.approvals = AsyncApprovals(self._transport)
        self.audit = AsyncAudit(self._transport)
        self.images = AsyncImages(self._transport)
        self.keys = AsyncKeys(self._transport)
        self.settings = AsyncSettings(self._transport)
        self.host = AsyncHost(self._transport, self.approvals)

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

    async def image_builders(self) -> list[ImageBuilder]:
        """What the server can build images of the catalog with."""
        return [ImageBuilder.from_wire(one) for one in (await self._transport.get("/api/v1/engines"))["builders"]]

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

    async def pools(self) -> list[PoolInfo]:
        """Sandboxes that wait for their owner; for administrators."""
        wire = await self._transport.get("/api/v1/settings/sandbox/pool-summary")
        return [PoolInfo.from_wire(one) for one in wire["per_image"]]

    async def budget(self, namespace: str) -> BudgetInfo:
        """What all sandboxes of a namespace together may use up, and have used."""
        return BudgetInfo.from_wire(await self._transport.get(budget_path(namespace)))

    async def set_budget(self, namespace: str, **limits: Unpack[BudgetLimits]) -> BudgetInfo:
        """A limit that is left out is lifted. Whoever is no administrator can only make a budget smaller."""
        return BudgetInfo.from_wire(await self._transport.send("PUT", budget_path(namespace), limits))

    async def fetch_page(self, url: str, *, sandbox: str | None = None, fresh: bool = False) -> WebPage:
        """A page of the web, readable; by the policy of a sandbox, or the server's. Fresh: what was read a while ago will not do."""
        wire: dict[str, Any] = {"url": url, "fresh": fresh}
        if sandbox is not None:
            wire["sandbox_id"] = sandbox
        return WebPage.from_wire(await self._transport.send("POST", "/api/v1/web/fetch", wire))

    async def search_web(self, query: str, most: int = 5, *, sandbox: str | None = None) -> WebResults:
        """Searches the web; by the policy of a sandbox, or the server's."""
        wire: dict[str, Any] = {"query": query, "num": most}
        if sandbox is not None:
            wire["sandbox_id"] = sandbox
        return WebResults.from_wire(await self._transport.send("POST", "/api/v1/web/search", wire))

    async def egress_presets(self) -> dict[str, list[str]]:
        """Sets of rules that a policy can name, with what each allows on this server."""
        presets: dict[str, list[str]] = (await self._transport.get("/api/v1/egress/presets"))["presets"]
        return presets

    async def request(self, method: str, path: str, wire: Any = None, *, params: dict[str, Any] | None = None) -> Any:
        """Any other call of the contract: JSON in, JSON out."""
        return await self._transport.send(method, path, wire, params=params)


def budget_path(namespace: str) -> str:
    return f"/api/v1/namespaces/{segment(namespace, 'namespace')}/budget"


class AsyncSandboxes:
    """The sandboxes of this token's owner."""

    def __init__(self, carrel: AsyncCarrel) -> None:
        self._carrel = carrel

    async def create(self, *, idempotency_key: str | None = None, **options: Unpack[SandboxOptions]) -> AsyncSandbox:
        return await AsyncSandbox.create(self._carrel, idempotency_key=idempotency_key, **options)

    async def get(self, id: str) -> AsyncSandbox:
        return await AsyncSandbox.get(id, self._carrel)

    async def delete(self, id: str) -> None:
        """Ends every process in it and removes all its files."""
        await self._carrel._transport.send("DELETE", f"{SANDBOXES}/{segment(id, 'id')}")

    async def list(self, page: int = 1, page_size: int = 20, **query: str) -> SandboxPage:
        """One page, newest first. The query may name status, search, image, namespace, sort_by and sort_order."""
        wire = await self._carrel._transport.get(SANDBOXES, {"page": page, "page_size": page_size, **query})
        return SandboxPage.from_wire(wire)
