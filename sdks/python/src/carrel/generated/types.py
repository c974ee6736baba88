"""Written by sdks/generate.py from spec/openapi.yaml. Change the contract or the generator, not this file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypedDict, Union

from .._rich import RichDisplay, RichResult
from .._wire import Self, optional, time

__all__ = [
    "ActivityInfo",
    "ActivityList",
    "ApiKeyList",
    "ApprovalInfo",
    "ApprovalList",
    "ApprovalOptions",
    "ArtifactInfo",
    "ArtifactList",
    "ArtifactManifest",
    "AuditPage",
    "AuditProblem",
    "AuditRecord",
    "AuditVerdict",
    "BridgeOptions",
    "BridgeResult",
    "BudgetInfo",
    "BudgetLimits",
    "BulkFailure",
    "BulkOutcome",
    "CodeDone",
    "CodeError",
    "CodeGap",
    "CodeOptions",
    "CodeResult",
    "CodeStarted",
    "CodeState",
    "ContextInfo",
    "ContextList",
    "ContextOptions",
    "DecisionOptions",
    "DisplayOutput",
    "EgressAccess",
    "EgressDecision",
    "EgressInfo",
    "EngineInfo",
    "EngineList",
    "EnvelopeSignature",
    "ErrorCode",
    "Event",
    "EventList",
    "ExecCause",
    "ExecExited",
    "ExecInfo",
    "ExecList",
    "ExecOptions",
    "ExecOutput",
    "ExecResult",
    "ExecStarted",
    "ExportInfo",
    "ExportList",
    "ExportResult",
    "ExportedFile",
    "Failure",
    "FileChange",
    "FileEntry",
    "Finding",
    "GapEvent",
    "GlobOptions",
    "GlobResult",
    "GrepMatch",
    "GrepOptions",
    "GrepResult",
    "Health",
    "HostAccess",
    "HostContent",
    "HostEntry",
    "HostListing",
    "HostOptions",
    "HostResult",
    "HostWritten",
    "ImageBuilder",
    "ImageInfo",
    "ImageList",
    "ImageLock",
    "ImageProgress",
    "ImportResult",
    "ImportSource",
    "ImportedFile",
    "InstallPackages",
    "Installation",
    "InstalledPackage",
    "InstalledSkill",
    "InstalledSkillList",
    "Isolation",
    "KeyInfo",
    "KeyOptions",
    "Language",
    "LanguageInfo",
    "LanguageList",
    "Measure",
    "NetworkPolicy",
    "NewBudget",
    "OnDanger",
    "OnIdle",
    "OutputChunk",
    "OutputEvent",
    "Permission",
    "PoolInfo",
    "PoolSummary",
    "PortLink",
    "Problem",
    "PrunedImages",
    "QueueLine",
    "QueueStatus",
    "QueuedEvent",
    "Rootfs",
    "SandboxChanges",
    "SandboxInfo",
    "SandboxOptions",
    "SandboxPage",
    "SandboxSettings",
    "SandboxStatus",
    "SandboxUsage",
    "SecretInfo",
    "SecretList",
    "SecretOptions",
    "SettingsChanges",
    "SignedArtifacts",
    "SigningKey",
    "SkillDetails",
    "SkillFailure",
    "SkillFile",
    "SkillInfo",
    "SkillInstallation",
    "SkillList",
    "SkippedArtifact",
    "SnapshotInfo",
    "SnapshotList",
    "TerminalLink",
    "TerminalOptions",
    "TerminalSize",
    "TextEvent",
    "UsageList",
    "ValidateOptions",
    "Validation",
    "VolumeInfo",
    "VolumeList",
    "VolumeOptions",
    "WaitingRequest",
    "WatchChange",
    "WatchReady",
    "WebPage",
    "WebResult",
    "WebResults",
]

CodeState = Literal[
    "kept",
    "lost",
]
ErrorCode = Literal[
    "invalid_input",
    "unauthenticated",
    "forbidden",
    "not_found",
    "method_not_allowed",
    "sandbox_not_found",
    "exec_not_found",
    "context_not_found",
    "file_not_found",
    "volume_not_found",
    "snapshot_not_found",
    "secret_not_found",
    "approval_not_found",
    "key_not_found",
    "export_not_found",
    "upload_not_found",
    "skill_not_found",
    "image_not_found",
    "image_invalid",
    "image_source_failed",
    "language_not_available",
    "engine_not_available",
    "isolation_not_available",
    "not_supported",
    "key_reused",
    "not_a_file",
    "not_a_directory",
    "file_exists",
    "directory_not_empty",
    "permission_denied",
    "wrong_state",
    "precondition_failed",
    "range_not_satisfiable",
    "too_large",
    "no_space",
    "limit_reached",
    "egress_denied",
    "web_failed",
    "budget_exhausted",
    "port_closed",
    "app_failed",
    "sandbox_gone",
    "result_gone",
    "guest_lost",
    "engine_failed",
    "store_busy",
    "shutting_down",
    "vault_damaged",
    "internal",
]
ExecCause = Literal[
    "returned",
    "not_started",
    "timed_out",
    "killed",
    "signalled",
    "crashed",
    "out_of_memory",
    "pids_limit",
    "sandbox_lost",
]
Isolation = Literal[
    "none",
    "namespaces",
    "gvisor",
]
Language = Literal[
    "python",
    "node",
    "r",
    "bash",
]
OnDanger = Literal[
    "reject",
    "warn",
    "off",
]
OnIdle = Literal[
    "stop",
    "pause",
    "destroy",
]
Permission = Literal[
    "host",
]
Rootfs = Literal[
    "read-only",
    "overlay",
]
SandboxStatus = Literal[
    "creating",
    "running",
    "paused",
    "stopped",
    "failed",
]


@dataclass(frozen=True)
class ActivityInfo:
    """`Activity` of the contract."""
    id: int
    """The audit record's number."""
    at: datetime
    kind: str
    """Such as `exec`, `code`, `upload`, `download`, `install`, `create`, `start`, `pause`, `stop`, `failure`, `change`; others are the audit's action."""
    subject: str | None
    """The command, the path or the name that it was about."""
    principal: str
    """Who did it; `carrel` for the server itself."""
    outcome: str
    """One word, such as `ok` or `returned`."""
    exit_code: int | None
    duration_ms: float | None

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            id=wire["id"],
            at=time(wire["at"]),
            kind=wire["kind"],
            subject=wire["subject"],
            principal=wire["principal"],
            outcome=wire["outcome"],
            exit_code=wire["exit_code"],
            duration_ms=wire["duration_ms"],
        )


@dataclass(frozen=True)
class ActivityList:
    """`ActivityList` of the contract."""
    activity: list[ActivityInfo]

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            activity=(lambda items: [ActivityInfo.from_wire(item) for item in items])(wire["activity"]),
        )


@dataclass(frozen=True)
class KeyInfo:
    """`ApiKey` of the contract."""
    id: str
    name: str
    tenant: str
    principal: str
    role: Literal["user", "admin"]
    permissions: list[Permission]
    mask: str
    """Its beginning."""
    created_by: str
    created_at: datetime
    key: str | None
    """Told once."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            id=wire["id"],
            name=wire["name"],
            tenant=wire["tenant"],
            principal=wire["principal"],
            role=wire["role"],
            permissions=wire["permissions"],
            mask=wire["mask"],
            created_by=wire["created_by"],
            created_at=time(wire["created_at"]),
            key=wire["key"],
        )


@dataclass(frozen=True)
class ApiKeyList:
    """`ApiKeyList` of the contract."""
    keys: list[KeyInfo]

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            keys=(lambda items: [KeyInfo.from_wire(item) for item in items])(wire["keys"]),
        )


@dataclass(frozen=True)
class ApprovalInfo:
    """`Approval` of the contract."""
    id: str
    tenant: str
    namespace: str
    sandbox_id: str | None
    kind: Literal["egress", "host_command", "secret"]
    subject: str
    scope: Literal["once", "sandbox", "namespace"]
    reason: str
    requester: str
    status: Literal["pending", "approved", "denied", "expired", "withdrawn", "used"]
    created_at: datetime
    ends_at: datetime | None
    """When the request ends undecided, or what was granted."""
    decided_at: datetime | None
    decided_by: str | None
    note: str | None

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            id=wire["id"],
            tenant=wire["tenant"],
            namespace=wire["namespace"],
            sandbox_id=wire["sandbox_id"],
            kind=wire["kind"],
            subject=wire["subject"],
            scope=wire["scope"],
            reason=wire["reason"],
            requester=wire["requester"],
            status=wire["status"],
            created_at=time(wire["created_at"]),
            ends_at=optional(time, wire["ends_at"]),
            decided_at=optional(time, wire["decided_at"]),
            decided_by=wire["decided_by"],
            note=wire["note"],
        )


@dataclass(frozen=True)
class ApprovalList:
    """`ApprovalList` of the contract."""
    approvals: list[ApprovalInfo]

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            approvals=(lambda items: [ApprovalInfo.from_wire(item) for item in items])(wire["approvals"]),
        )


@dataclass(frozen=True)
class ArtifactInfo:
    """`Artifact` of the contract."""
    sandbox_id: str
    exec_id: str | None
    """What left it; null when somebody asked for it."""
    namespace: str
    path: str
    """Relative to /workspace, as the sandbox named it."""
    sha256: str
    size_bytes: int
    mime: str
    """By its name alone."""
    signature: str
    """Ed25519, base64, over the lines `carrel artifact 1`, the digest and the size, each with a newline."""
    key_id: str
    signed_at: datetime

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            sandbox_id=wire["sandbox_id"],
            exec_id=wire["exec_id"],
            namespace=wire["namespace"],
            path=wire["path"],
            sha256=wire["sha256"],
            size_bytes=wire["size_bytes"],
            mime=wire["mime"],
            signature=wire["signature"],
            key_id=wire["key_id"],
            signed_at=time(wire["signed_at"]),
        )


@dataclass(frozen=True)
class ArtifactList:
    """`ArtifactList` of the contract."""
    artifacts: list[ArtifactInfo]

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            artifacts=(lambda items: [ArtifactInfo.from_wire(item) for item in items])(wire["artifacts"]),
        )


@dataclass(frozen=True)
class ArtifactManifest:
    """`ArtifactManifest` of the contract."""
    payloadType: str
    payload: str
    """The statement as base64."""
    signatures: list[EnvelopeSignature]

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            payloadType=wire["payloadType"],
            payload=wire["payload"],
            signatures=(lambda items: [EnvelopeSignature.from_wire(item) for item in items])(wire["signatures"]),
        )


@dataclass(frozen=True)
class AuditPage:
    """`AuditPage` of the contract."""
    records: list[AuditRecord]
    next: int | None
    """For `before` (or `after`, when that was asked) of the next page; null after the last one."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            records=(lambda items: [AuditRecord.from_wire(item) for item in items])(wire["records"]),
            next=wire["next"],
        )


