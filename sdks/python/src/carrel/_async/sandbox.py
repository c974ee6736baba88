"""One sandbox."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import httpx

from .._errors import CarrelError
from .._wire import Self, Unpack, segment
from ..generated.types import (
    ActivityInfo,
    ArtifactInfo,
    ArtifactManifest,
    BridgeOptions,
    BridgeResult,
    BudgetInfo,
    BudgetLimits,
    CodeOptions,
    CodeResult,
    ContextInfo,
    ContextOptions,
    EgressAccess,
    EgressDecision,
    EgressInfo,
    ExecInfo,
    ExecOptions,
    ExecResult,
    Installation,
    InstalledSkill,
    NetworkPolicy,
    PortLink,
    SandboxChanges,
    SandboxInfo,
    SandboxOptions,
    SandboxUsage,
    SignedArtifacts,
    SkillInstallation,
    SnapshotInfo,
    TerminalLink,
    TerminalOptions,
)
from .files import AsyncFiles
from .streams import AsyncCodeStream, AsyncEventStream, AsyncExecStream, AsyncResumedEvents, news, running, sse
from .transfers import AsyncTransfers
from .transport import AsyncTransport

if TYPE_CHECKING:
    from .client import AsyncCarrel

SANDBOXES = "/api/v1/sandboxes"


class AsyncSandbox:
    """An isolated machine with files, commands and interpreters.

    Leaving its block deletes a sandbox that `create` made. One with a session key, or one that was looked up, lives on.
    """

    def __init__(self, transport: AsyncTransport, info: SandboxInfo, *, owned: bool = False, own_transport: bool = False) -> None:
        self._transport, self._owned, self._own_transport = transport, owned, own_transport
        self.info = info
        """As it was when the server last told; `refresh` asks again."""
        self._path = f"{SANDBOXES}/{info.id}"
        self.files = AsyncFiles(transport, self._path)
        self.contexts = AsyncContexts(transport, self._path)
        self.egress = AsyncEgress(transport, self._path)
        self.transfers = AsyncTransfers(transport, self._path)
        self.terminals = AsyncTerminals(transport, self._path, self.attach)

    @classmethod
    async def create(
        cls, carrel: AsyncCarrel | None = None, *, idempotency_key: str | None = None, **options: Unpack[SandboxOptions]
    ) -> Self:
        """Starts a sandbox, or finds the one with this session key; returns once it runs.

        Without a client, CARREL_URL and CARREL_TOKEN name the server. An answer that is lost is asked for again: with a key of
        its own the request makes one sandbox however often it is sent.
        """
        transport = AsyncTransport(None, None) if carrel is None else carrel._transport
        try:
            wire = await transport.send("POST", SANDBOXES, options, key=idempotency_key or str(uuid.uuid4()))
        except BaseException:
            if carrel is None:
                await transport.close()
            raise
        owned = options.get("session_key") is None
        return cls(transport, SandboxInfo.from_wire(wire), owned=owned, own_transport=carrel is None)

    @classmethod
    async def get(cls, id: str, carrel: AsyncCarrel | None = None) -> Self:
        """One that exists."""
        transport = AsyncTransport(None, None) if carrel is None else carrel._transport
        try:
            wire = await transport.get(f"{SANDBOXES}/{segment(id, 'id')}")
        except BaseException:
            if carrel is None:
                await transport.close()
            raise
        return cls(transport, SandboxInfo.from_wire(wire), own_transport=carrel is None)

    @property
    def id(self) -> str:
        return self.info.id

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Deletes the sandbox if `create` made it and it has no session key, and ends connections of its own."""
        try:
            if self._owned:
                self._owned = False
                await self.delete()
        except CarrelError as e:
            if e.code != "sandbox_not_found":
                raise
        finally:
            if self._own_transport:
                await self._transport.close()

    async def delete(self) -> None:
        """Ends every process in it and removes all its files."""
        await self._transport.send("DELETE", self._path)

    async def refresh(self) -> Self:
        return self._became(await self._transport.get(self._path))

    async def update(self, **changes: Unpack[SandboxChanges]) -> Self:
        return self._became(await self._transport.send("PATCH", self._path, changes))

    async def start(self) -> Self:
        """Starts it again with its files when it has stopped or failed; lets it go on when paused."""
        return await self._change("start")

    async def stop(self) -> Self:
        """Ends its machine and keeps its files."""
        return await self._change("stop")

    async def pause(self) -> Self:
        """Holds every process where it is; the next call lets them go on."""
        return await self._change("pause")

    async def resume(self) -> Self:
        return await self._change("resume")

    async def fork(self) -> Self:
        """A new sandbox like this one, with the files of this moment."""
        wire = await self._transport.send("POST", f"{self._path}/fork", {})
        return type(self)(self._transport, SandboxInfo.from_wire(wire), owned=True)

    async def snapshot(self, name: str | None = None) -> SnapshotInfo:
        """Keeps its files as they are now."""
        wire = await self._transport.send("POST", f"{self._path}/snapshots", {} if name is None else {"name": name})
        return SnapshotInfo.from_wire(wire)

    async def snapshots(self) -> list[SnapshotInfo]:
        wire = await self._transport.get(f"{self._path}/snapshots")
        return [SnapshotInfo.from_wire(one) for one in wire["snapshots"]]

    async def restore(self, snapshot_id: str) -> Self:
        """Gives it the files of a snapshot in place of its own."""
        return self._became(await self._transport.send("POST", f"{self._path}/restore", {"snapshot_id": snapshot_id}))

    async def install_skills(self, skills: Sequence[str]) -> SkillInstallation:
        """Gives it skills by name or id; where one is in its place already, nothing is done."""
        return SkillInstallation.from_wire(await self._transport.send("POST", f"{self._path}/skills", {"skill_ids": list(skills)}))

    async def skills(self) -> list[InstalledSkill]:
        """What it was given, by name."""
        return [InstalledSkill.from_wire(one) for one in (await self._transport.get(f"{self._path}/skills"))["skills"]]

    async def exec(
        self, command: str | Sequence[str], *, idempotency_key: str | None = None, **options: Unpack[ExecOptions]
    ) -> ExecResult:
        """Runs a line of shell, or a program with its arguments, to its end. A command that fails is a result, not an error.

        With a key the command runs once however often it is asked for, and a lost answer is asked for again.
        """
        wire = await self._transport.send("POST", f"{self._path}/exec", {"command": command, **options}, key=idempotency_key)
        return ExecResult.from_wire(wire)

    def exec_stream(
        self, command: str | Sequence[str], *, idempotency_key: str | None = None, **options: Unpack[ExecOptions]
    ) -> AsyncExecStream:
        """Starts a command and follows it live."""
        wire = {"command": command, **options}
        events = running(self._transport, f"{self._path}/exec?encoding=base64", wire, key=idempotency_key, last="exited")
        return AsyncExecStream(self._transport, self._path, events)

    async def exec_background(
        self, command: str | Sequence[str], *, idempotency_key: str | None = None, **options: Unpack[ExecOptions]
    ) -> ExecInfo:
        """Starts a command that goes on by itself; follow it with `attach`."""
        wire = {"command": command, "background": True, **options}
        return ExecInfo.from_wire(await self._transport.send("POST", f"{self._path}/exec", wire, key=idempotency_key))

    async def execs(self) -> list[ExecInfo]:
        """Commands that run and those that ran lately, newest first."""
        return [ExecInfo.from_wire(one) for one in (await self._transport.get(f"{self._path}/execs"))["execs"]]

    def attach(self, exec_id: str, start: int = 0) -> AsyncExecStream:
        """Follows a command that was started before: its output from an offset on, then live."""
        path = f"{self._path}/execs/{segment(exec_id, 'exec_id')}/output"

        async def opening(seen: int | None) -> httpx.Response:
            return await self._transport.open("GET", path, headers=sse(None), params={"encoding": "base64", "from": seen or 0})

        events = AsyncResumedEvents(opening, last="exited", resumable=True, seen=start)
        return AsyncExecStream(self._transport, self._path, events, exec_id)

    async def run_code(self, code: str, *, idempotency_key: str | None = None, **options: Unpack[CodeOptions]) -> CodeResult:
        """Runs code, Python unless `language` says otherwise, in a context that keeps its state. Code that fails is a result."""
        wire = await self._transport.send("POST", f"{self._path}/code", {"code": code, **options}, key=idempotency_key)
        return CodeResult.from_wire(wire)

    def run_code_stream(self, code: str, *, idempotency_key: str | None = None, **options: Unpack[CodeOptions]) -> AsyncCodeStream:
        """Runs code and follows it live."""
        wire = {"code": code, **options}
        return AsyncCodeStream(running(self._transport, f"{self._path}/code", wire, key=idempotency_key, last="done"))

    def events(self, *, after: int | None = None) -> AsyncEventStream:
        """What happens to it, from now on or after an event that was seen."""
        return news(self._transport, f"{self._path}/events", after=after)

    async def activity(self, limit: int = 50) -> list[ActivityInfo]:
        """What went on in it, newest first."""
        wire = await self._transport.get(f"{self._path}/activity", {"limit": limit})
        return [ActivityInfo.from_wire(one) for one in wire["activity"]]

    async def usage(self) -> SandboxUsage:
        """What it uses now; zeros when it does not run."""
        return SandboxUsage.from_wire(await self._transport.get(f"{self._path}/usage"))

    async def link(self, port: int, *, expires_in_seconds: int = 3600) -> PortLink:
        """A link to what listens on a port, or will, by HTTP and WebSocket. Whoever has it reaches this port and no other."""
        wire = {"expires_in_seconds": expires_in_seconds}
        return PortLink.from_wire(await self._transport.send("POST", f"{self._path}/ports/{port}/link", wire))

    async def artifacts(self, *, exec_id: str | None = None, limit: int = 100) -> list[ArtifactInfo]:
        """Files of it that were signed, newest first."""
        wire = await self._transport.get(f"{self._path}/artifacts", {"exec": exec_id, "limit": limit})
        return [ArtifactInfo.from_wire(one) for one in wire["artifacts"]]

    async def sign(self, *paths: str) -> SignedArtifacts:
        """Signs files, and folders with all that is in them, as they are now."""
        wire = {"paths": list(paths)} if paths else {}
        return SignedArtifacts.from_wire(await self._transport.send("POST", f"{self._path}/artifacts", wire))

    async def artifact_manifest(self) -> ArtifactManifest:
        """The last of each signed file, under one signature."""
        return ArtifactManifest.from_wire(await self._transport.get(f"{self._path}/artifacts/manifest"))

    async def budget(self) -> BudgetInfo:
        """What it may use up in all, and has used."""
        return BudgetInfo.from_wire(await self._transport.get(f"{self._path}/budget"))

    async def set_budget(self, **limits: Unpack[BudgetLimits]) -> BudgetInfo:
        """A limit that is left out is lifted. Whoever is no administrator can only make a budget smaller."""
        return BudgetInfo.from_wire(await self._transport.send("PUT", f"{self._path}/budget", limits))

    async def install(self, manager: str, packages: Sequence[str], *, scripts: bool = False) -> Installation:
        """Installs packages in it, through its own policy. The manager is pip, npm or r; with `scripts` packages may run code of
        their own while they are installed."""
        wire = {"manager": manager, "packages": [*packages], "scripts": scripts}
        return Installation.from_wire(await self._transport.send("POST", f"{self._path}/packages", wire))

    async def bridge(self, name: str, **options: Unpack[BridgeOptions]) -> BridgeResult:
        """Carries the value of a variable between interpreters, or brings one in."""
        return BridgeResult.from_wire(await self._transport.send("POST", f"{self._path}/bridge", {"name": name, **options}))

    async def _change(self, verb: str) -> Self:
        return self._became(await self._transport.send("POST", f"{self._path}/{verb}", {}))

    def _became(self, wire: Any) -> Self:
        self.info = SandboxInfo.from_wire(wire)
        return self

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.info.id} {self.info.status}>"


