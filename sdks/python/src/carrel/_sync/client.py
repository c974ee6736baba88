# Written by sdks/generate.py from the file of this name in _async. Change that one.
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
from .operations import Host, Images, Keys, Settings
from .resources import Approvals, Audit, Secrets, Snapshots, Volumes
from .sandbox import SANDBOXES, Sandbox
from .skills import Skills
from .streams import EventStream, news
from .transport import Transport


class Carrel:
    """A Carrel server. Nothing is sent before the first call. Closing ends the connections and leaves sandboxes alone.

    Without arguments CARREL_URL and CARREL_TOKEN name the server and the token.
    """

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        self._transport = Transport(url, token)
        self.sandboxes = Sandboxes(self)
        self.secrets = Secrets(self._transport)
        self.volumes = Volumes(self._transport)
        self.snapshots = Snapshots(self._transport)
        self.skills = Skills(self._transport)
        self.approvals = Approvals(self._transport)
        self.audit = Audit(self._transport)
        self.images = Images(self._transport)
        self.keys = Keys(self._transport)
        self.settings = Settings(self._transport)
        self.host = Host(self._transport, self.approvals)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._transport.close()

    def health(self) -> Health:
        return Health.from_wire(self._transport.get("/health"))

    def engines(self) -> list[EngineInfo]:
        """What the server can start sandboxes with, and what isolation each would really apply."""
        return [EngineInfo.from_wire(one) for one in (self._transport.get("/api/v1/engines"))["engines"]]

    def image_builders(self) -> list[ImageBuilder]:
        """What the server can build images of the catalog with."""
        return [ImageBuilder.from_wire(one) for one in (self._transport.get("/api/v1/engines"))["builders"]]

    def languages(self) -> list[str]:
        """Languages that contexts exist for."""
        return [one["name"] for one in (self._transport.get("/api/v1/languages"))["languages"]]

    def events(
        self, *, type: str | None = None, sandbox: str | None = None, namespace: str | None = None, after: int | None = None
    ) -> EventStream:
        """What happens to your sandboxes, from now on or after an event that was seen. `type` is whole words or their first
        part, with commas: `execution,sandbox.stopped`."""
        params = {"type": type, "sandbox": sandbox, "namespace": namespace}
        return news(self._transport, "/api/v1/events", after=after, params=params)

    def recent_events(
        self, limit: int = 100, *, type: str | None = None, sandbox: str | None = None, namespace: str | None = None
    ) -> list[Event]:
        """The last ones that the server remembers, oldest first."""
        params = {"recent": limit, "type": type, "sandbox": sandbox, "namespace": namespace}
        return [Event.from_wire(one) for one in (self._transport.get("/api/v1/events", params))["events"]]

    def validate(self, code: str, **options: Unpack[ValidateOptions]) -> Validation:
        """Looks at code without running it."""
        return Validation.from_wire(self._transport.send("POST", "/api/v1/validate", {"code": code, **options}))

    def usage(self) -> list[SandboxUsage]:
        """What the running sandboxes use now."""
        return [SandboxUsage.from_wire(one) for one in (self._transport.get("/api/v1/usage"))["sandboxes"]]

    def queue(self) -> QueueStatus:
        """Who runs and who waits."""
        return QueueStatus.from_wire(self._transport.get("/api/v1/queue"))

    def artifacts(self, sha256: str) -> list[ArtifactInfo]:
        """Where a file came from, by its digest in hex; newest first, also from sandboxes that are gone."""
        wire = self._transport.get("/api/v1/artifacts", {"sha256": sha256})
        return [ArtifactInfo.from_wire(one) for one in wire["artifacts"]]

    def pools(self) -> list[PoolInfo]:
        """Sandboxes that wait for their owner; for administrators."""
        wire = self._transport.get("/api/v1/settings/sandbox/pool-summary")
        return [PoolInfo.from_wire(one) for one in wire["per_image"]]

    def budget(self, namespace: str) -> BudgetInfo:
        """What all sandboxes of a namespace together may use up, and have used."""
        return BudgetInfo.from_wire(self._transport.get(budget_path(namespace)))

    def set_budget(self, namespace: str, **limits: Unpack[BudgetLimits]) -> BudgetInfo:
        """A limit that is left out is lifted. Whoever is no administrator can only make a budget smaller."""
        return BudgetInfo.from_wire(self._transport.send("PUT", budget_path(namespace), limits))

    def fetch_page(self, url: str, *, sandbox: str | None = None, fresh: bool = False) -> WebPage:
        """A page of the web, readable; by the policy of a sandbox, or the server's. Fresh: what was read a while ago will not do."""
        wire: dict[str, Any] = {"url": url, "fresh": fresh}
        if sandbox is not None:
            wire["sandbox_id"] = sandbox
        return WebPage.from_wire(self._transport.send("POST", "/api/v1/web/fetch", wire))

    def search_web(self, query: str, most: int = 5, *, sandbox: str | None = None) -> WebResults:
        """Searches the web; by the policy of a sandbox, or the server's."""
        wire: dict[str, Any] = {"query": query, "num": most}
        if sandbox is not None:
            wire["sandbox_id"] = sandbox
        return WebResults.from_wire(self._transport.send("POST", "/api/v1/web/search", wire))

    def egress_presets(self) -> dict[str, list[str]]:
        """Sets of rules that a policy can name, with what each allows on this server."""
        presets: dict[str, list[str]] = (self._transport.get("/api/v1/egress/presets"))["presets"]
        return presets

    def request(self, method: str, path: str, wire: Any = None, *, params: dict[str, Any] | None = None) -> Any:
        """Any other call of the contract: JSON in, JSON out."""
        return self._transport.send(method, path, wire, params=params)


def budget_path(namespace: str) -> str:
    return f"/api/v1/namespaces/{segment(namespace, 'namespace')}/budget"


class Sandboxes:
    """The sandboxes of this token's owner."""

    def __init__(self, carrel: Carrel) -> None:
        self._carrel = carrel

    def create(self, *, idempotency_key: str | None = None, **options: Unpack[SandboxOptions]) -> Sandbox:
        return Sandbox.create(self._carrel, idempotency_key=idempotency_key, **options)

    def get(self, id: str) -> Sandbox:
        return Sandbox.get(id, self._carrel)

    def delete(self, id: str) -> None:
        """Ends every process in it and removes all its files."""
        self._carrel._transport.send("DELETE", f"{SANDBOXES}/{segment(id, 'id')}")

    def list(self, page: int = 1, page_size: int = 20, **query: str) -> SandboxPage:
        """One page, newest first. The query may name status, search, image, namespace, sort_by and sort_order."""
        wire = self._carrel._transport.get(SANDBOXES, {"page": page, "page_size": page_size, **query})
        return SandboxPage.from_wire(wire)