@dataclass(frozen=True)
class AuditProblem:
    """`AuditProblem` of the contract."""
    kind: Literal["changed", "missing", "truncated", "rewritten", "unsigned"]
    sequence: int
    message: str

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            kind=wire["kind"],
            sequence=wire["sequence"],
            message=wire["message"],
        )


@dataclass(frozen=True)
class AuditRecord:
    """`AuditRecord` of the contract."""
    sequence: int
    """Grows by one from record to record of this server."""
    at: datetime
    tenant: str
    """Whose thing it was done to."""
    principal: str
    """Who did it; `carrel` is the server itself; one of another tenant as `TENANT/PRINCIPAL`."""
    namespace: str
    sandbox_id: str | None
    action: str
    subject: str | None
    """The id of an exec or context, a path, a name."""
    request_digest: str | None
    """SHA-256 of the request in hex."""
    cause: str
    """How it ended: `ok`, or the cause as the answer gave it."""
    exit_code: int | None
    duration_ms: float | None
    stdout: str | None
    """Its beginning and its end."""
    stderr: str | None
    files_changed: list[FileChange]
    """The first 50."""
    isolation: str | None
    """What really held the sandbox."""
    details: dict[str, str]
    hash: str
    """SHA-256 in hex, over this record and the hash of the one before."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            sequence=wire["sequence"],
            at=time(wire["at"]),
            tenant=wire["tenant"],
            principal=wire["principal"],
            namespace=wire["namespace"],
            sandbox_id=wire["sandbox_id"],
            action=wire["action"],
            subject=wire["subject"],
            request_digest=wire["request_digest"],
            cause=wire["cause"],
            exit_code=wire["exit_code"],
            duration_ms=wire["duration_ms"],
            stdout=wire["stdout"],
            stderr=wire["stderr"],
            files_changed=(lambda items: [FileChange.from_wire(item) for item in items])(wire["files_changed"]),
            isolation=wire["isolation"],
            details=wire["details"],
            hash=wire["hash"],
        )


@dataclass(frozen=True)
class AuditVerdict:
    """`AuditVerdict` of the contract."""
    intact: bool
    records: int
    first: int
    """Records before it were removed by retention, which is signed."""
    last: int
    checkpoints: int
    """Signatures that agreed with the chain."""
    problems: list[AuditProblem]

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            intact=wire["intact"],
            records=wire["records"],
            first=wire["first"],
            last=wire["last"],
            checkpoints=wire["checkpoints"],
            problems=(lambda items: [AuditProblem.from_wire(item) for item in items])(wire["problems"]),
        )


@dataclass(frozen=True)
class BridgeResult:
    """`BridgeResult` of the contract."""
    success: bool
    sandbox_id: str
    language: str
    name: str
    size_bytes: int
    value: Any
    """What the variable holds."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            success=wire["success"],
            sandbox_id=wire["sandbox_id"],
            language=wire["language"],
            name=wire["name"],
            size_bytes=wire["size_bytes"],
            value=wire["value"],
        )


@dataclass(frozen=True)
class BudgetInfo:
    """`Budget` of the contract."""
    scope: Literal["sandbox", "namespace"]
    name: str
    cpu_seconds: int | None
    """null: no limit."""
    egress_bytes: int | None
    executions: int | None
    cpu_seconds_used: float
    egress_bytes_used: int
    executions_used: int

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            scope=wire["scope"],
            name=wire["name"],
            cpu_seconds=wire["cpu_seconds"],
            egress_bytes=wire["egress_bytes"],
            executions=wire["executions"],
            cpu_seconds_used=wire["cpu_seconds_used"],
            egress_bytes_used=wire["egress_bytes_used"],
            executions_used=wire["executions_used"],
        )


@dataclass(frozen=True)
class BulkFailure:
    """`BulkFailure` of the contract."""
    sandbox_id: str
    code: str
    message: str

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            sandbox_id=wire["sandbox_id"],
            code=wire["code"],
            message=wire["message"],
        )


@dataclass(frozen=True)
class BulkOutcome:
    """`BulkOutcome` of the contract."""
    stopped: int
    destroyed: int
    skipped: int
    errors: list[BulkFailure]
    left: int
    """How many more the filter finds. Ask again, with a `status` that those seen to no longer have."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            stopped=wire["stopped"],
            destroyed=wire["destroyed"],
            skipped=wire["skipped"],
            errors=(lambda items: [BulkFailure.from_wire(item) for item in items])(wire["errors"]),
            left=wire["left"],
        )


@dataclass(frozen=True)
class CodeDone:
    """`CodeDone` of the contract."""
    success: bool
    context_id: str
    language: Language
    execution_count: int
    stdout_bytes: int
    stderr_bytes: int
    cause: ExecCause
    timed_out: bool
    interrupted: bool
    truncated: bool
    state: CodeState
    queued_ms: float
    """How long it waited for its turn."""
    duration_ms: float
    hint: str | None

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            success=wire["success"],
            context_id=wire["context_id"],
            language=wire["language"],
            execution_count=wire["execution_count"],
            stdout_bytes=wire["stdout_bytes"],
            stderr_bytes=wire["stderr_bytes"],
            cause=wire["cause"],
            timed_out=wire["timed_out"],
            interrupted=wire["interrupted"],
            truncated=wire["truncated"],
            state=wire["state"],
            queued_ms=wire["queued_ms"],
            duration_ms=wire["duration_ms"],
            hint=wire["hint"],
        )


@dataclass(frozen=True)
class CodeError:
    """`CodeError` of the contract."""
    type: str
    message: str
    traceback: str

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            type=wire["type"],
            message=wire["message"],
            traceback=wire["traceback"],
        )


@dataclass(frozen=True)
class CodeGap:
    """`CodeGap` of the contract."""
    events: int
    """How many events are no longer kept."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            events=wire["events"],
        )


@dataclass(frozen=True)
class CodeResult(RichResult):
    """`CodeResult` of the contract."""
    success: bool
    context_id: str
    language: Language
    execution_count: int
    """Cells run since the state began."""
    stdout: str
    stderr: str
    stdout_bytes: int
    stderr_bytes: int
    stdout_truncated: bool
    stderr_truncated: bool
    result: dict[str, str] | None
    display_outputs: list[DisplayOutput]
    error: CodeError | None
    cause: ExecCause
    timed_out: bool
    interrupted: bool
    truncated: bool
    """A result, traceback or display was cut or left out."""
    state: CodeState
    queued_ms: float
    """How long it waited for its turn."""
    duration_ms: float
    hint: str | None

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            success=wire["success"],
            context_id=wire["context_id"],
            language=wire["language"],
            execution_count=wire["execution_count"],
            stdout=wire["stdout"],
            stderr=wire["stderr"],
            stdout_bytes=wire["stdout_bytes"],
            stderr_bytes=wire["stderr_bytes"],
            stdout_truncated=wire["stdout_truncated"],
            stderr_truncated=wire["stderr_truncated"],
            result=wire["result"],
            display_outputs=(lambda items: [DisplayOutput.from_wire(item) for item in items])(wire["display_outputs"]),
            error=optional(CodeError.from_wire, wire["error"]),
            cause=wire["cause"],
            timed_out=wire["timed_out"],
            interrupted=wire["interrupted"],
            truncated=wire["truncated"],
            state=wire["state"],
            queued_ms=wire["queued_ms"],
            duration_ms=wire["duration_ms"],
            hint=wire["hint"],
        )


@dataclass(frozen=True)
class CodeStarted:
    """`CodeStarted` of the contract."""
    queued_ms: float
    """How long it waited for its turn."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            queued_ms=wire["queued_ms"],
        )


@dataclass(frozen=True)
class ContextInfo:
    """`Context` of the contract."""
    id: str
    sandbox_id: str
    language: Language
    language_version: str | None
    """Of the interpreter."""
    flavour: str | None
    """`plain` or `ipython`."""
    start: Literal["zygote", "cold"] | None
    """How its present interpreter came to be: forked from a warm one, or started from scratch, as always in an `isolated` sandbox."""
    status: Literal["idle", "busy", "dead", "lost"]
    """dead, or lost with its machine: the next execution starts a fresh interpreter and says so."""
    is_default: bool
    """Whether code without a context_id runs here."""
    execution_count: int
    queued: int
    """Executions that wait."""
    created_at: datetime
    last_used_at: datetime

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            id=wire["id"],
            sandbox_id=wire["sandbox_id"],
            language=wire["language"],
            language_version=wire["language_version"],
            flavour=wire["flavour"],
            start=wire["start"],
            status=wire["status"],
            is_default=wire["is_default"],
            execution_count=wire["execution_count"],
            queued=wire["queued"],
            created_at=time(wire["created_at"]),
            last_used_at=time(wire["last_used_at"]),
        )


@dataclass(frozen=True)
class ContextList:
    """`ContextList` of the contract."""
    contexts: list[ContextInfo]

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            contexts=(lambda items: [ContextInfo.from_wire(item) for item in items])(wire["contexts"]),
        )


@dataclass(frozen=True)
class DisplayOutput(RichDisplay):
    """The richest type of one figure or display call."""
    type: str
    data: str
    """Text, or base64 of what is not text."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            type=wire["type"],
            data=wire["data"],
        )


