# Written by sdks/generate.py from the file of this name in _async. Change that one.
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
from .files import Files
from .streams import CodeStream, EventStream, ExecStream, ResumedEvents, news, running, sse
from .transfers import Transfers
from .transport import Transport

if TYPE_CHECKING:
    from .client import Carrel

SANDBOXES = "/api/v1/sandboxes"


class Sandbox:
    """An isolated machine with files, commands and interpreters.

    Leaving its block deletes a sandbox that `create` made. One with a session key, or one that was looked up, lives on.
    """

    def __init__(self, transport: Transport, info: SandboxInfo, *, owned: bool = False, own_transport: bool = False) -> None:
        self._transport, self._owned, self._own_transport = transport, owned, own_transport
        self.info = info
        """As it was when the server last told; `refresh` asks again."""
        self._path = f"{SANDBOXES}/{info.id}"
        self.files = Files(transport, self._path)
        self.contexts = Contexts(transport, self._path)
        self.egress = Egress(transport, self._path)
        self.transfers = Transfers(transport, self._path)
        self.terminals = Terminals(transport, self._path, self.attach)

    @classmethod
    def create(
        cls, carrel: Carrel | None = None, *, idempotency_key: str | None = None, **options: Unpack[SandboxOptions]
    ) -> Self:
        """Starts a sandbox, or finds the one with this session key; returns once it runs.

        Without a client, CARREL_URL and CARREL_TOKEN name the server. An answer that is lost is asked for again: with a key of
        its own the request makes one sandbox however often it is sent.
        """
        transport = Transport(None, None) if carrel is None else carrel._transport
        try:
            wire = transport.send("POST", SANDBOXES, options, key=idempotency_key or str(uuid.uuid4()))
        except BaseException:
            if carrel is None:
                transport.close()
            raise
        owned = options.get("session_key") is None
        return cls(transport, SandboxInfo.from_wire(wire), owned=owned, own_transport=carrel is None)

    @classmethod
    def get(cls, id: str, carrel: Carrel | None = None) -> Self:
        """One that exists."""
        transport = Transport(None, None) if carrel is None else carrel._transport
        try:
            wire = transport.get(f"{SANDBOXES}/{segment(id, 'id')}")
        except BaseException:
            if carrel is None:
                transport.close()
            raise
        return cls(transport, SandboxInfo.from_wire(wire), own_transport=carrel is None)

    @property
    def id(self) -> str:
        return self.info.id

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Deletes the sandbox if `create` made it and it has no session key, and ends connections of its own."""
        try:
            if self._owned:
                self._owned = False
                self.delete()
        except CarrelError as e:
            if e.code != "sandbox_not_found":
                raise
        finally:
            if self._own_transport:
                self._transport.close()

    def delete(self) -> None:
        """Ends every process in it and removes all its files."""
        self._transport.send("DELETE", self._path)

    def refresh(self) -> Self:
        return self._became(self._transport.get(self._path))

    def update(self, **changes: Unpack[SandboxChanges]) -> Self:
        return self._became(self._transport.send("PATCH", self._path, changes))

    def start(self) -> Self:
        """Starts it again with its files when it has stopped or failed; lets it go on when paused."""
        return self._change("start")

    def stop(self) -> Self:
        """Ends its machine and keeps its files."""
        return self._change("stop")

    def pause(self) -> Self:
        """Holds every process where it is; the next call lets them go on."""
        return self._change("pause")

    def resume(self) -> Self:
        return self._change("resume")

    def fork(self) -> Self:
        """A new sandbox like this one, with the files of this moment."""
        wire = self._transport.send("POST", f"{self._path}/fork", {})
        return type(self)(self._transport, SandboxInfo.from_wire(wire), owned=True)

    def snapshot(self, name: str | None = None) -> SnapshotInfo:
        """Keeps its files as they are now."""
        wire = self._transport.send("POST", f"{self._path}/snapshots", {} if name is None else {"name": name})
        return SnapshotInfo.from_wire(wire)

    def snapshots(self) -> list[SnapshotInfo]:
        wire = self._transport.get(f"{self._path}/snapshots")
        return [SnapshotInfo.from_wire(one) for one in wire["snapshots"]]

    def restore(self, snapshot_id: str) -> Self:
        """Gives it the files of a snapshot in place of its own."""
        return self._became(self._transport.send("POST", f"{self._path}/restore", {"snapshot_id": snapshot_id}))

    def install_skills(self, skills: Sequence[str]) -> SkillInstallation:
        """Gives it skills by name or id; where one is in its place already, nothing is done."""
        return SkillInstallation.from_wire(self._transport.send("POST", f"{self._path}/skills", {"skill_ids": list(skills)}))

    def skills(self) -> list[InstalledSkill]:
        """What it was given, by name."""
        return [InstalledSkill.from_wire(one) for one in (self._transport.get(f"{self._path}/skills"))["skills"]]

    def exec(
        self, command: str | Sequence[str], *, idempotency_key: str | None = None, **options: Unpack[ExecOptions]
    ) -> ExecResult:
        """Runs a line of shell, or a program with its arguments, to its end. A command that fails is a result, not an error.

        With a key the command runs once however often it is asked for, and a lost answer is asked for again.
        """
        wire = self._transport.send("POST", f"{self._path}/exec", {"command": command, **options}, key=idempotency_key)
        return ExecResult.from_wire(wire)

    def exec_stream(
        self, command: str | Sequence[str], *, idempotency_key: str | None = None, **options: Unpack[ExecOptions]
    ) -> ExecStream:
        """Starts a command and follows it live."""
        wire = {"command": command, **options}
        events = running(self._transport, f"{self._path}/exec?encoding=base64", wire, key=idempotency_key, last="exited")
        return ExecStream(self._transport, self._path, events)

    def exec_background(
        self, command: str | Sequence[str], *, idempotency_key: str | None = None, **options: Unpack[ExecOptions]
    ) -> ExecInfo:
        """Starts a command that goes on by itself; follow it with `attach`."""
        wire = {"command": command, "background": True, **options}
        return ExecInfo.from_wire(self._transport.send("POST", f"{self._path}/exec", wire, key=idempotency_key))

    def execs(self) -> list[ExecInfo]:
        """Commands that run and those that ran lately, newest first."""
        return [ExecInfo.from_wire(one) for one in (self._transport.get(f"{self._path}/execs"))["execs"]]

    def attach(self, exec_id: str, start: int = 0) -> ExecStream:
        """Follows a command that was started before: its output from an offset on, then live."""
        path = f"{self._path}/execs/{segment(exec_id, 'exec_id')}/output"

        def opening(seen: int | None) -> httpx.Response:
            return self._transport.open("GET", path, headers=sse(None), params={"encoding": "base64", "from": seen or 0})

        events = ResumedEvents(opening, last="exited", resumable=True, seen=start)
        return ExecStream(self._transport, self._path, events, exec_id)

    def run_code(self, code: str, *, idempotency_key: str | None = None, **options: Unpack[CodeOptions]) -> CodeResult:
        """Runs code, Python unless `language` says otherwise, in a context that keeps its state. Code that fails is a result."""
        wire = self._transport.send("POST", f"{self._path}/code", {"code": code, **options}, key=idempotency_key)
        return CodeResult.from_wire(wire)

    def run_code_stream(self, code: str, *, idempotency_key: str | None = None, **options: Unpack[CodeOptions]) -> CodeStream:
        """Runs code and follows it live."""
        wire = {"code": code, **options}
        return CodeStream(running(self._transport, f"{self._path}/code", wire, key=idempotency_key, last="done"))

    def events(self, *, after: int | None = None) -> EventStream:
        """What happens to it, from now on or after an event that was seen."""
        return news(self._transport, f"{self._path}/events", after=after)

    def activity(self, limit: int = 50) -> list[ActivityInfo]:
        """What went on in it, newest first."""
        wire = self._transport.get(f"{self._path}/activity", {"limit": limit})
        return [ActivityInfo.from_wire(one) for one in wire["activity"]]

    def usage(self) -> SandboxUsage:
        """What it uses now; zeros when it does not run."""
        return SandboxUsage.from_wire(self._transport.get(f"{self._path}/usage"))

    def link(self, port: int, *, expires_in_seconds: int = 3600) -> PortLink:
        """A link to what listens on a port, or will, by HTTP and WebSocket. Whoever has it reaches this port and no other."""
        wire = {"expires_in_seconds": expires_in_seconds}
        return PortLink.from_wire(self._transport.send("POST", f"{self._path}/ports/{port}/link", wire))

    def artifacts(self, *, exec_id: str | None = None, limit: int = 100) -> list[ArtifactInfo]:
        """Files of it that were signed, newest first."""
        wire = self._transport.get(f"{self._path}/artifacts", {"exec": exec_id, "limit": limit})
        return [ArtifactInfo.from_wire(one) for one in wire["artifacts"]]

    def sign(self, *paths: str) -> SignedArtifacts:
        """Signs files, and folders with all that is in them, as they are now."""
        wire = {"paths": list(paths)} if paths else {}
        return SignedArtifacts.from_wire(self._transport.send("POST", f"{self._path}/artifacts", wire))

    def artifact_manifest(self) -> ArtifactManifest:
        """The last of each signed file, under one signature."""
        return ArtifactManifest.from_wire(self._transport.get(f"{self._path}/artifacts/manifest"))

    def budget(self) -> BudgetInfo:
        """What it may use up in all, and has used."""
        return BudgetInfo.from_wire(self._transport.get(f"{self._path}/budget"))

    def set_budget(self, **limits: Unpack[BudgetLimits]) -> BudgetInfo:
        """A limit that is left out is lifted. Whoever is no administrator can only make a budget smaller."""
        return BudgetInfo.from_wire(self._transport.send("PUT", f"{self._path}/budget", limits))

    def install(self, manager: str, packages: Sequence[str], *, scripts: bool = False) -> Installation:
        """Installs packages in it, through its own policy. The manager is pip, npm or r; with `scripts` packages may run code of
        their own while they are installed."""
        wire = {"manager": manager, "packages": [*packages], "scripts": scripts}
        return Installation.from_wire(self._transport.send("POST", f"{self._path}/packages", wire))

    def bridge(self, name: str, **options: Unpack[BridgeOptions]) -> BridgeResult:
        """Carries the value of a variable between interpreters, or brings one in."""
        return BridgeResult.from_wire(self._transport.send("POST", f"{self._path}/bridge", {"name": name, **options}))

    def _change(self, verb: str) -> Self:
        return self._became(self._transport.send("POST", f"{self._path}/{verb}", {}))

    def _became(self, wire: Any) -> Self:
        self.info = SandboxInfo.from_wire(wire)
        return self

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.info.id} {self.info.status}>"


class Contexts:
    """The persistent interpreters of one sandbox."""

    def __init__(self, transport: Transport, sandbox_path: str) -> None:
        self._transport, self._path = transport, f"{sandbox_path}/contexts"

    def create(self, language: str = "python", **options: Unpack[ContextOptions]) -> ContextInfo:
        """Starts an interpreter; returns when it is ready. Give its id as `context_id` to `run_code`."""
        return ContextInfo.from_wire(self._transport.send("POST", self._path, {"language": language, **options}))

    def list(self) -> list[ContextInfo]:
        return [ContextInfo.from_wire(one) for one in (self._transport.get(self._path))["contexts"]]

    def get(self, id: str) -> ContextInfo:
        return ContextInfo.from_wire(self._transport.get(self._one(id)))

    def interrupt(self, id: str) -> None:
        """Stops what runs and keeps all state."""
        self._transport.send("POST", f"{self._one(id)}/interrupt", {})

    def restart(self, id: str) -> ContextInfo:
        """Starts it afresh under the same id; all state is lost."""
        return ContextInfo.from_wire(self._transport.send("POST", f"{self._one(id)}/restart", {}))

    def delete(self, id: str) -> None:
        """Ends it and everything it started."""
        self._transport.send("DELETE", self._one(id))

    def _one(self, id: str) -> str:
        return f"{self._path}/{segment(id, 'id')}"


class Terminals:
    """Shells that outlive those who look at them. Each is a command of the sandbox, with its id."""

    def __init__(self, transport: Transport, sandbox_path: str, follow: Callable[[str, int], ExecStream]) -> None:
        self._transport, self._path, self._follow = transport, f"{sandbox_path}/terminals", follow

    def open(self, **options: Unpack[TerminalOptions]) -> ExecInfo:
        """Starts a login shell, or what `command` says; `attach` to it to see it."""
        return ExecInfo.from_wire(self._transport.send("POST", self._path, options))

    def list(self) -> list[ExecInfo]:
        """Those that run and those that ended lately, newest first."""
        return [ExecInfo.from_wire(one) for one in (self._transport.get(self._path))["execs"]]

    def attach(self, id: str, start: int = 0) -> ExecStream:
        """Its screen from an offset on, then live; also `write` to it and `resize` it. What breaks off is gone on with, and
        closing leaves the shell running."""
        return self._follow(id, start)

    def link(self, id: str, *, write: bool = False, expires_in_seconds: int = 3600) -> TerminalLink:
        """A link to its WebSocket, for xterm.js and its like: to look at, or to type as well."""
        wire = {"write": write, "expires_in_seconds": expires_in_seconds}
        return TerminalLink.from_wire(self._transport.send("POST", f"{self._one(id)}/link", wire))

    def end(self, id: str) -> None:
        """Ends it and everything it started."""
        self._transport.send("DELETE", self._one(id))

    def _one(self, id: str) -> str:
        return f"{self._path}/{segment(id, 'id')}"


class Egress:
    """What one sandbox may reach."""

    def __init__(self, transport: Transport, sandbox_path: str) -> None:
        self._transport, self._path = transport, f"{sandbox_path}/egress"

    def get(self) -> EgressInfo:
        return EgressInfo.from_wire(self._transport.get(self._path))

    def set(self, policy: NetworkPolicy) -> EgressInfo:
        """Holds at once; connections that are no longer allowed are cut."""
        return EgressInfo.from_wire(self._transport.send("PUT", self._path, policy))

    def decisions(self) -> list[EgressDecision]:
        """What was decided since its machine started, latest first."""
        wire = self._transport.get(f"{self._path}/decisions")
        return [EgressDecision.from_wire(one) for one in wire["decisions"]]

    def access(self, hosts: Sequence[str] = (), *, ttl_seconds: int = 14_400) -> EgressAccess:
        """A way to use the network as this sandbox from elsewhere, where the server is set up for it. The hosts are all that may
        be reached with it, within the policy; none: what that allows."""
        wire: dict[str, Any] = {"ttl_seconds": ttl_seconds}
        if hosts:
            wire["hosts"] = [*hosts]
        return EgressAccess.from_wire(self._transport.send("POST", f"{self._path}/tokens", wire))