class AsyncContexts:
    """The persistent interpreters of one sandbox."""

    def __init__(self, transport: AsyncTransport, sandbox_path: str) -> None:
        self._transport, self._path = transport, f"{sandbox_path}/contexts"

    async def create(self, language: str = "python", **options: Unpack[ContextOptions]) -> ContextInfo:
        """Starts an interpreter; returns when it is ready. Give its id as `context_id` to `run_code`."""
        return ContextInfo.from_wire(await self._transport.send("POST", self._path, {"language": language, **options}))

    async def list(self) -> list[ContextInfo]:
        return [ContextInfo.from_wire(one) for one in (await self._transport.get(self._path))["contexts"]]

    async def get(self, id: str) -> ContextInfo:
        return ContextInfo.from_wire(await self._transport.get(self._one(id)))

    async def interrupt(self, id: str) -> None:
        """Stops what runs and keeps all state."""
        await self._transport.send("POST", f"{self._one(id)}/interrupt", {})

    async def restart(self, id: str) -> ContextInfo:
        """Starts it afresh under the same id; all state is lost."""
        return ContextInfo.from_wire(await self._transport.send("POST", f"{self._one(id)}/restart", {}))

    async def delete(self, id: str) -> None:
        """Ends it and everything it started."""
        await self._transport.send("DELETE", self._one(id))

    def _one(self, id: str) -> str:
        return f"{self._path}/{segment(id, 'id')}"