@dataclass(frozen=True)
class EgressInfo:
    """`Egress` of the contract."""
    policy: NetworkPolicy
    granted: list[str]
    """What a person allows beyond the policy."""
    sent_bytes: int
    received_bytes: int
    draft: NetworkPolicy
    """The least policy that allows what passed lately."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            policy=NetworkPolicy.from_wire(wire["policy"]),
            granted=wire["granted"],
            sent_bytes=wire["sent_bytes"],
            received_bytes=wire["received_bytes"],
            draft=NetworkPolicy.from_wire(wire["draft"]),
        )


@dataclass(frozen=True)
class EgressAccess:
    """A way to use the network as a sandbox from elsewhere."""
    proxy_url: str
    """It has the secret in it and is not shown again."""
    expires_at: datetime

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            proxy_url=wire["proxy_url"],
            expires_at=time(wire["expires_at"]),
        )


@dataclass(frozen=True)
class EgressDecision:
    """`EgressDecision` of the contract."""
    outcome: Literal["allowed", "denied", "observed", "failed"]
    protocol: Literal["http", "https", "connect", "socks"]
    """`https`: a request that the proxy has read, to a host that a secret is bound to."""
    host: str
    port: int
    method: str | None
    path: str | None
    """Of the last request, without its query."""
    reason: Literal["not_allowed", "denied", "port", "method_or_path", "address", "no_tls", "tls_name", "tls_hidden_name", "budget", "canary", "token", "malformed", "too_many", "unresolved", "unreachable", "tls_failed", "timed_out"] | None
    rule: str | None
    """What decided it; null: that nothing allowed it."""
    detail: str
    count: int
    first_at: datetime
    last_at: datetime

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            outcome=wire["outcome"],
            protocol=wire["protocol"],
            host=wire["host"],
            port=wire["port"],
            method=wire["method"],
            path=wire["path"],
            reason=wire["reason"],
            rule=wire["rule"],
            detail=wire["detail"],
            count=wire["count"],
            first_at=time(wire["first_at"]),
            last_at=time(wire["last_at"]),
        )


@dataclass(frozen=True)
class EngineInfo:
    """`Engine` of the contract."""
    name: str
    runtime: str
    usable: bool
    isolation: Isolation
    isolation_measures: list[Measure]
    problems: list[str]
    """Why it is not usable or not stronger, each with what to do."""
    rootfs: list[Rootfs]
    """What can be asked for when creating a sandbox."""
    overlay_problem: str | None
    """Why its sandboxes cannot have a writable root, and what to do; null: they can."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            name=wire["name"],
            runtime=wire["runtime"],
            usable=wire["usable"],
            isolation=wire["isolation"],
            isolation_measures=(lambda items: [Measure.from_wire(item) for item in items])(wire["isolation_measures"]),
            problems=wire["problems"],
            rootfs=wire["rootfs"],
            overlay_problem=wire["overlay_problem"],
        )


@dataclass(frozen=True)
class EngineList:
    """`EngineList` of the contract."""
    engines: list[EngineInfo]
    builders: list[ImageBuilder]

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            engines=(lambda items: [EngineInfo.from_wire(item) for item in items])(wire["engines"]),
            builders=(lambda items: [ImageBuilder.from_wire(item) for item in items])(wire["builders"]),
        )


@dataclass(frozen=True)
class EnvelopeSignature:
    """`EnvelopeSignature` of the contract."""
    keyid: str
    sig: str
    """Ed25519, base64, over the pre-authentication encoding of DSSE."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            keyid=wire["keyid"],
            sig=wire["sig"],
        )


@dataclass(frozen=True)
class Event:
    """`Event` of the contract."""
    id: int
    """Grows from event to event."""
    at: datetime
    kind: Literal["sandbox.created", "sandbox.started", "sandbox.paused", "sandbox.resumed", "sandbox.stopped", "sandbox.failed", "sandbox.destroyed", "sandbox.expiring", "sandbox.restored", "snapshot.created", "events.missed", "events.dropped", "execution.started", "execution.completed", "execution.failed", "execution.timeout", "session.created", "session.killed", "package.installed", "egress.allowed", "egress.denied", "egress.observed", "egress.failed", "egress.requested", "egress.approved", "egress.expired", "egress.withdrawn", "egress.used", "host_command.requested", "host_command.approved", "host_command.denied", "host_command.expired", "host_command.withdrawn", "host_command.used", "secret.requested", "secret.approved", "secret.denied", "secret.expired", "secret.withdrawn", "secret.used", "vault.accessed", "secret.canary", "resource.exceeded", "artifact.signed", "queue.backpressure", "sandbox.policy", "skill.added", "skill.updated", "skill.deleted", "skill.installed"]
    namespace: str
    """Empty when it is about none."""
    sandbox_id: str | None
    details: dict[str, str]
    """For example `cause`; of `sandbox.expiring` also `at` and `then`. What has `approval` is about a request for an approval: `egress.denied` without it is a connection that was refused."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            id=wire["id"],
            at=time(wire["at"]),
            kind=wire["kind"],
            namespace=wire["namespace"],
            sandbox_id=wire["sandbox_id"],
            details=wire["details"],
        )


@dataclass(frozen=True)
class EventList:
    """`EventList` of the contract."""
    events: list[Event]

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            events=(lambda items: [Event.from_wire(item) for item in items])(wire["events"]),
        )


@dataclass(frozen=True)
class ExecInfo:
    """`Exec` of the contract."""
    id: str
    sandbox_id: str
    command: list[str]
    cwd: str | None
    status: Literal["running", "exited"]
    background: bool
    terminal: bool
    pid: int
    """Inside the sandbox."""
    started_at: datetime
    ended_at: datetime | None
    output_bytes: int
    exit_code: int | None
    signal: int | None
    cause: ExecCause | None
    duration_ms: float | None

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            id=wire["id"],
            sandbox_id=wire["sandbox_id"],
            command=wire["command"],
            cwd=wire["cwd"],
            status=wire["status"],
            background=wire["background"],
            terminal=wire["terminal"],
            pid=wire["pid"],
            started_at=time(wire["started_at"]),
            ended_at=optional(time, wire["ended_at"]),
            output_bytes=wire["output_bytes"],
            exit_code=wire["exit_code"],
            signal=wire["signal"],
            cause=wire["cause"],
            duration_ms=wire["duration_ms"],
        )


@dataclass(frozen=True)
class ExecExited:
    """`ExecExited` of the contract."""
    id: str
    exit_code: int
    signal: int | None
    cause: ExecCause
    timed_out: bool
    output_bytes: int
    queued_ms: float
    """How long it waited for its turn."""
    duration_ms: float
    cpu_ms: float
    max_rss_bytes: int
    processes_left: int
    """Descendants that are still alive."""
    files_changed: list[FileChange]
    files_changed_truncated: bool
    artifacts: list[ArtifactInfo]
    """What it left in /workspace/outputs, or was named, signed."""
    artifacts_skipped: list[SkippedArtifact]
    artifacts_truncated: bool
    """There was more than is signed at once."""
    message: str | None
    hint: str | None

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            id=wire["id"],
            exit_code=wire["exit_code"],
            signal=wire["signal"],
            cause=wire["cause"],
            timed_out=wire["timed_out"],
            output_bytes=wire["output_bytes"],
            queued_ms=wire["queued_ms"],
            duration_ms=wire["duration_ms"],
            cpu_ms=wire["cpu_ms"],
            max_rss_bytes=wire["max_rss_bytes"],
            processes_left=wire["processes_left"],
            files_changed=(lambda items: [FileChange.from_wire(item) for item in items])(wire["files_changed"]),
            files_changed_truncated=wire["files_changed_truncated"],
            artifacts=(lambda items: [ArtifactInfo.from_wire(item) for item in items])(wire["artifacts"]),
            artifacts_skipped=(lambda items: [SkippedArtifact.from_wire(item) for item in items])(wire["artifacts_skipped"]),
            artifacts_truncated=wire["artifacts_truncated"],
            message=wire["message"],
            hint=wire["hint"],
        )


@dataclass(frozen=True)
class ExecList:
    """`ExecList` of the contract."""
    execs: list[ExecInfo]

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            execs=(lambda items: [ExecInfo.from_wire(item) for item in items])(wire["execs"]),
        )


@dataclass(frozen=True)
class ExecOutput:
    """`ExecOutput` of the contract."""
    from_: int
    """Offset of the first byte here."""
    next_offset: int
    """Where to go on."""
    end: int
    """Bytes written so far."""
    lost_bytes: int
    """Between the asked offset and the first byte here; no longer kept."""
    running: bool
    encoding: Literal["utf-8", "base64"]
    chunks: list[OutputChunk]

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            from_=wire["from"],
            next_offset=wire["next_offset"],
            end=wire["end"],
            lost_bytes=wire["lost_bytes"],
            running=wire["running"],
            encoding=wire["encoding"],
            chunks=(lambda items: [OutputChunk.from_wire(item) for item in items])(wire["chunks"]),
        )


@dataclass(frozen=True)
class ExecResult:
    """`ExecResult` of the contract."""
    id: str
    exit_code: int
    """For a signal 128 and its number."""
    signal: int | None
    cause: ExecCause
    timed_out: bool
    stdout: str
    stderr: str
    stdout_bytes: int
    """All that was written."""
    stderr_bytes: int
    stdout_truncated: bool
    """The rest is at …/execs/{eid}/output."""
    stderr_truncated: bool
    output_bytes: int
    """Of both streams."""
    queued_ms: float
    """How long it waited for its turn."""
    duration_ms: float
    files_changed: list[FileChange]
    files_changed_truncated: bool
    artifacts: list[ArtifactInfo]
    """What it left in /workspace/outputs, or was named, signed."""
    artifacts_skipped: list[SkippedArtifact]
    artifacts_truncated: bool
    """There was more than is signed at once."""
    message: str | None
    """Why it could not be started."""
    hint: str | None
    """What to do about the cause."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            id=wire["id"],
            exit_code=wire["exit_code"],
            signal=wire["signal"],
            cause=wire["cause"],
            timed_out=wire["timed_out"],
            stdout=wire["stdout"],
            stderr=wire["stderr"],
            stdout_bytes=wire["stdout_bytes"],
            stderr_bytes=wire["stderr_bytes"],
            stdout_truncated=wire["stdout_truncated"],
            stderr_truncated=wire["stderr_truncated"],
            output_bytes=wire["output_bytes"],
            queued_ms=wire["queued_ms"],
            duration_ms=wire["duration_ms"],
            files_changed=(lambda items: [FileChange.from_wire(item) for item in items])(wire["files_changed"]),
            files_changed_truncated=wire["files_changed_truncated"],
            artifacts=(lambda items: [ArtifactInfo.from_wire(item) for item in items])(wire["artifacts"]),
            artifacts_skipped=(lambda items: [SkippedArtifact.from_wire(item) for item in items])(wire["artifacts_skipped"]),
            artifacts_truncated=wire["artifacts_truncated"],
            message=wire["message"],
            hint=wire["hint"],
        )


@dataclass(frozen=True)
class ExecStarted:
    """`ExecStarted` of the contract."""
    id: str
    pid: int
    offset: int
    """Of the first byte that follows."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            id=wire["id"],
            pid=wire["pid"],
            offset=wire["offset"],
        )


