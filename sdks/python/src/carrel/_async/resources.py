"""What belongs to the server or to the caller's tenant rather than to one sandbox."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from .._wire import Unpack, segment
from ..generated.types import (
    ApprovalInfo,
    ApprovalOptions,
    AuditPage,
    AuditVerdict,
    DecisionOptions,
    SecretInfo,
    SecretOptions,
    SigningKey,
    SnapshotInfo,
    VolumeInfo,
    VolumeOptions,
)
from .transport import AsyncTransport


class AsyncSecrets:
    """Put in, listed by name, used by name, never read back."""

    _PATH = "/api/v1/vault/secrets"

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def add(self, name: str, value: str, **options: Unpack[SecretOptions]) -> SecretInfo:
        wire = {"name": name, "value": value, **options}
        return SecretInfo.from_wire(await self._transport.send("POST", self._PATH, wire))

    async def list(self, namespace: str = "default") -> list[SecretInfo]:
        wire = await self._transport.get(self._PATH, {"namespace": namespace})
        return [SecretInfo.from_wire(one) for one in wire["secrets"]]

    async def rotate(self, name: str, value: str, *, namespace: str = "default") -> SecretInfo:
        """Gives it another value; processes that run keep the one they have."""
        wire = {"namespace": namespace, "value": value}
        return SecretInfo.from_wire(await self._transport.send("POST", f"{self._one(name)}/rotate", wire))

    async def delete(self, name: str, *, namespace: str = "default") -> None:
        await self._transport.send("DELETE", self._one(name), params={"namespace": namespace})

    def _one(self, name: str) -> str:
        return f"{self._PATH}/{segment(name, 'name')}"


class AsyncVolumes:
    """Files that outlive sandboxes."""

    _PATH = "/api/v1/volumes"

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(self, name: str, **options: Unpack[VolumeOptions]) -> VolumeInfo:
        return VolumeInfo.from_wire(await self._transport.send("POST", self._PATH, {"name": name, **options}))

    async def list(self) -> list[VolumeInfo]:
        return [VolumeInfo.from_wire(one) for one in (await self._transport.get(self._PATH))["volumes"]]

    async def get(self, name: str) -> VolumeInfo:
        return VolumeInfo.from_wire(await self._transport.get(f"{self._PATH}/{segment(name, 'name')}"))

    async def delete(self, name: str) -> None:
        """With its files, unless a sandbox has it."""
        await self._transport.send("DELETE", f"{self._PATH}/{segment(name, 'name')}")


class AsyncSnapshots:
    """Copies of sandboxes' files."""

    _PATH = "/api/v1/snapshots"

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self) -> list[SnapshotInfo]:
        """Newest first, also of sandboxes that are gone."""
        return [SnapshotInfo.from_wire(one) for one in (await self._transport.get(self._PATH))["snapshots"]]

    async def get(self, id: str) -> SnapshotInfo:
        return SnapshotInfo.from_wire(await self._transport.get(f"{self._PATH}/{segment(id, 'id')}"))

    async def delete(self, id: str) -> None:
        """Sandboxes made from it keep their files."""
        await self._transport.send("DELETE", f"{self._PATH}/{segment(id, 'id')}")


class AsyncApprovals:
    """What only a person may allow."""

    _PATH = "/api/v1/approvals"

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def ask(self, subject: str, **options: Unpack[ApprovalOptions]) -> ApprovalInfo:
        """Asks; the same question asked twice is one request."""
        return ApprovalInfo.from_wire(await self._transport.send("POST", self._PATH, {"subject": subject, **options}))

    async def list(self, *, status: str | None = None, limit: int = 100) -> list[ApprovalInfo]:
        wire = await self._transport.get(self._PATH, {"status": status, "limit": limit})
        return [ApprovalInfo.from_wire(one) for one in wire["approvals"]]

    async def get(self, id: str, *, wait_seconds: int = 0) -> ApprovalInfo:
        """As it is now, or when it was decided."""
        return ApprovalInfo.from_wire(await self._transport.get(self._one(id), {"wait_seconds": wait_seconds}))

    async def decide(self, id: str, approve: bool, **options: Unpack[DecisionOptions]) -> ApprovalInfo:
        """For administrators; a grant takes effect at once."""
        wire = {"approve": approve, **options}
        return ApprovalInfo.from_wire(await self._transport.send("POST", f"{self._one(id)}/decision", wire))

    async def withdraw(self, id: str) -> ApprovalInfo:
        """Takes a request back, or what was granted."""
        return ApprovalInfo.from_wire(await self._transport.send("DELETE", self._one(id)))

    def _one(self, id: str) -> str:
        return f"{self._PATH}/{segment(id, 'id')}"


class AsyncAudit:
    """What was done, and by whom."""

    _PATH = "/api/v1/audit"

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(
        self,
        *,
        sandbox: str | None = None,
        namespace: str | None = None,
        action: str | None = None,
        since: datetime | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> AuditPage:
        """A page, newest first; give its `next` as `before` for the one after it."""
        params: dict[str, Any] = {"sandbox": sandbox, "namespace": namespace, "action": action, "before": before, "limit": limit}
        params["since"] = None if since is None else since.isoformat()
        return AuditPage.from_wire(await self._transport.get(self._PATH, params))

    async def verify(self) -> AuditVerdict:
        """Looks for what was changed behind the server's back; for administrators."""
        return AuditVerdict.from_wire(await self._transport.send("POST", f"{self._PATH}/verify", {}))

    async def key(self) -> SigningKey:
        """The public key of what the server signs."""
        return SigningKey.from_wire(await self._transport.get(f"{self._PATH}/key"))