class AsyncTerminals:
    """Shells that outlive those who look at them. Each is a command of the sandbox, with its id."""

    def __init__(self, transport: AsyncTransport, sandbox_path: str, follow: Callable[[str, int], AsyncExecStream]) -> None:
        self._transport, self._path, self._follow = transport, f"{sandbox_path}/terminals", follow

    async def open(self, **options: Unpack[TerminalOptions]) -> ExecInfo:
        """Starts a login shell, or what `command` says; `attach` to it to see it."""
        return ExecInfo.from_wire(await self._transport.send("POST", self._path, options))

    async def list(self) -> list[ExecInfo]:
        """Those that run and those that ended lately, newest first."""
        return [ExecInfo.from_wire(one) for one in (await self._transport.get(self._path))["execs"]]

    def attach(self, id: str, start: int = 0) -> AsyncExecStream:
        """Its screen from an offset on, then live; also `write` to it and `resize` it. What breaks off is gone on with, and
        closing leaves the shell running."""
        return self._follow(id, start)

    async def link(self, id: str, *, write: bool = False, expires_in_seconds: int = 3600) -> TerminalLink:
        """A link to its WebSocket, for xterm.js and its like: to look at, or to type as well."""
        wire = {"write": write, "expires_in_seconds": expires_in_seconds}
        return TerminalLink.from_wire(await self._transport.send("POST", f"{self._one(id)}/link", wire))

    async def end(self, id: str) -> None:
        """Ends it and everything it started."""
        await self._transport.send("DELETE", self._one(id))

    def _one(self, id: str) -> str:
        return f"{self._path}/{segment(id, 'id')}"