@dataclass(frozen=True)
class ExportInfo:
    """`ExportInfo` of the contract."""
    id: str
    path: str
    created_at: datetime

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            id=wire["id"],
            path=wire["path"],
            created_at=time(wire["created_at"]),
        )


@dataclass(frozen=True)
class ExportList:
    """`ExportList` of the contract."""
    items: list[ExportInfo]

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            items=(lambda items: [ExportInfo.from_wire(item) for item in items])(wire["items"]),
        )


@dataclass(frozen=True)
class ExportResult:
    """`ExportResult` of the contract."""
    success: bool
    """All can be fetched."""
    files: list[ExportedFile]
    error: str

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            success=wire["success"],
            files=(lambda items: [ExportedFile.from_wire(item) for item in items])(wire["files"]),
            error=wire["error"],
        )


@dataclass(frozen=True)
class ExportedFile:
    """`ExportedFile` of the contract."""
    id: str | None
    path: str
    success: bool
    type: str | None
    """`file` or `dir`."""
    size: int | None
    """Of a folder, of the files in it; null when there are more than 100,000."""
    download_url: str | None
    """Anybody who has it can fetch; a folder as a zip, or with `&format=tar`."""
    expires_at: datetime | None
    error: str | None
    code: str | None

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            id=wire["id"],
            path=wire["path"],
            success=wire["success"],
            type=wire["type"],
            size=wire["size"],
            download_url=wire["download_url"],
            expires_at=optional(time, wire["expires_at"]),
            error=wire["error"],
            code=wire["code"],
        )


@dataclass(frozen=True)
class Failure:
    """Why it failed or died."""
    cause: str
    message: str
    hint: str

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            cause=wire["cause"],
            message=wire["message"],
            hint=wire["hint"],
        )


@dataclass(frozen=True)
class FileChange:
    """`FileChange` of the contract."""
    path: str
    """Relative to /workspace."""
    action: Literal["created", "modified", "deleted"]
    size_bytes: int
    type: Literal["file", "dir"]

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            path=wire["path"],
            action=wire["action"],
            size_bytes=wire["size_bytes"],
            type=wire["type"],
        )


@dataclass(frozen=True)
class FileEntry:
    """`FileEntry` of the contract."""
    name: str
    path: str
    type: Literal["file", "dir", "link", "other"]
    size: int
    mode: str
    """Permission bits in octal."""
    modified_at: datetime
    target: str | None
    """Of a symbolic link."""
    etag: str

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            name=wire["name"],
            path=wire["path"],
            type=wire["type"],
            size=wire["size"],
            mode=wire["mode"],
            modified_at=time(wire["modified_at"]),
            target=wire["target"],
            etag=wire["etag"],
        )


@dataclass(frozen=True)
class Finding:
    """`Finding` of the contract."""
    rule: str
    severity: Literal["error", "critical", "high", "medium", "info"]
    line: int
    """From 1; 0: not known."""
    column: int
    """From 1; 0: not known."""
    message: str

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            rule=wire["rule"],
            severity=wire["severity"],
            line=wire["line"],
            column=wire["column"],
            message=wire["message"],
        )


@dataclass(frozen=True)
class GapEvent:
    """`GapEvent` of the contract."""
    bytes: int
    """Lost between what was asked for and what follows."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            bytes=wire["bytes"],
        )


@dataclass(frozen=True)
class GlobResult:
    """`GlobResult` of the contract."""
    entries: list[FileEntry]
    truncated: bool

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            entries=(lambda items: [FileEntry.from_wire(item) for item in items])(wire["entries"]),
            truncated=wire["truncated"],
        )


@dataclass(frozen=True)
class GrepMatch:
    """`GrepMatch` of the contract."""
    path: str
    line: int
    text: str
    context: bool
    """A neighbour, not itself a match."""
    cut: bool
    """The line is longer than what is shown."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            path=wire["path"],
            line=wire["line"],
            text=wire["text"],
            context=wire["context"],
            cut=wire["cut"],
        )


@dataclass(frozen=True)
class GrepResult:
    """`GrepResult` of the contract."""
    matches: list[GrepMatch]
    truncated: bool
    files: int
    match_count: int

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            matches=(lambda items: [GrepMatch.from_wire(item) for item in items])(wire["matches"]),
            truncated=wire["truncated"],
            files=wire["files"],
            match_count=wire["match_count"],
        )


@dataclass(frozen=True)
class Health:
    """`Health` of the contract."""
    status: str
    version: str

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            status=wire["status"],
            version=wire["version"],
        )


@dataclass(frozen=True)
class HostAccess:
    """`HostAccess` of the contract."""
    always_allowed: list[str]
    """Patterns of commands that nobody is asked about."""
    blocked: list[str]
    """Patterns of commands that nobody can allow."""
    folders: list[str]
    """Whose files may be read."""
    writable_folders: list[str]
    """Whose files may be read and written."""
    approvals: list[ApprovalInfo]
    """Those that wait or are in force."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            always_allowed=wire["always_allowed"],
            blocked=wire["blocked"],
            folders=wire["folders"],
            writable_folders=wire["writable_folders"],
            approvals=(lambda items: [ApprovalInfo.from_wire(item) for item in items])(wire["approvals"]),
        )


@dataclass(frozen=True)
class HostContent:
    """`HostContent` of the contract."""
    path: str
    content: str
    base64: bool
    size: int
    """Of the whole file."""
    truncated: bool
    """Whether there is more after this."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            path=wire["path"],
            content=wire["content"],
            base64=wire["base64"],
            size=wire["size"],
            truncated=wire["truncated"],
        )


@dataclass(frozen=True)
class HostEntry:
    """`HostEntry` of the contract."""
    name: str
    path: str
    kind: Literal["file", "directory", "link", "other"]
    size: int
    modified_at: datetime

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            name=wire["name"],
            path=wire["path"],
            kind=wire["kind"],
            size=wire["size"],
            modified_at=time(wire["modified_at"]),
        )


@dataclass(frozen=True)
class HostListing:
    """`HostListing` of the contract."""
    files: list[HostEntry]

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            files=(lambda items: [HostEntry.from_wire(item) for item in items])(wire["files"]),
        )


@dataclass(frozen=True)
class HostResult:
    """`HostResult` of the contract."""
    exit_code: int
    """128 and the signal, when one ended it."""
    stdout: str
    stderr: str
    timed_out: bool
    truncated: bool
    """Whether there was more output than is kept."""
    duration_ms: int

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            exit_code=wire["exit_code"],
            stdout=wire["stdout"],
            stderr=wire["stderr"],
            timed_out=wire["timed_out"],
            truncated=wire["truncated"],
            duration_ms=wire["duration_ms"],
        )


@dataclass(frozen=True)
class HostWritten:
    """`HostWritten` of the contract."""
    path: str
    size: int

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            path=wire["path"],
            size=wire["size"],
        )


@dataclass(frozen=True)
class ImageInfo:
    """`Image` of the contract."""
    name: str
    source: Literal["host", "folder", "catalog", "registry", "archive", "sandbox"]
    origin: str
    """What it was made from: a recipe, a reference, a folder."""
    status: Literal["available", "building", "ready", "failed"]
    """Of the last attempt; one that failed leaves what was there."""
    digest: str | None
    """Of its root; null when its files are not kept by the server."""
    size_bytes: int
    """Of the files that a sandbox sees."""
    languages: list[str]
    """Whose interpreters it has."""
    engines: list[str]
    """That can start a sandbox on it now."""
    usable: bool
    failure: str | None
    """Why the last attempt failed."""
    updated_at: datetime | None

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            name=wire["name"],
            source=wire["source"],
            origin=wire["origin"],
            status=wire["status"],
            digest=wire["digest"],
            size_bytes=wire["size_bytes"],
            languages=wire["languages"],
            engines=wire["engines"],
            usable=wire["usable"],
            failure=wire["failure"],
            updated_at=optional(time, wire["updated_at"]),
        )


@dataclass(frozen=True)
class ImageBuilder:
    """One way to build images of the catalog."""
    name: str
    usable: bool
    used: bool
    """Whether a build would go this way now."""
    detail: str
    """Where it is, or what it begins with; where it cannot be used, why and what to do."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            name=wire["name"],
            usable=wire["usable"],
            used=wire["used"],
            detail=wire["detail"],
        )


@dataclass(frozen=True)
class ImageList:
    """`ImageList` of the contract."""
    images: list[ImageInfo]
    disk_bytes: int

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            images=(lambda items: [ImageInfo.from_wire(item) for item in items])(wire["images"]),
            disk_bytes=wire["disk_bytes"],
        )


@dataclass(frozen=True)
class ImageLock:
    """Exactly what an image was built of."""
    image: str
    """Name in the catalog."""
    release: str
    """Codename of the distribution's release."""
    architecture: str
    source_date_epoch: int
    """Seconds; no file of the image is newer."""
    packages: list[str]
    """All that are installed, such as adduser:all=3.134."""
    snapshot: str | None = None
    """Where its packages came from; null: the host's own sources."""
    digest: str | None = None
    """Of the image that came of it."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            image=wire["image"],
            release=wire["release"],
            architecture=wire["architecture"],
            source_date_epoch=wire["source_date_epoch"],
            packages=wire["packages"],
            snapshot=wire["snapshot"],
            digest=wire["digest"],
        )

    def to_wire(self) -> dict[str, Any]:
        return {
            "image": self.image,
            "release": self.release,
            "architecture": self.architecture,
            "source_date_epoch": self.source_date_epoch,
            "packages": list(self.packages),
            "snapshot": self.snapshot,
            "digest": self.digest,
        }


@dataclass(frozen=True)
class ImageProgress:
    """How far the work on an image is."""
    step: str
    done: int
    total: int | None
    """Null when nobody knows."""
    log: list[str]
    """New lines."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            step=wire["step"],
            done=wire["done"],
            total=wire["total"],
            log=wire["log"],
        )


