# Written by sdks/generate.py from the file of this name in _async. Change that one.
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
from .transport import Transport


class Secrets:
    """Put in, listed by name, used by name, never read back."""

    _PATH = "/api/v1/vault/secrets"

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def add(self, name: str, value: str, **options: Unpack[SecretOptions]) -> SecretInfo:
        wire = {"name": name, "value": value, **options}
        return SecretInfo.from_wire(self._transport.send("POST", self._PATH, wire))

    def list(self, namespace: str = "default") -> list[SecretInfo]:
        wire = self._transport.get(self._PATH, {"namespace": namespace})
        return [SecretInfo.from_wire(one) for one in wire["secrets"]]

    def rotate(self, name: str, value: str, *, namespace: str = "default") -> SecretInfo:
        """Gives it another value; processes that run keep the one they have."""
        wire = {"namespace": namespace, "value": value}
        return SecretInfo.from_wire(self._transport.send("POST", f"{self._one(name)}/rotate", wire))

    def delete(self, name: str, *, namespace: str = "default") -> None:
        self._transport.send("DELETE", self._one(name), params={"namespace": namespace})

    def _one(self, name: str) -> str:
        return f"{self._PATH}/{segment(name, 'name')}"


class Volumes:
    """Files that outlive sandboxes."""

    _PATH = "/api/v1/volumes"

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, name: str, **options: Unpack[VolumeOptions]) -> VolumeInfo:
        return VolumeInfo.from_wire(self._transport.send("POST", self._PATH, {"name": name, **options}))

    def list(self) -> list[VolumeInfo]:
        return [VolumeInfo.from_wire(one) for one in (self._transport.get(self._PATH))["volumes"]]

    def get(self, name: str) -> VolumeInfo:
        return VolumeInfo.from_wire(self._transport.get(f"{self._PATH}/{segment(name, 'name')}"))

    def delete(self, name: str) -> None:
        """With its files, unless a sandbox has it."""
        self._transport.send("DELETE", f"{self._PATH}/{segment(name, 'name')}")


class Snapshots:
    """Copies of sandboxes' files."""

    _PATH = "/api/v1/snapshots"

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> list[SnapshotInfo]:
        """Newest first, also of sandboxes that are gone."""
        return [SnapshotInfo.from_wire(one) for one in (self._transport.get(self._PATH))["snapshots"]]

    def get(self, id: str) -> SnapshotInfo:
        return SnapshotInfo.from_wire(self._transport.get(f"{self._PATH}/{segment(id, 'id')}"))

    def delete(self, id: str) -> None:
        """Sandboxes made from it keep their files."""
        self._transport.send("DELETE", f"{self._PATH}/{segment(id, 'id')}")


class Approvals:
    """What only a person may allow."""

    _PATH = "/api/v1/approvals"

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def ask(self, subject: str, **options: Unpack[ApprovalOptions]) -> ApprovalInfo:
        """Asks; the same question asked twice is one request."""
        return ApprovalInfo.from_wire(self._transport.send("POST", self._PATH, {"subject": subject, **options}))

    def list(self, *, status: str | None = None, limit: int = 100) -> list[ApprovalInfo]:
        wire = self._transport.get(self._PATH, {"status": status, "limit": limit})
        return [ApprovalInfo.from_wire(one) for one in wire["approvals"]]

    def get(self, id: str, *, wait_seconds: int = 0) -> ApprovalInfo:
        """As it is now, or when it was decided."""
        return ApprovalInfo.from_wire(self._transport.get(self._one(id), {"wait_seconds": wait_seconds}))

    def decide(self, id: str, approve: bool, **options: Unpack[DecisionOptions]) -> ApprovalInfo:
        """For administrators; a grant takes effect at once."""
        wire = {"approve": approve, **options}
        return ApprovalInfo.from_wire(self._transport.send("POST", f"{self._one(id)}/decision", wire))

    def withdraw(self, id: str) -> ApprovalInfo:
        """Takes a request back, or what was granted."""
        return ApprovalInfo.from_wire(self._transport.send("DELETE", self._one(id)))

    def _one(self, id: str) -> str:
        return f"{self._PATH}/{segment(id, 'id')}"


class Audit:
    """What was done, and by whom."""

    _PATH = "/api/v1/audit"

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
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
        return AuditPage.from_wire(self._transport.get(self._PATH, params))

    def verify(self) -> AuditVerdict:
        """Looks for what was changed behind the server's back; for administrators."""
        return AuditVerdict.from_wire(self._transport.send("POST", f"{self._PATH}/verify", {}))

    def key(self) -> SigningKey:
        """The public key of what the server signs."""
        return SigningKey.from_wire(self._transport.get(f"{self._PATH}/key"))