class AsyncEgress:
    """What one sandbox may reach."""

    def __init__(self, transport: AsyncTransport, sandbox_path: str) -> None:
        self._transport, self._path = transport, f"{sandbox_path}/egress"

    async def get(self) -> EgressInfo:
        return EgressInfo.from_wire(await self._transport.get(self._path))

    async def set(self, policy: NetworkPolicy) -> EgressInfo:
        """Holds at once; connections that are no longer allowed are cut."""
        return EgressInfo.from_wire(await self._transport.send("PUT", self._path, policy))

    async def decisions(self) -> list[EgressDecision]:
        """What was decided since its machine started, latest first."""
        wire = await self._transport.get(f"{self._path}/decisions")
        return [EgressDecision.from_wire(one) for one in wire["decisions"]]

    async def access(self, hosts: Sequence[str] = (), *, ttl_seconds: int = 14_400) -> EgressAccess:
        """A way to use the network as this sandbox from elsewhere, where the server is set up for it. The hosts are all that may
        be reached with it, within the policy; none: what that allows."""
        wire: dict[str, Any] = {"ttl_seconds": ttl_seconds}
        if hosts:
            wire["hosts"] = [*hosts]
        return EgressAccess.from_wire(await self._transport.send("POST", f"{self._path}/tokens", wire))