@dataclass(frozen=True)
class ImportResult:
    """`ImportResult` of the contract."""
    success: bool
    """All came."""
    files: list[ImportedFile]
    error: str

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            success=wire["success"],
            files=(lambda items: [ImportedFile.from_wire(item) for item in items])(wire["files"]),
            error=wire["error"],
        )


@dataclass(frozen=True)
class ImportedFile:
    """`ImportedFile` of the contract."""
    source: str
    destination: str
    success: bool
    files: int
    size: int
    """Bytes of all files."""
    skipped: int
    """Links and the like that were left out of a folder."""
    error: str | None
    code: str | None

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            source=wire["source"],
            destination=wire["destination"],
            success=wire["success"],
            files=wire["files"],
            size=wire["size"],
            skipped=wire["skipped"],
            error=wire["error"],
            code=wire["code"],
        )


@dataclass(frozen=True)
class InstallPackages:
    """`InstallPackages` of the contract."""
    manager: Literal["pip", "npm", "r"]
    packages: list[str]
    """Names with or without a version, `six==1.17.0` or `is-odd@3.0.1`; no addresses, paths or options."""
    scripts: bool = False
    """Let packages run code of their own while they are installed: npm's scripts, builds of Python's source distributions."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            manager=wire["manager"],
            packages=wire["packages"],
            scripts=wire["scripts"],
        )

    def to_wire(self) -> dict[str, Any]:
        return {
            "manager": self.manager,
            "packages": list(self.packages),
            "scripts": self.scripts,
        }


@dataclass(frozen=True)
class Installation:
    """`Installation` of the contract."""
    manager: str
    success: bool
    """The client said so and every package is there."""
    packages: list[InstalledPackage]
    """Those asked for, as they are now."""
    resolved: list[InstalledPackage]
    """All that was chosen to be installed for them, with what they depend on."""
    files_cached: int
    """How many of their files the server had already."""
    files_fetched: int
    """How many of them it fetched now, and has from now on."""
    exit_code: int
    timed_out: bool
    stdout: str
    stderr: str
    duration_ms: float
    exec_id: str

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            manager=wire["manager"],
            success=wire["success"],
            packages=(lambda items: [InstalledPackage.from_wire(item) for item in items])(wire["packages"]),
            resolved=(lambda items: [InstalledPackage.from_wire(item) for item in items])(wire["resolved"]),
            files_cached=wire["files_cached"],
            files_fetched=wire["files_fetched"],
            exit_code=wire["exit_code"],
            timed_out=wire["timed_out"],
            stdout=wire["stdout"],
            stderr=wire["stderr"],
            duration_ms=wire["duration_ms"],
            exec_id=wire["exec_id"],
        )


@dataclass(frozen=True)
class InstalledPackage:
    """`InstalledPackage` of the contract."""
    name: str
    version: str | None
    """As the sandbox tells; null: it is not there."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            name=wire["name"],
            version=wire["version"],
        )


@dataclass(frozen=True)
class InstalledSkill:
    """`InstalledSkill` of the contract."""
    id: str
    name: str
    version: int
    digest: str
    """Of what was installed."""
    path: str
    """Where its files are."""
    installed_at: datetime

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            id=wire["id"],
            name=wire["name"],
            version=wire["version"],
            digest=wire["digest"],
            path=wire["path"],
            installed_at=time(wire["installed_at"]),
        )


@dataclass(frozen=True)
class InstalledSkillList:
    """`InstalledSkillList` of the contract."""
    skills: list[InstalledSkill]

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            skills=(lambda items: [InstalledSkill.from_wire(item) for item in items])(wire["skills"]),
        )


@dataclass(frozen=True)
class LanguageInfo:
    """`LanguageInfo` of the contract."""
    name: Language

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            name=wire["name"],
        )


@dataclass(frozen=True)
class LanguageList:
    """`LanguageList` of the contract."""
    languages: list[LanguageInfo]

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            languages=(lambda items: [LanguageInfo.from_wire(item) for item in items])(wire["languages"]),
        )


@dataclass(frozen=True)
class Measure:
    """`Measure` of the contract."""
    name: str
    applied: bool
    detail: str

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            name=wire["name"],
            applied=wire["applied"],
            detail=wire["detail"],
        )


@dataclass(frozen=True)
class NetworkPolicy:
    """Deny goes over allow, and what nothing allows is denied. Addresses that are not the internet are refused whatever
    a policy says."""
    mode: Literal["enforce", "observe"] = "enforce"
    """`observe` lets pass what no rule allows and notes it; only where the operator permits it."""
    allow: list[str] = field(default_factory=list)
    deny: list[str] = field(default_factory=list)
    presets: list[str] = field(default_factory=list)
    """For example `packages` (the hosts that the server's pip, npm, cargo and apt use) and `github`."""
    max_bytes: int = 0
    """Both ways, in all; 0 means no limit."""
    bytes_per_second: int = 0
    """Both ways; 0 means no limit, else at least 1024."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            mode=wire["mode"],
            allow=wire["allow"],
            deny=wire["deny"],
            presets=wire["presets"],
            max_bytes=wire["max_bytes"],
            bytes_per_second=wire["bytes_per_second"],
        )

    def to_wire(self) -> dict[str, Any]:
        return {
            "mode": self.mode,
            "allow": list(self.allow),
            "deny": list(self.deny),
            "presets": list(self.presets),
            "max_bytes": self.max_bytes,
            "bytes_per_second": self.bytes_per_second,
        }


@dataclass(frozen=True)
class NewBudget:
    """`NewBudget` of the contract."""
    cpu_seconds: int | None = None
    egress_bytes: int | None = None
    """Both ways through the proxy."""
    executions: int | None = None
    """Commands and cells."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            cpu_seconds=wire.get("cpu_seconds"),
            egress_bytes=wire.get("egress_bytes"),
            executions=wire.get("executions"),
        )


@dataclass(frozen=True)
class OutputChunk:
    """`OutputChunk` of the contract."""
    channel: Literal["stdout", "stderr"]
    offset: int
    data: str

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            channel=wire["channel"],
            offset=wire["offset"],
            data=wire["data"],
        )


@dataclass(frozen=True)
class OutputEvent:
    """`text`, of whole characters, or `base64` when that encoding was asked for: bytes as they come, which may end
    within one. The event's `id` is the offset to resume from, with `from` or the header `Last-Event-ID`."""
    text: str | None = None
    base64: str | None = None

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            text=wire.get("text"),
            base64=wire.get("base64"),
        )


@dataclass(frozen=True)
class PoolInfo:
    """`Pool` of the contract."""
    image_id: str
    image_name: str
    warm_pool_min: int
    warm_pool_max: int
    idle_count: int
    """Boxes that wait."""
    target: int
    """How many should."""
    provider: str
    """The engine; empty without a pool."""
    languages: list[str]
    """Interpreters that run already in each box."""
    hits: int
    """Creates that took a box."""
    misses: int
    """Creates that found none and started cold."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            image_id=wire["image_id"],
            image_name=wire["image_name"],
            warm_pool_min=wire["warm_pool_min"],
            warm_pool_max=wire["warm_pool_max"],
            idle_count=wire["idle_count"],
            target=wire["target"],
            provider=wire["provider"],
            languages=wire["languages"],
            hits=wire["hits"],
            misses=wire["misses"],
        )


@dataclass(frozen=True)
class PoolSummary:
    """`PoolSummary` of the contract."""
    total_images: int
    images_with_pool: int
    total_idle: int
    total_min_target: int
    total_max_target: int
    warm_pool_enabled: bool
    """Whether the settings let sandboxes be made ahead of need (`pool.sizes`, `pool.ahead`), be there a pool just now or not."""
    per_image: list[PoolInfo]

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            total_images=wire["total_images"],
            images_with_pool=wire["images_with_pool"],
            total_idle=wire["total_idle"],
            total_min_target=wire["total_min_target"],
            total_max_target=wire["total_max_target"],
            warm_pool_enabled=wire["warm_pool_enabled"],
            per_image=(lambda items: [PoolInfo.from_wire(item) for item in items])(wire["per_image"]),
        )


@dataclass(frozen=True)
class PortLink:
    """`PortLink` of the contract."""
    url: str
    """As the server was addressed just now. A browser is led on to the app's own origin where it has one."""
    path: str
    """The same on this server, by whatever name it is addressed."""
    port: int
    expires_at: datetime

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            url=wire["url"],
            path=wire["path"],
            port=wire["port"],
            expires_at=time(wire["expires_at"]),
        )


@dataclass(frozen=True)
class Problem:
    """`Problem` of the contract."""
    type: str
    """urn:carrel:error: and the code."""
    title: str
    status: int
    detail: str
    """What is wrong, with the thing and the limit."""
    code: Literal["invalid_input", "unauthenticated", "forbidden", "not_found", "method_not_allowed", "sandbox_not_found", "exec_not_found", "context_not_found", "file_not_found", "volume_not_found", "snapshot_not_found", "secret_not_found", "approval_not_found", "key_not_found", "export_not_found", "upload_not_found", "skill_not_found", "image_not_found", "image_invalid", "image_source_failed", "language_not_available", "engine_not_available", "isolation_not_available", "not_supported", "key_reused", "not_a_file", "not_a_directory", "file_exists", "directory_not_empty", "permission_denied", "wrong_state", "precondition_failed", "range_not_satisfiable", "too_large", "no_space", "limit_reached", "egress_denied", "web_failed", "budget_exhausted", "port_closed", "app_failed", "sandbox_gone", "result_gone", "guest_lost", "engine_failed", "store_busy", "shutting_down", "vault_damaged", "internal"]
    request_id: str
    field: str | None = None
    """The field of the request at fault."""
    hint: str | None = None
    """What to do about it."""
    cause: str | None = None
    """How a sandbox died."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            type=wire["type"],
            title=wire["title"],
            status=wire["status"],
            detail=wire["detail"],
            code=wire["code"],
            request_id=wire["request_id"],
            field=wire.get("field"),
            hint=wire.get("hint"),
            cause=wire.get("cause"),
        )


@dataclass(frozen=True)
class PrunedImages:
    """What was removed."""
    removed: list[str]
    freed_bytes: int

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            removed=wire["removed"],
            freed_bytes=wire["freed_bytes"],
        )


@dataclass(frozen=True)
class QueueStatus:
    """`Queue` of the contract."""
    lines: list[QueueLine]
    waiting: list[WaitingRequest]
    """One's own tenant's."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            lines=(lambda items: [QueueLine.from_wire(item) for item in items])(wire["lines"]),
            waiting=(lambda items: [WaitingRequest.from_wire(item) for item in items])(wire["waiting"]),
        )


@dataclass(frozen=True)
class QueueLine:
    """`QueueLine` of the contract."""
    kind: Literal["create", "execution"]
    running: int
    waiting: int
    limit: int
    """The most that run at once."""
    max_waiting: int

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            kind=wire["kind"],
            running=wire["running"],
            waiting=wire["waiting"],
            limit=wire["limit"],
            max_waiting=wire["max_waiting"],
        )


@dataclass(frozen=True)
class QueuedEvent:
    """`QueuedEvent` of the contract."""
    position: int
    """1 is the next."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            position=wire["position"],
        )


@dataclass(frozen=True)
class SandboxInfo:
    """`Sandbox` of the contract."""
    id: str
    status: SandboxStatus
    image: str
    engine: str
    runtime: str
    """What the engine runs it with."""
    isolation: Isolation | None
    """What was really applied; null before it runs."""
    isolation_measures: list[Measure]
    workspace_path: str
    user_id: str
    """The tenant."""
    user_name: str
    """Who created it."""
    namespace: str
    """The label inside the tenant whose secrets and rules are its own."""
    container_id: str | None
    """Only with engines that make containers."""
    persistent: bool
    """Whether its files outlive its machine."""
    volume: str | None
    """The name of your volume that it uses; null when it has one of its own, or none."""
    volume_name: str | None
    """The id of its volume; null where /workspace is in memory."""
    created_at: datetime
    last_activity_at: datetime
    started_at: datetime | None
    """Its present or last machine."""
    stopped_at: datetime | None
    removal_at: datetime | None
    """When it goes with its files, unless it is started or changed before; null unless it has ended."""
    memory_mb: int
    cpu_cores: float
    disk_mb: int
    pids: int
    """Processes and threads at most."""
    idle_timeout_seconds: int
    on_idle: OnIdle
    max_life_seconds: int
    network_enabled: bool
    """Whether anything can get out."""
    network: NetworkPolicy
    isolated: bool
    rootfs: Rootfs
    env_vars: dict[str, str]
    exec_count: int
    exec_total_ms: int
    bytes_uploaded: int
    bytes_downloaded: int
    session_key: str | None
    secrets: list[str]
    frozen: str | None
    """Why it stands still until it is resumed or started by somebody: a canary secret was about to leave it."""
    metadata: dict[str, str]
    skills: list[InstalledSkill]
    """What it was given, by name."""
    budget: BudgetInfo | None
    """null: it has none of its own."""
    packages: list[Installation] | None
    """What was installed at its making; null in every other answer."""
    failure: Failure | None

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            id=wire["id"],
            status=wire["status"],
            image=wire["image"],
            engine=wire["engine"],
            runtime=wire["runtime"],
            isolation=wire["isolation"],
            isolation_measures=(lambda items: [Measure.from_wire(item) for item in items])(wire["isolation_measures"]),
            workspace_path=wire["workspace_path"],
            user_id=wire["user_id"],
            user_name=wire["user_name"],
            namespace=wire["namespace"],
            container_id=wire["container_id"],
            persistent=wire["persistent"],
            volume=wire["volume"],
            volume_name=wire["volume_name"],
            created_at=time(wire["created_at"]),
            last_activity_at=time(wire["last_activity_at"]),
            started_at=optional(time, wire["started_at"]),
            stopped_at=optional(time, wire["stopped_at"]),
            removal_at=optional(time, wire["removal_at"]),
            memory_mb=wire["memory_mb"],
            cpu_cores=wire["cpu_cores"],
            disk_mb=wire["disk_mb"],
            pids=wire["pids"],
            idle_timeout_seconds=wire["idle_timeout_seconds"],
            on_idle=wire["on_idle"],
            max_life_seconds=wire["max_life_seconds"],
            network_enabled=wire["network_enabled"],
            network=NetworkPolicy.from_wire(wire["network"]),
            isolated=wire["isolated"],
            rootfs=wire["rootfs"],
            env_vars=wire["env_vars"],
            exec_count=wire["exec_count"],
            exec_total_ms=wire["exec_total_ms"],
            bytes_uploaded=wire["bytes_uploaded"],
            bytes_downloaded=wire["bytes_downloaded"],
            session_key=wire["session_key"],
            secrets=wire["secrets"],
            frozen=wire["frozen"],
            metadata=wire["metadata"],
            skills=(lambda items: [InstalledSkill.from_wire(item) for item in items])(wire["skills"]),
            budget=optional(BudgetInfo.from_wire, wire["budget"]),
            packages=optional((lambda items: [Installation.from_wire(item) for item in items]), wire["packages"]),
            failure=optional(Failure.from_wire, wire["failure"]),
        )


@dataclass(frozen=True)
class SandboxPage:
    """`SandboxPage` of the contract."""
    items: list[SandboxInfo]
    total: int
    page: int
    page_size: int
    status_counts: dict[str, int]
    """Of all your sandboxes by status."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            items=(lambda items: [SandboxInfo.from_wire(item) for item in items])(wire["items"]),
            total=wire["total"],
            page=wire["page"],
            page_size=wire["page_size"],
            status_counts=wire["status_counts"],
        )


@dataclass(frozen=True)
class SandboxSettings:
    """`SandboxSettings` of the contract."""
    default_image: str
    """For a create that names none."""
    memory_mb: int
    cpu_cores: float
    disk_mb: int
    pids: int
    idle_timeout_seconds: int
    """0: never."""
    max_idle_timeout_seconds: int
    max_life_seconds: int
    """0: for ever."""
    stopped_retention_seconds: int
    max_memory_mb: int
    """The most that one sandbox may ask for."""
    max_cpu_cores: float
    max_disk_mb: int
    max_pids: int
    max_sandboxes: int
    """Starting, running and paused ones on this server."""
    default_max_per_user: int
    """The same for one tenant."""
    evict_when_full: bool
    warm_pool_enabled: bool
    """Whether sandboxes are made ahead of need, where `pool.sizes` or `pool.ahead` has any."""
    max_concurrent_creates: int
    max_concurrent_executions: int
    max_queued: int
    """Requests that may wait in each line."""
    provider_type: str
    """The engine of a create that names none."""
    images: list[str]
    configured: dict[str, Any]
    """What each setting is without a change."""
    changed: list[str]
    """Names of those that were changed."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            default_image=wire["default_image"],
            memory_mb=wire["memory_mb"],
            cpu_cores=wire["cpu_cores"],
            disk_mb=wire["disk_mb"],
            pids=wire["pids"],
            idle_timeout_seconds=wire["idle_timeout_seconds"],
            max_idle_timeout_seconds=wire["max_idle_timeout_seconds"],
            max_life_seconds=wire["max_life_seconds"],
            stopped_retention_seconds=wire["stopped_retention_seconds"],
            max_memory_mb=wire["max_memory_mb"],
            max_cpu_cores=wire["max_cpu_cores"],
            max_disk_mb=wire["max_disk_mb"],
            max_pids=wire["max_pids"],
            max_sandboxes=wire["max_sandboxes"],
            default_max_per_user=wire["default_max_per_user"],
            evict_when_full=wire["evict_when_full"],
            warm_pool_enabled=wire["warm_pool_enabled"],
            max_concurrent_creates=wire["max_concurrent_creates"],
            max_concurrent_executions=wire["max_concurrent_executions"],
            max_queued=wire["max_queued"],
            provider_type=wire["provider_type"],
            images=wire["images"],
            configured=wire["configured"],
            changed=wire["changed"],
        )


@dataclass(frozen=True)
class SecretInfo:
    """`Secret` of the contract."""
    namespace: str
    name: str
    version: int
    """Grows with each rotation; 0 for one of the environment."""
    canary: bool
    hosts: list[str]
    """Where requests may carry it, while processes get a placeholder; empty: processes get it themselves."""
    source: Literal["store", "environment"]
    created_at: datetime | None
    updated_at: datetime | None

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            namespace=wire["namespace"],
            name=wire["name"],
            version=wire["version"],
            canary=wire["canary"],
            hosts=wire["hosts"],
            source=wire["source"],
            created_at=optional(time, wire["created_at"]),
            updated_at=optional(time, wire["updated_at"]),
        )


@dataclass(frozen=True)
class SecretList:
    """`SecretList` of the contract."""
    secrets: list[SecretInfo]

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            secrets=(lambda items: [SecretInfo.from_wire(item) for item in items])(wire["secrets"]),
        )


@dataclass(frozen=True)
class SignedArtifacts:
    """`SignedArtifacts` of the contract."""
    artifacts: list[ArtifactInfo]
    skipped: list[SkippedArtifact]
    truncated: bool
    """There was more than is looked at at once."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            artifacts=(lambda items: [ArtifactInfo.from_wire(item) for item in items])(wire["artifacts"]),
            skipped=(lambda items: [SkippedArtifact.from_wire(item) for item in items])(wire["skipped"]),
            truncated=wire["truncated"],
        )


@dataclass(frozen=True)
class SigningKey:
    """`SigningKey` of the contract."""
    id: str
    algorithm: Literal["Ed25519"]
    public_key: str
    """X.509, base64."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            id=wire["id"],
            algorithm=wire["algorithm"],
            public_key=wire["public_key"],
        )


@dataclass(frozen=True)
class SkillInfo:
    """`Skill` of the contract."""
    id: str
    name: str
    description: str
    source_type: Literal["zip", "md"]
    skill_metadata: dict[str, Any]
    """All that SKILL.md begins with."""
    digest: str
    """Of the names and contents of its files, whatever they were packed in."""
    version: int
    """One more for each upload with another digest."""
    package_size_bytes: int
    """Of what was uploaded."""
    size_bytes: int
    """Of its files."""
    file_count: int
    created_by: str
    created_at: datetime
    updated_at: datetime

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            id=wire["id"],
            name=wire["name"],
            description=wire["description"],
            source_type=wire["source_type"],
            skill_metadata=wire["skill_metadata"],
            digest=wire["digest"],
            version=wire["version"],
            package_size_bytes=wire["package_size_bytes"],
            size_bytes=wire["size_bytes"],
            file_count=wire["file_count"],
            created_by=wire["created_by"],
            created_at=time(wire["created_at"]),
            updated_at=time(wire["updated_at"]),
        )


@dataclass(frozen=True)
class SkillDetails:
    """`SkillDetails` of the contract."""
    id: str
    name: str
    description: str
    source_type: Literal["zip", "md"]
    skill_metadata: dict[str, Any]
    """All that SKILL.md begins with."""
    digest: str
    """Of the names and contents of its files, whatever they were packed in."""
    version: int
    """One more for each upload with another digest."""
    package_size_bytes: int
    """Of what was uploaded."""
    size_bytes: int
    """Of its files."""
    file_count: int
    created_by: str
    created_at: datetime
    updated_at: datetime
    files: list[SkillFile]
    """By path."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            id=wire["id"],
            name=wire["name"],
            description=wire["description"],
            source_type=wire["source_type"],
            skill_metadata=wire["skill_metadata"],
            digest=wire["digest"],
            version=wire["version"],
            package_size_bytes=wire["package_size_bytes"],
            size_bytes=wire["size_bytes"],
            file_count=wire["file_count"],
            created_by=wire["created_by"],
            created_at=time(wire["created_at"]),
            updated_at=time(wire["updated_at"]),
            files=(lambda items: [SkillFile.from_wire(item) for item in items])(wire["files"]),
        )


@dataclass(frozen=True)
class SkillFailure:
    """`SkillFailure` of the contract."""
    id: str
    name: str
    error: str
    code: str

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            id=wire["id"],
            name=wire["name"],
            error=wire["error"],
            code=wire["code"],
        )


@dataclass(frozen=True)
class SkillFile:
    """`SkillFile` of the contract."""
    path: str
    size_bytes: int
    executable: bool
    digest: str
    """sha256: and hex of its bytes."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            path=wire["path"],
            size_bytes=wire["size_bytes"],
            executable=wire["executable"],
            digest=wire["digest"],
        )


@dataclass(frozen=True)
class SkillInstallation:
    """`SkillInstallation` of the contract."""
    installed: list[InstalledSkill]
    already_installed: list[InstalledSkill]
    """Whose files were in their place."""
    not_found: list[str]
    """Ids or names of none."""
    extraction_errors: list[SkillFailure]

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            installed=(lambda items: [InstalledSkill.from_wire(item) for item in items])(wire["installed"]),
            already_installed=(lambda items: [InstalledSkill.from_wire(item) for item in items])(wire["already_installed"]),
            not_found=wire["not_found"],
            extraction_errors=(lambda items: [SkillFailure.from_wire(item) for item in items])(wire["extraction_errors"]),
        )


@dataclass(frozen=True)
class SkillList:
    """`SkillList` of the contract."""
    skills: list[SkillInfo]

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            skills=(lambda items: [SkillInfo.from_wire(item) for item in items])(wire["skills"]),
        )


@dataclass(frozen=True)
class SkippedArtifact:
    """`SkippedArtifact` of the contract."""
    path: str
    reason: str

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            path=wire["path"],
            reason=wire["reason"],
        )


@dataclass(frozen=True)
class SnapshotInfo:
    """`Snapshot` of the contract."""
    id: str
    sandbox_id: str
    """Where it is from; that sandbox may be gone."""
    name: str | None
    image: str
    engine: str
    size_mb: int
    """Of the disk that it is a copy of."""
    used_bytes: int
    """On the host's disk."""
    created_at: datetime

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            id=wire["id"],
            sandbox_id=wire["sandbox_id"],
            name=wire["name"],
            image=wire["image"],
            engine=wire["engine"],
            size_mb=wire["size_mb"],
            used_bytes=wire["used_bytes"],
            created_at=time(wire["created_at"]),
        )


@dataclass(frozen=True)
class SnapshotList:
    """`SnapshotList` of the contract."""
    snapshots: list[SnapshotInfo]

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            snapshots=(lambda items: [SnapshotInfo.from_wire(item) for item in items])(wire["snapshots"]),
        )


@dataclass(frozen=True)
class TerminalLink:
    """`TerminalLink` of the contract."""
    url: str
    """Of the WebSocket."""
    path: str
    """The same on this server, by whatever name it is addressed."""
    write: bool
    expires_at: datetime

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            url=wire["url"],
            path=wire["path"],
            write=wire["write"],
            expires_at=time(wire["expires_at"]),
        )


@dataclass(frozen=True)
class TerminalSize:
    """`TerminalSize` of the contract."""
    rows: int
    cols: int

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            rows=wire["rows"],
            cols=wire["cols"],
        )

    def to_wire(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "cols": self.cols,
        }


@dataclass(frozen=True)
class TextEvent:
    """`TextEvent` of the contract."""
    text: str

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            text=wire["text"],
        )


@dataclass(frozen=True)
class SandboxUsage:
    """`Usage` of the contract."""
    id: str
    status: str
    engine: str
    image: str
    user_id: str
    cpu_seconds: float
    """Since its machine started: two looks give the load between them."""
    cpu_cores: float
    """The limit."""
    memory_bytes: int
    memory_limit_bytes: int
    processes: int
    pids: int
    """The limit."""
    last_command: str | None
    """Shortened; without its environment."""
    created_at: datetime
    last_activity_at: datetime

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            id=wire["id"],
            status=wire["status"],
            engine=wire["engine"],
            image=wire["image"],
            user_id=wire["user_id"],
            cpu_seconds=wire["cpu_seconds"],
            cpu_cores=wire["cpu_cores"],
            memory_bytes=wire["memory_bytes"],
            memory_limit_bytes=wire["memory_limit_bytes"],
            processes=wire["processes"],
            pids=wire["pids"],
            last_command=wire["last_command"],
            created_at=time(wire["created_at"]),
            last_activity_at=time(wire["last_activity_at"]),
        )


@dataclass(frozen=True)
class UsageList:
    """`UsageList` of the contract."""
    at: datetime
    sandboxes: list[SandboxUsage]
    truncated: bool

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            at=time(wire["at"]),
            sandboxes=(lambda items: [SandboxUsage.from_wire(item) for item in items])(wire["sandboxes"]),
            truncated=wire["truncated"],
        )


@dataclass(frozen=True)
class Validation:
    """`Validation` of the contract."""
    valid: bool
    findings: list[Finding]
    imports: list[str]
    """Lines that were missing."""
    fixed_code: str | None
    """The code with those lines."""

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            valid=wire["valid"],
            findings=(lambda items: [Finding.from_wire(item) for item in items])(wire["findings"]),
            imports=wire["imports"],
            fixed_code=wire["fixed_code"],
        )


@dataclass(frozen=True)
class VolumeInfo:
    """`Volume` of the contract."""
    id: str
    name: str
    engine: str
    sandbox_id: str | None
    """Who uses it now."""
    size_mb: int
    used_bytes: int
    """On the host's disk."""
    created_at: datetime
    used_at: datetime

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            id=wire["id"],
            name=wire["name"],
            engine=wire["engine"],
            sandbox_id=wire["sandbox_id"],
            size_mb=wire["size_mb"],
            used_bytes=wire["used_bytes"],
            created_at=time(wire["created_at"]),
            used_at=time(wire["used_at"]),
        )


@dataclass(frozen=True)
class VolumeList:
    """`VolumeList` of the contract."""
    volumes: list[VolumeInfo]

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            volumes=(lambda items: [VolumeInfo.from_wire(item) for item in items])(wire["volumes"]),
        )


@dataclass(frozen=True)
class WaitingRequest:
    """`WaitingRequest` of the contract."""
    kind: Literal["create", "execution"]
    position: int
    """1 is the next."""
    since: datetime
    waited_ms: float
    sandbox_id: str | None

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            kind=wire["kind"],
            position=wire["position"],
            since=time(wire["since"]),
            waited_ms=wire["waited_ms"],
            sandbox_id=wire["sandbox_id"],
        )


@dataclass(frozen=True)
class WatchChange:
    """`WatchChange` of the contract."""
    path: str
    kind: Literal["created", "modified", "deleted", "moved_away", "moved_here", "overflow"]
    directory: bool

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            path=wire["path"],
            kind=wire["kind"],
            directory=wire["directory"],
        )


@dataclass(frozen=True)
class WatchReady:
    """`WatchReady` of the contract."""
    path: str

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            path=wire["path"],
        )


@dataclass(frozen=True)
class WebPage:
    """`WebPage` of the contract."""
    url: str
    """Where it was found, after redirects within its host."""
    status: int
    redirect_url: str | None
    """Where another host is said to have it; that one was not asked."""
    content_type: str
    title: str
    content: str
    """Markdown for HTML, the text itself for other text."""
    truncated: bool
    cached: bool

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            url=wire["url"],
            status=wire["status"],
            redirect_url=wire["redirect_url"],
            content_type=wire["content_type"],
            title=wire["title"],
            content=wire["content"],
            truncated=wire["truncated"],
            cached=wire["cached"],
        )


@dataclass(frozen=True)
class WebResult:
    """A page that a search found."""
    title: str
    url: str
    snippet: str

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            title=wire["title"],
            url=wire["url"],
            snippet=wire["snippet"],
        )


@dataclass(frozen=True)
class WebResults:
    """What a search found, best first."""
    provider: str
    """Who answered."""
    results: list[WebResult]

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        return cls(
            provider=wire["provider"],
            results=(lambda items: [WebResult.from_wire(item) for item in items])(wire["results"]),
        )


class SecretOptions(TypedDict, total=False):
    """What `AddSecret` of the contract takes besides what it requires."""
    namespace: str
    canary: bool
    """Nobody needs it: when it is about to leave a sandbox, that is told as `secret.canary` and the sandbox is frozen."""
    hosts: Sequence[str]
    """Where requests may carry it: `api.example.com`, `*.example.com` (which is example.com too), `example.com:8443`; port 443 where none is named. Not for canaries. Stays as it is when the secret is rotated."""


class DecisionOptions(TypedDict, total=False):
    """What `ApprovalDecision` of the contract takes besides what it requires."""
    scope: Literal["once", "sandbox", "namespace"]
    """Instead of the one that was asked for."""
    valid_seconds: int
    """How long it holds; without it as long as the scope says."""
    note: str


class ApprovalOptions(TypedDict, total=False):
    """What `AskApproval` of the contract takes besides what it requires."""
    kind: Literal["egress", "host_command", "secret"]
    sandbox_id: str
    """Required unless the scope is namespace."""
    namespace: str
    scope: Literal["once", "sandbox", "namespace"]
    reason: str
    """Without control characters other than line ends and tabs."""
    expires_seconds: int
    wait_seconds: int


class BridgeOptions(TypedDict, total=False):
    """What `BridgeData` of the contract takes besides what it requires."""
    value: Any
    """Any JSON; of a table `{"columns": [{"name", "type", "values"}]}` with the types integer, number, boolean, string and datetime."""
    language: Literal["python", "node", "r", "bash"]
    context_id: str
    """Left out: the usual interpreter of the language."""
    to_sandbox_id: str
    to_language: Literal["python", "node", "r", "bash"]
    to_context_id: str
    to_name: str
    format: Literal["json", "table"]
    """`table`: data frames, with the types of their columns."""


class CodeOptions(TypedDict, total=False):
    """What `CodeRequest` of the contract takes besides what it requires."""
    language: str
    """`python`, `node`, `r` or `bash`, or a usual alias such as `js`."""
    context_id: str
    timeout_seconds: float
    """At its end the code is interrupted; if that does not help the interpreter is killed, and `state` is `lost`."""
    validate: OnDanger
    """Look at the code first, in this sandbox: what cannot be read is refused (422), with reject also dangerous calls. Left out: it is not looked at."""
    auto_fix: bool
    """With `validate`: run it with the imports that are missing (Python)."""


class ContextOptions(TypedDict, total=False):
    """What `CreateContext` of the contract takes besides what it requires."""
    cwd: str
    """Absolute."""
    env: Mapping[str, str]
    """On top of the sandbox's own."""
    secrets: Sequence[str]
    """Secrets of the sandbox's namespace that this interpreter gets in its environment."""
    preload: Literal["plain", "ipython", "data"]
    """What a Python interpreter has imported when the context starts, where it is forked from a warm one: nothing, IPython, or IPython, numpy, pandas and matplotlib as far as the image has them. Default: `context.preload` of the server."""


class KeyOptions(TypedDict, total=False):
    """What `CreateKey` of the contract takes besides what it requires."""
    tenant: str
    """Whose it shall be; another's only for administrators."""
    principal: str
    """Whom it stands for; somebody else only for administrators."""
    role: Literal["user", "admin"]
    permissions: Sequence[Permission]
    """What no role brings with it; given by administrators."""


class SandboxOptions(TypedDict, total=False):
    """What `CreateSandbox` of the contract takes besides what it requires."""
    image: str
    """`host`, or the name of an image of this installation."""
    engine: str
    """Default: the server's own."""
    isolation: Isolation
    """At least this strong."""
    memory_mb: int
    cpu_cores: float
    disk_mb: int
    pids: int
    idle_timeout_seconds: int
    """0 means never."""
    on_idle: OnIdle
    """Default: stop where files are kept, else pause."""
    max_life_seconds: int
    """How long one machine may run before it is stopped; 0 means for ever. Default and most are the server's settings."""
    ephemeral: bool
    """Keep files in memory."""
    volume: str
    """Your volume to use as /workspace, made when there is none; one sandbox at a time (409)."""
    snapshot_id: str
    """Begin with the files of this snapshot."""
    network_enabled: bool
    """Without `network`: true means the server's usual presets."""
    network: NetworkPolicy
    """What it may reach; nothing by default."""
    rootfs: Rootfs
    """As in the snapshot that it begins with, otherwise `read-only`."""
    isolated: bool
    """No process of it is ever forked from an interpreter outside: its contexts start from scratch, with a hash seed and a layout of memory that no other sandbox shares."""
    env_vars: Mapping[str, str]
    session_key: str
    """Same key, same sandbox."""
    namespace: str
    """The label inside the tenant whose secrets and rules are its own; never changes."""
    secrets: Sequence[str]
    """Secrets of the namespace that all its processes get in their environment, with the value of the moment they start."""
    metadata: Mapping[str, str]
    budget: NewBudget
    """What it may use up in all, from its first moment on. One that is there already keeps its own."""
    packages: Sequence[InstallPackages]
    """Installed before the answer, through its own policy. A client that fails is told in `packages` of the answer; a rule or policy that forbids it is an error, and no sandbox is left."""


class VolumeOptions(TypedDict, total=False):
    """What `CreateVolume` of the contract takes besides what it requires."""
    size_mb: int
    """Default: as a sandbox's disk_mb."""
    engine: str
    """Default: the server's own."""


class ExecOptions(TypedDict, total=False):
    """What `ExecRequest` of the contract takes besides what it requires."""
    timeout_seconds: float
    """At its end the whole process tree is killed. Default and most are the server's settings."""
    cwd: str
    """Absolute."""
    env: Mapping[str, str]
    secrets: Sequence[str]
    """Secrets of the sandbox's namespace that this command gets in its environment."""
    stdin: str
    """Given to the command as its whole standard input."""
    stdin_open: bool
    """Keep standard input open for …/stdin."""
    terminal: TerminalSize
    """Give it a terminal of this size."""
    artifacts: Sequence[str]
    """Files and folders below /workspace to sign when it has ended, besides what it changed in /workspace/outputs."""


class GlobOptions(TypedDict, total=False):
    """What `GlobRequest` of the contract takes besides what it requires."""
    path: str
    limit: int
    """At most as many as `file.max-entries` says."""
    hidden: bool


class GrepOptions(TypedDict, total=False):
    """What `GrepRequest` of the contract takes besides what it requires."""
    path: str
    glob: str
    """Only files of such names."""
    ignore_case: bool
    fixed: bool
    hidden: bool
    context: int
    """Lines around a match."""
    limit: int
    """At most as many as `file.max-matches` says."""


class HostOptions(TypedDict, total=False):
    """What `HostExec` of the contract takes besides what it requires."""
    cwd: str
    """A folder that is lent out; default: the first of them."""
    timeout_seconds: int
    """At most host.max-timeout."""
    sandbox_id: str
    """For whom; approvals can be for one sandbox."""
    namespace: str


class ImportSource(TypedDict, total=False):
    """What `ImportFile` of the contract takes besides what it requires."""
    file_name: str
    """Of `file_content`."""
    file_content: str
    encoding: Literal["text", "base64"]
    url: str
    sandbox_id: str
    """The sandbox that exported `path`; `session_id` is taken, too."""
    path: str
    """Of `sandbox_id`: a path in its `/workspace`."""
    source: str
    """A path of the host."""
    destination: str
    """Where it goes; its own name in `/workspace` unless said, and in a folder when it ends with a slash."""
    unpack: bool
    """It is a zip or tar whose files are wanted, at the destination."""


class TerminalOptions(TypedDict, total=False):
    """What `OpenTerminal` of the contract takes besides what it requires."""
    command: Union[str, Sequence[str]]
    """A line of shell, or a program with its arguments; without it a login shell."""
    cwd: str
    """Absolute; /workspace without it."""
    env: Mapping[str, str]
    size: TerminalSize
    secrets: Sequence[str]
    """Names of secrets that it gets besides the sandbox's own."""


class SettingsChanges(TypedDict, total=False):
    """What `SandboxSettingsChange` of the contract takes besides what it requires."""
    default_image: str | None
    memory_mb: int | None
    cpu_cores: float | None
    disk_mb: int | None
    pids: int | None
    idle_timeout_seconds: int | None
    max_idle_timeout_seconds: int | None
    max_life_seconds: int | None
    stopped_retention_seconds: int | None
    max_memory_mb: int | None
    max_cpu_cores: float | None
    max_disk_mb: int | None
    max_pids: int | None
    max_sandboxes: int | None
    default_max_per_user: int | None
    evict_when_full: bool | None
    warm_pool_enabled: bool | None
    max_concurrent_creates: int | None
    max_concurrent_executions: int | None
    max_queued: int | None


class BudgetLimits(TypedDict, total=False):
    """What `SetBudget` of the contract takes besides what it requires."""
    cpu_seconds: int | None
    egress_bytes: int | None
    """Both ways through the proxy."""
    executions: int | None
    """Commands and cells."""
    reset: bool
    """Begin to count anew; for administrators."""


class SandboxChanges(TypedDict, total=False):
    """What `UpdateSandbox` of the contract takes besides what it requires."""
    memory_mb: int
    cpu_cores: float
    disk_mb: int
    pids: int
    idle_timeout_seconds: int
    on_idle: OnIdle
    max_life_seconds: int
    network_enabled: bool
    network: NetworkPolicy
    """Replaces the policy at once."""
    env_vars: Mapping[str, str]
    metadata: Mapping[str, str]


class ValidateOptions(TypedDict, total=False):
    """What `ValidateRequest` of the contract takes besides what it requires."""
    language: Language
    """Default: python."""
    sandbox_id: str
    """Where to look; left out in one that is made for it."""
    on_danger: OnDanger
    """What a dangerous call means for `valid`; off: it is not told either. Default: warn."""
    auto_fix: bool
    """Add missing imports."""
