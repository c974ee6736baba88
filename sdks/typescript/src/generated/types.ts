// Written by sdks/generate.py from spec/openapi.yaml. Change the contract or the generator, not this file.

type Wire = Record<string, any>;

const time = (text: string): Date => new Date(text);
const optional = <W, T>(read: (wire: W) => T, wire: W | null | undefined): T | null =>
  wire === null || wire === undefined ? null : read(wire);

export type CodeState =
  | "kept"
  | "lost";

export type ErrorCode =
  | "invalid_input"
  | "unauthenticated"
  | "forbidden"
  | "not_found"
  | "method_not_allowed"
  | "sandbox_not_found"
  | "exec_not_found"
  | "context_not_found"
  | "file_not_found"
  | "volume_not_found"
  | "snapshot_not_found"
  | "secret_not_found"
  | "approval_not_found"
  | "key_not_found"
  | "export_not_found"
  | "upload_not_found"
  | "skill_not_found"
  | "image_not_found"
  | "image_invalid"
  | "image_source_failed"
  | "language_not_available"
  | "engine_not_available"
  | "isolation_not_available"
  | "not_supported"
  | "key_reused"
  | "not_a_file"
  | "not_a_directory"
  | "file_exists"
  | "directory_not_empty"
  | "permission_denied"
  | "wrong_state"
  | "precondition_failed"
  | "range_not_satisfiable"
  | "too_large"
  | "no_space"
  | "limit_reached"
  | "egress_denied"
  | "web_failed"
  | "budget_exhausted"
  | "port_closed"
  | "app_failed"
  | "sandbox_gone"
  | "result_gone"
  | "guest_lost"
  | "engine_failed"
  | "store_busy"
  | "shutting_down"
  | "vault_damaged"
  | "internal";

export type ExecCause =
  | "returned"
  | "not_started"
  | "timed_out"
  | "killed"
  | "signalled"
  | "crashed"
  | "out_of_memory"
  | "pids_limit"
  | "sandbox_lost";

export type Isolation =
  | "none"
  | "namespaces"
  | "gvisor";

export type Language =
  | "python"
  | "node"
  | "r"
  | "bash";

export type OnDanger =
  | "reject"
  | "warn"
  | "off";

export type OnIdle =
  | "stop"
  | "pause"
  | "destroy";

export type Permission =
  | "host";

export type Rootfs =
  | "read-only"
  | "overlay";

export type SandboxStatus =
  | "creating"
  | "running"
  | "paused"
  | "stopped"
  | "failed";

/** `Activity` of the contract. */
export interface ActivityInfo {
  /** The audit record's number. */
  id: number;
  at: Date;
  /** Such as `exec`, `code`, `upload`, `download`, `install`, `create`, `start`, `pause`, `stop`, `failure`, `change`; others are the audit's action. */
  kind: string;
  /** The command, the path or the name that it was about. */
  subject: string | null;
  /** Who did it; `carrel` for the server itself. */
  principal: string;
  /** One word, such as `ok` or `returned`. */
  outcome: string;
  exitCode: number | null;
  durationMs: number | null;
}

export const readActivityInfo = (wire: Wire): ActivityInfo => ({
  id: wire.id,
  at: time(wire.at),
  kind: wire.kind,
  subject: wire.subject,
  principal: wire.principal,
  outcome: wire.outcome,
  exitCode: wire.exit_code,
  durationMs: wire.duration_ms,
});

/** `ActivityList` of the contract. */
export interface ActivityList {
  activity: ActivityInfo[];
}

export const readActivityList = (wire: Wire): ActivityList => ({
  activity: ((items: Wire[]) => items.map(readActivityInfo))(wire.activity),
});

/** `ApiKey` of the contract. */
export interface KeyInfo {
  id: string;
  name: string;
  tenant: string;
  principal: string;
  role: "user" | "admin";
  permissions: Permission[];
  /** Its beginning. */
  mask: string;
  createdBy: string;
  createdAt: Date;
  /** Told once. */
  key: string | null;
}

export const readKeyInfo = (wire: Wire): KeyInfo => ({
  id: wire.id,
  name: wire.name,
  tenant: wire.tenant,
  principal: wire.principal,
  role: wire.role,
  permissions: wire.permissions,
  mask: wire.mask,
  createdBy: wire.created_by,
  createdAt: time(wire.created_at),
  key: wire.key,
});

/** `ApiKeyList` of the contract. */
export interface ApiKeyList {
  keys: KeyInfo[];
}

export const readApiKeyList = (wire: Wire): ApiKeyList => ({
  keys: ((items: Wire[]) => items.map(readKeyInfo))(wire.keys),
});

/** `Approval` of the contract. */
export interface ApprovalInfo {
  id: string;
  tenant: string;
  namespace: string;
  sandboxId: string | null;
  kind: "egress" | "host_command" | "secret";
  subject: string;
  scope: "once" | "sandbox" | "namespace";
  reason: string;
  requester: string;
  status: "pending" | "approved" | "denied" | "expired" | "withdrawn" | "used";
  createdAt: Date;
  /** When the request ends undecided, or what was granted. */
  endsAt: Date | null;
  decidedAt: Date | null;
  decidedBy: string | null;
  note: string | null;
}

export const readApprovalInfo = (wire: Wire): ApprovalInfo => ({
  id: wire.id,
  tenant: wire.tenant,
  namespace: wire.namespace,
  sandboxId: wire.sandbox_id,
  kind: wire.kind,
  subject: wire.subject,
  scope: wire.scope,
  reason: wire.reason,
  requester: wire.requester,
  status: wire.status,
  createdAt: time(wire.created_at),
  endsAt: optional(time, wire.ends_at),
  decidedAt: optional(time, wire.decided_at),
  decidedBy: wire.decided_by,
  note: wire.note,
});

/** `ApprovalList` of the contract. */
export interface ApprovalList {
  approvals: ApprovalInfo[];
}

export const readApprovalList = (wire: Wire): ApprovalList => ({
  approvals: ((items: Wire[]) => items.map(readApprovalInfo))(wire.approvals),
});

/** `Artifact` of the contract. */
export interface ArtifactInfo {
  sandboxId: string;
  /** What left it; null when somebody asked for it. */
  execId: string | null;
  namespace: string;
  /** Relative to /workspace, as the sandbox named it. */
  path: string;
  sha256: string;
  sizeBytes: number;
  /** By its name alone. */
  mime: string;
  /** Ed25519, base64, over the lines `carrel artifact 1`, the digest and the size, each with a newline. */
  signature: string;
  keyId: string;
  signedAt: Date;
}

export const readArtifactInfo = (wire: Wire): ArtifactInfo => ({
  sandboxId: wire.sandbox_id,
  execId: wire.exec_id,
  namespace: wire.namespace,
  path: wire.path,
  sha256: wire.sha256,
  sizeBytes: wire.size_bytes,
  mime: wire.mime,
  signature: wire.signature,
  keyId: wire.key_id,
  signedAt: time(wire.signed_at),
});

/** `ArtifactList` of the contract. */
export interface ArtifactList {
  artifacts: ArtifactInfo[];
}

export const readArtifactList = (wire: Wire): ArtifactList => ({
  artifacts: ((items: Wire[]) => items.map(readArtifactInfo))(wire.artifacts),
});

/** `ArtifactManifest` of the contract. */
export interface ArtifactManifest {
  payloadType: string;
  /** The statement as base64. */
  payload: string;
  signatures: EnvelopeSignature[];
}

export const readArtifactManifest = (wire: Wire): ArtifactManifest => ({
  payloadType: wire.payloadType,
  payload: wire.payload,
  signatures: ((items: Wire[]) => items.map(readEnvelopeSignature))(wire.signatures),
});

/** `AuditPage` of the contract. */
export interface AuditPage {
  records: AuditRecord[];
  /** For `before` (or `after`, when that was asked) of the next page; null after the last one. */
  next: number | null;
}

export const readAuditPage = (wire: Wire): AuditPage => ({
  records: ((items: Wire[]) => items.map(readAuditRecord))(wire.records),
  next: wire.next,
});

/** `AuditProblem` of the contract. */
export interface AuditProblem {
  kind: "changed" | "missing" | "truncated" | "rewritten" | "unsigned";
  sequence: number;
  message: string;
}

export const readAuditProblem = (wire: Wire): AuditProblem => ({
  kind: wire.kind,
  sequence: wire.sequence,
  message: wire.message,
});

/** `AuditRecord` of the contract. */
export interface AuditRecord {
  /** Grows by one from record to record of this server. */
  sequence: number;
  at: Date;
  /** Whose thing it was done to. */
  tenant: string;
  /** Who did it; `carrel` is the server itself; one of another tenant as `TENANT/PRINCIPAL`. */
  principal: string;
  namespace: string;
  sandboxId: string | null;
  action: string;
  /** The id of an exec or context, a path, a name. */
  subject: string | null;
  /** SHA-256 of the request in hex. */
  requestDigest: string | null;
  /** How it ended: `ok`, or the cause as the answer gave it. */
  cause: string;
  exitCode: number | null;
  durationMs: number | null;
  /** Its beginning and its end. */
  stdout: string | null;
  stderr: string | null;
  /** The first 50. */
  filesChanged: FileChange[];
  /** What really held the sandbox. */
  isolation: string | null;
  details: Record<string, string>;
  /** SHA-256 in hex, over this record and the hash of the one before. */
  hash: string;
}

export const readAuditRecord = (wire: Wire): AuditRecord => ({
  sequence: wire.sequence,
  at: time(wire.at),
  tenant: wire.tenant,
  principal: wire.principal,
  namespace: wire.namespace,
  sandboxId: wire.sandbox_id,
  action: wire.action,
  subject: wire.subject,
  requestDigest: wire.request_digest,
  cause: wire.cause,
  exitCode: wire.exit_code,
  durationMs: wire.duration_ms,
  stdout: wire.stdout,
  stderr: wire.stderr,
  filesChanged: ((items: Wire[]) => items.map(readFileChange))(wire.files_changed),
  isolation: wire.isolation,
  details: wire.details,
  hash: wire.hash,
});

/** `AuditVerdict` of the contract. */
export interface AuditVerdict {
  intact: boolean;
  records: number;
  /** Records before it were removed by retention, which is signed. */
  first: number;
  last: number;
  /** Signatures that agreed with the chain. */
  checkpoints: number;
  problems: AuditProblem[];
}

export const readAuditVerdict = (wire: Wire): AuditVerdict => ({
  intact: wire.intact,
  records: wire.records,
  first: wire.first,
  last: wire.last,
  checkpoints: wire.checkpoints,
  problems: ((items: Wire[]) => items.map(readAuditProblem))(wire.problems),
});

/** `BridgeResult` of the contract. */
export interface BridgeResult {
  success: boolean;
  sandboxId: string;
  language: string;
  name: string;
  sizeBytes: number;
  /** What the variable holds. */
  value: unknown;
}

export const readBridgeResult = (wire: Wire): BridgeResult => ({
  success: wire.success,
  sandboxId: wire.sandbox_id,
  language: wire.language,
  name: wire.name,
  sizeBytes: wire.size_bytes,
  value: wire.value,
});

/** `Budget` of the contract. */
export interface BudgetInfo {
  scope: "sandbox" | "namespace";
  name: string;
  /** null: no limit. */
  cpuSeconds: number | null;
  egressBytes: number | null;
  executions: number | null;
  cpuSecondsUsed: number;
  egressBytesUsed: number;
  executionsUsed: number;
}

export const readBudgetInfo = (wire: Wire): BudgetInfo => ({
  scope: wire.scope,
  name: wire.name,
  cpuSeconds: wire.cpu_seconds,
  egressBytes: wire.egress_bytes,
  executions: wire.executions,
  cpuSecondsUsed: wire.cpu_seconds_used,
  egressBytesUsed: wire.egress_bytes_used,
  executionsUsed: wire.executions_used,
});

/** `BulkFailure` of the contract. */
export interface BulkFailure {
  sandboxId: string;
  code: string;
  message: string;
}

export const readBulkFailure = (wire: Wire): BulkFailure => ({
  sandboxId: wire.sandbox_id,
  code: wire.code,
  message: wire.message,
});

/** `BulkOutcome` of the contract. */
export interface BulkOutcome {
  stopped: number;
  destroyed: number;
  skipped: number;
  errors: BulkFailure[];
  /** How many more the filter finds. Ask again, with a `status` that those seen to no longer have. */
  left: number;
}

export const readBulkOutcome = (wire: Wire): BulkOutcome => ({
  stopped: wire.stopped,
  destroyed: wire.destroyed,
  skipped: wire.skipped,
  errors: ((items: Wire[]) => items.map(readBulkFailure))(wire.errors),
  left: wire.left,
});

/** `CodeDone` of the contract. */
export interface CodeDone {
  success: boolean;
  contextId: string;
  language: Language;
  executionCount: number;
  stdoutBytes: number;
  stderrBytes: number;
  cause: ExecCause;
  timedOut: boolean;
  interrupted: boolean;
  truncated: boolean;
  state: CodeState;
  /** How long it waited for its turn. */
  queuedMs: number;
  durationMs: number;
  hint: string | null;
}

export const readCodeDone = (wire: Wire): CodeDone => ({
  success: wire.success,
  contextId: wire.context_id,
  language: wire.language,
  executionCount: wire.execution_count,
  stdoutBytes: wire.stdout_bytes,
  stderrBytes: wire.stderr_bytes,
  cause: wire.cause,
  timedOut: wire.timed_out,
  interrupted: wire.interrupted,
  truncated: wire.truncated,
  state: wire.state,
  queuedMs: wire.queued_ms,
  durationMs: wire.duration_ms,
  hint: wire.hint,
});

/** `CodeError` of the contract. */
export interface CodeError {
  type: string;
  message: string;
  traceback: string;
}

export const readCodeError = (wire: Wire): CodeError => ({
  type: wire.type,
  message: wire.message,
  traceback: wire.traceback,
});

/** `CodeGap` of the contract. */
export interface CodeGap {
  /** How many events are no longer kept. */
  events: number;
}

export const readCodeGap = (wire: Wire): CodeGap => ({
  events: wire.events,
});

/** `CodeResult` of the contract. */
export interface CodeResult {
  success: boolean;
  contextId: string;
  language: Language;
  /** Cells run since the state began. */
  executionCount: number;
  stdout: string;
  stderr: string;
  stdoutBytes: number;
  stderrBytes: number;
  stdoutTruncated: boolean;
  stderrTruncated: boolean;
  result: Record<string, string> | null;
  displayOutputs: DisplayOutput[];
  error: CodeError | null;
  cause: ExecCause;
  timedOut: boolean;
  interrupted: boolean;
  /** A result, traceback or display was cut or left out. */
  truncated: boolean;
  state: CodeState;
  /** How long it waited for its turn. */
  queuedMs: number;
  durationMs: number;
  hint: string | null;
}

export const readCodeResult = (wire: Wire): CodeResult => ({
  success: wire.success,
  contextId: wire.context_id,
  language: wire.language,
  executionCount: wire.execution_count,
  stdout: wire.stdout,
  stderr: wire.stderr,
  stdoutBytes: wire.stdout_bytes,
  stderrBytes: wire.stderr_bytes,
  stdoutTruncated: wire.stdout_truncated,
  stderrTruncated: wire.stderr_truncated,
  result: wire.result,
  displayOutputs: ((items: Wire[]) => items.map(readDisplayOutput))(wire.display_outputs),
  error: optional(readCodeError, wire.error),
  cause: wire.cause,
  timedOut: wire.timed_out,
  interrupted: wire.interrupted,
  truncated: wire.truncated,
  state: wire.state,
  queuedMs: wire.queued_ms,
  durationMs: wire.duration_ms,
  hint: wire.hint,
});

/** `CodeStarted` of the contract. */
export interface CodeStarted {
  /** How long it waited for its turn. */
  queuedMs: number;
}

export const readCodeStarted = (wire: Wire): CodeStarted => ({
  queuedMs: wire.queued_ms,
});

/** `Context` of the contract. */
export interface ContextInfo {
  id: string;
  sandboxId: string;
  language: Language;
  /** Of the interpreter. */
  languageVersion: string | null;
  /** `plain` or `ipython`. */
  flavour: string | null;
  /** How its present interpreter came to be: forked from a warm one, or started from scratch, as always in an `isolated` sandbox. */
  start: "zygote" | "cold" | null;
  /** dead, or lost with its machine: the next execution starts a fresh interpreter and says so. */
  status: "idle" | "busy" | "dead" | "lost";
  /** Whether code without a context_id runs here. */
  isDefault: boolean;
  executionCount: number;
  /** Executions that wait. */
  queued: number;
  createdAt: Date;
  lastUsedAt: Date;
}

export const readContextInfo = (wire: Wire): ContextInfo => ({
  id: wire.id,
  sandboxId: wire.sandbox_id,
  language: wire.language,
  languageVersion: wire.language_version,
  flavour: wire.flavour,
  start: wire.start,
  status: wire.status,
  isDefault: wire.is_default,
  executionCount: wire.execution_count,
  queued: wire.queued,
  createdAt: time(wire.created_at),
  lastUsedAt: time(wire.last_used_at),
});

/** `ContextList` of the contract. */
export interface ContextList {
  contexts: ContextInfo[];
}

export const readContextList = (wire: Wire): ContextList => ({
  contexts: ((items: Wire[]) => items.map(readContextInfo))(wire.contexts),
});

/** The richest type of one figure or display call. */
export interface DisplayOutput {
  type: string;
  /** Text, or base64 of what is not text. */
  data: string;
}

export const readDisplayOutput = (wire: Wire): DisplayOutput => ({
  type: wire.type,
  data: wire.data,
});

/** `Egress` of the contract. */
export interface EgressInfo {
  policy: NetworkPolicy;
  /** What a person allows beyond the policy. */
  granted: string[];
  sentBytes: number;
  receivedBytes: number;
  /** The least policy that allows what passed lately. */
  draft: NetworkPolicy;
}

export const readEgressInfo = (wire: Wire): EgressInfo => ({
  policy: readNetworkPolicy(wire.policy),
  granted: wire.granted,
  sentBytes: wire.sent_bytes,
  receivedBytes: wire.received_bytes,
  draft: readNetworkPolicy(wire.draft),
});

/** A way to use the network as a sandbox from elsewhere. */
export interface EgressAccess {
  /** It has the secret in it and is not shown again. */
  proxyUrl: string;
  expiresAt: Date;
}

export const readEgressAccess = (wire: Wire): EgressAccess => ({
  proxyUrl: wire.proxy_url,
  expiresAt: time(wire.expires_at),
});

/** `EgressDecision` of the contract. */
export interface EgressDecision {
  outcome: "allowed" | "denied" | "observed" | "failed";
  /** `https`: a request that the proxy has read, to a host that a secret is bound to. */
  protocol: "http" | "https" | "connect" | "socks";
  host: string;
  port: number;
  method: string | null;
  /** Of the last request, without its query. */
  path: string | null;
  reason: "not_allowed" | "denied" | "port" | "method_or_path" | "address" | "no_tls" | "tls_name" | "tls_hidden_name" | "budget" | "canary" | "token" | "malformed" | "too_many" | "unresolved" | "unreachable" | "tls_failed" | "timed_out" | null;
  /** What decided it; null: that nothing allowed it. */
  rule: string | null;
  detail: string;
  count: number;
  firstAt: Date;
  lastAt: Date;
}

export const readEgressDecision = (wire: Wire): EgressDecision => ({
  outcome: wire.outcome,
  protocol: wire.protocol,
  host: wire.host,
  port: wire.port,
  method: wire.method,
  path: wire.path,
  reason: wire.reason,
  rule: wire.rule,
  detail: wire.detail,
  count: wire.count,
  firstAt: time(wire.first_at),
  lastAt: time(wire.last_at),
});

/** `Engine` of the contract. */
export interface EngineInfo {
  name: string;
  runtime: string;
  usable: boolean;
  isolation: Isolation;
  isolationMeasures: Measure[];
  /** Why it is not usable or not stronger, each with what to do. */
  problems: string[];
  /** What can be asked for when creating a sandbox. */
  rootfs: Rootfs[];
  /** Why its sandboxes cannot have a writable root, and what to do; null: they can. */
  overlayProblem: string | null;
}

export const readEngineInfo = (wire: Wire): EngineInfo => ({
  name: wire.name,
  runtime: wire.runtime,
  usable: wire.usable,
  isolation: wire.isolation,
  isolationMeasures: ((items: Wire[]) => items.map(readMeasure))(wire.isolation_measures),
  problems: wire.problems,
  rootfs: wire.rootfs,
  overlayProblem: wire.overlay_problem,
});

/** `EngineList` of the contract. */
export interface EngineList {
  engines: EngineInfo[];
  builders: ImageBuilder[];
}

export const readEngineList = (wire: Wire): EngineList => ({
  engines: ((items: Wire[]) => items.map(readEngineInfo))(wire.engines),
  builders: ((items: Wire[]) => items.map(readImageBuilder))(wire.builders),
});

/** `EnvelopeSignature` of the contract. */
export interface EnvelopeSignature {
  keyid: string;
  /** Ed25519, base64, over the pre-authentication encoding of DSSE. */
  sig: string;
}

export const readEnvelopeSignature = (wire: Wire): EnvelopeSignature => ({
  keyid: wire.keyid,
  sig: wire.sig,
});

/** `Event` of the contract. */
export interface Event {
  /** Grows from event to event. */
  id: number;
  at: Date;
  kind: "sandbox.created" | "sandbox.started" | "sandbox.paused" | "sandbox.resumed" | "sandbox.stopped" | "sandbox.failed" | "sandbox.destroyed" | "sandbox.expiring" | "sandbox.restored" | "snapshot.created" | "events.missed" | "events.dropped" | "execution.started" | "execution.completed" | "execution.failed" | "execution.timeout" | "session.created" | "session.killed" | "package.installed" | "egress.allowed" | "egress.denied" | "egress.observed" | "egress.failed" | "egress.requested" | "egress.approved" | "egress.expired" | "egress.withdrawn" | "egress.used" | "host_command.requested" | "host_command.approved" | "host_command.denied" | "host_command.expired" | "host_command.withdrawn" | "host_command.used" | "secret.requested" | "secret.approved" | "secret.denied" | "secret.expired" | "secret.withdrawn" | "secret.used" | "vault.accessed" | "secret.canary" | "resource.exceeded" | "artifact.signed" | "queue.backpressure" | "sandbox.policy" | "skill.added" | "skill.updated" | "skill.deleted" | "skill.installed";
  /** Empty when it is about none. */
  namespace: string;
  sandboxId: string | null;
  /** For example `cause`; of `sandbox.expiring` also `at` and `then`. What has `approval` is about a request for an approval: `egress.denied` without it is a connection that was refused. */
  details: Record<string, string>;
}

export const readEvent = (wire: Wire): Event => ({
  id: wire.id,
  at: time(wire.at),
  kind: wire.kind,
  namespace: wire.namespace,
  sandboxId: wire.sandbox_id,
  details: wire.details,
});

/** `EventList` of the contract. */
export interface EventList {
  events: Event[];
}

export const readEventList = (wire: Wire): EventList => ({
  events: ((items: Wire[]) => items.map(readEvent))(wire.events),
});

/** `Exec` of the contract. */
export interface ExecInfo {
  id: string;
  sandboxId: string;
  command: string[];
  cwd: string | null;
  status: "running" | "exited";
  background: boolean;
  terminal: boolean;
  /** Inside the sandbox. */
  pid: number;
  startedAt: Date;
  endedAt: Date | null;
  outputBytes: number;
  exitCode: number | null;
  signal: number | null;
  cause: ExecCause | null;
  durationMs: number | null;
}

export const readExecInfo = (wire: Wire): ExecInfo => ({
  id: wire.id,
  sandboxId: wire.sandbox_id,
  command: wire.command,
  cwd: wire.cwd,
  status: wire.status,
  background: wire.background,
  terminal: wire.terminal,
  pid: wire.pid,
  startedAt: time(wire.started_at),
  endedAt: optional(time, wire.ended_at),
  outputBytes: wire.output_bytes,
  exitCode: wire.exit_code,
  signal: wire.signal,
  cause: wire.cause,
  durationMs: wire.duration_ms,
});

/** `ExecExited` of the contract. */
export interface ExecExited {
  id: string;
  exitCode: number;
  signal: number | null;
  cause: ExecCause;
  timedOut: boolean;
  outputBytes: number;
  /** How long it waited for its turn. */
  queuedMs: number;
  durationMs: number;
  cpuMs: number;
  maxRssBytes: number;
  /** Descendants that are still alive. */
  processesLeft: number;
  filesChanged: FileChange[];
  filesChangedTruncated: boolean;
  /** What it left in /workspace/outputs, or was named, signed. */
  artifacts: ArtifactInfo[];
  artifactsSkipped: SkippedArtifact[];
  /** There was more than is signed at once. */
  artifactsTruncated: boolean;
  message: string | null;
  hint: string | null;
}

export const readExecExited = (wire: Wire): ExecExited => ({
  id: wire.id,
  exitCode: wire.exit_code,
  signal: wire.signal,
  cause: wire.cause,
  timedOut: wire.timed_out,
  outputBytes: wire.output_bytes,
  queuedMs: wire.queued_ms,
  durationMs: wire.duration_ms,
  cpuMs: wire.cpu_ms,
  maxRssBytes: wire.max_rss_bytes,
  processesLeft: wire.processes_left,
  filesChanged: ((items: Wire[]) => items.map(readFileChange))(wire.files_changed),
  filesChangedTruncated: wire.files_changed_truncated,
  artifacts: ((items: Wire[]) => items.map(readArtifactInfo))(wire.artifacts),
  artifactsSkipped: ((items: Wire[]) => items.map(readSkippedArtifact))(wire.artifacts_skipped),
  artifactsTruncated: wire.artifacts_truncated,
  message: wire.message,
  hint: wire.hint,
});

/** `ExecList` of the contract. */
export interface ExecList {
  execs: ExecInfo[];
}

export const readExecList = (wire: Wire): ExecList => ({
  execs: ((items: Wire[]) => items.map(readExecInfo))(wire.execs),
});

/** `ExecOutput` of the contract. */
export interface ExecOutput {
  /** Offset of the first byte here. */
  from: number;
  /** Where to go on. */
  nextOffset: number;
  /** Bytes written so far. */
  end: number;
  /** Between the asked offset and the first byte here; no longer kept. */
  lostBytes: number;
  running: boolean;
  encoding: "utf-8" | "base64";
  chunks: OutputChunk[];
}

export const readExecOutput = (wire: Wire): ExecOutput => ({
  from: wire.from,
  nextOffset: wire.next_offset,
  end: wire.end,
  lostBytes: wire.lost_bytes,
  running: wire.running,
  encoding: wire.encoding,
  chunks: ((items: Wire[]) => items.map(readOutputChunk))(wire.chunks),
});

/** `ExecResult` of the contract. */
export interface ExecResult {
  id: string;
  /** For a signal 128 and its number. */
  exitCode: number;
  signal: number | null;
  cause: ExecCause;
  timedOut: boolean;
  stdout: string;
  stderr: string;
  /** All that was written. */
  stdoutBytes: number;
  stderrBytes: number;
  /** The rest is at …/execs/{eid}/output. */
  stdoutTruncated: boolean;
  stderrTruncated: boolean;
  /** Of both streams. */
  outputBytes: number;
  /** How long it waited for its turn. */
  queuedMs: number;
  durationMs: number;
  filesChanged: FileChange[];
  filesChangedTruncated: boolean;
  /** What it left in /workspace/outputs, or was named, signed. */
  artifacts: ArtifactInfo[];
  artifactsSkipped: SkippedArtifact[];
  /** There was more than is signed at once. */
  artifactsTruncated: boolean;
  /** Why it could not be started. */
  message: string | null;
  /** What to do about the cause. */
  hint: string | null;
}

export const readExecResult = (wire: Wire): ExecResult => ({
  id: wire.id,
  exitCode: wire.exit_code,
  signal: wire.signal,
  cause: wire.cause,
  timedOut: wire.timed_out,
  stdout: wire.stdout,
  stderr: wire.stderr,
  stdoutBytes: wire.stdout_bytes,
  stderrBytes: wire.stderr_bytes,
  stdoutTruncated: wire.stdout_truncated,
  stderrTruncated: wire.stderr_truncated,
  outputBytes: wire.output_bytes,
  queuedMs: wire.queued_ms,
  durationMs: wire.duration_ms,
  filesChanged: ((items: Wire[]) => items.map(readFileChange))(wire.files_changed),
  filesChangedTruncated: wire.files_changed_truncated,
  artifacts: ((items: Wire[]) => items.map(readArtifactInfo))(wire.artifacts),
  artifactsSkipped: ((items: Wire[]) => items.map(readSkippedArtifact))(wire.artifacts_skipped),
  artifactsTruncated: wire.artifacts_truncated,
  message: wire.message,
  hint: wire.hint,
});

/** `ExecStarted` of the contract. */
export interface ExecStarted {
  id: string;
  pid: number;
  /** Of the first byte that follows. */
  offset: number;
}

export const readExecStarted = (wire: Wire): ExecStarted => ({
  id: wire.id,
  pid: wire.pid,
  offset: wire.offset,
});

/** `ExportInfo` of the contract. */
export interface ExportInfo {
  id: string;
  path: string;
  createdAt: Date;
}

export const readExportInfo = (wire: Wire): ExportInfo => ({
  id: wire.id,
  path: wire.path,
  createdAt: time(wire.created_at),
});

/** `ExportList` of the contract. */
export interface ExportList {
  items: ExportInfo[];
}

export const readExportList = (wire: Wire): ExportList => ({
  items: ((items: Wire[]) => items.map(readExportInfo))(wire.items),
});

/** `ExportResult` of the contract. */
export interface ExportResult {
  /** All can be fetched. */
  success: boolean;
  files: ExportedFile[];
  error: string;
}

export const readExportResult = (wire: Wire): ExportResult => ({
  success: wire.success,
  files: ((items: Wire[]) => items.map(readExportedFile))(wire.files),
  error: wire.error,
});

/** `ExportedFile` of the contract. */
export interface ExportedFile {
  id: string | null;
  path: string;
  success: boolean;
  /** `file` or `dir`. */
  type: string | null;
  /** Of a folder, of the files in it; null when there are more than 100,000. */
  size: number | null;
  /** Anybody who has it can fetch; a folder as a zip, or with `&format=tar`. */
  downloadUrl: string | null;
  expiresAt: Date | null;
  error: string | null;
  code: string | null;
}

export const readExportedFile = (wire: Wire): ExportedFile => ({
  id: wire.id,
  path: wire.path,
  success: wire.success,
  type: wire.type,
  size: wire.size,
  downloadUrl: wire.download_url,
  expiresAt: optional(time, wire.expires_at),
  error: wire.error,
  code: wire.code,
});

/** Why it failed or died. */
export interface Failure {
  cause: string;
  message: string;
  hint: string;
}

export const readFailure = (wire: Wire): Failure => ({
  cause: wire.cause,
  message: wire.message,
  hint: wire.hint,
});

/** `FileChange` of the contract. */
export interface FileChange {
  /** Relative to /workspace. */
  path: string;
  action: "created" | "modified" | "deleted";
  sizeBytes: number;
  type: "file" | "dir";
}

export const readFileChange = (wire: Wire): FileChange => ({
  path: wire.path,
  action: wire.action,
  sizeBytes: wire.size_bytes,
  type: wire.type,
});

/** `FileEntry` of the contract. */
export interface FileEntry {
  name: string;
  path: string;
  type: "file" | "dir" | "link" | "other";
  size: number;
  /** Permission bits in octal. */
  mode: string;
  modifiedAt: Date;
  /** Of a symbolic link. */
  target: string | null;
  etag: string;
}

export const readFileEntry = (wire: Wire): FileEntry => ({
  name: wire.name,
  path: wire.path,
  type: wire.type,
  size: wire.size,
  mode: wire.mode,
  modifiedAt: time(wire.modified_at),
  target: wire.target,
  etag: wire.etag,
});

/** `Finding` of the contract. */
export interface Finding {
  rule: string;
  severity: "error" | "critical" | "high" | "medium" | "info";
  /** From 1; 0: not known. */
  line: number;
  /** From 1; 0: not known. */
  column: number;
  message: string;
}

export const readFinding = (wire: Wire): Finding => ({
  rule: wire.rule,
  severity: wire.severity,
  line: wire.line,
  column: wire.column,
  message: wire.message,
});

/** `GapEvent` of the contract. */
export interface GapEvent {
  /** Lost between what was asked for and what follows. */
  bytes: number;
}

export const readGapEvent = (wire: Wire): GapEvent => ({
  bytes: wire.bytes,
});

/** `GlobResult` of the contract. */
export interface GlobResult {
  entries: FileEntry[];
  truncated: boolean;
}

export const readGlobResult = (wire: Wire): GlobResult => ({
  entries: ((items: Wire[]) => items.map(readFileEntry))(wire.entries),
  truncated: wire.truncated,
});

/** `GrepMatch` of the contract. */
export interface GrepMatch {
  path: string;
  line: number;
  text: string;
  /** A neighbour, not itself a match. */
  context: boolean;
  /** The line is longer than what is shown. */
  cut: boolean;
}

export const readGrepMatch = (wire: Wire): GrepMatch => ({
  path: wire.path,
  line: wire.line,
  text: wire.text,
  context: wire.context,
  cut: wire.cut,
});

/** `GrepResult` of the contract. */
export interface GrepResult {
  matches: GrepMatch[];
  truncated: boolean;
  files: number;
  matchCount: number;
}

export const readGrepResult = (wire: Wire): GrepResult => ({
  matches: ((items: Wire[]) => items.map(readGrepMatch))(wire.matches),
  truncated: wire.truncated,
  files: wire.files,
  matchCount: wire.match_count,
});

/** `Health` of the contract. */
export interface Health {
  status: string;
  version: string;
}

export const readHealth = (wire: Wire): Health => ({
  status: wire.status,
  version: wire.version,
});

/** `HostAccess` of the contract. */
export interface HostAccess {
  /** Patterns of commands that nobody is asked about. */
  alwaysAllowed: string[];
  /** Patterns of commands that nobody can allow. */
  blocked: string[];
  /** Whose files may be read. */
  folders: string[];
  /** Whose files may be read and written. */
  writableFolders: string[];
  /** Those that wait or are in force. */
  approvals: ApprovalInfo[];
}

export const readHostAccess = (wire: Wire): HostAccess => ({
  alwaysAllowed: wire.always_allowed,
  blocked: wire.blocked,
  folders: wire.folders,
  writableFolders: wire.writable_folders,
  approvals: ((items: Wire[]) => items.map(readApprovalInfo))(wire.approvals),
});

/** `HostContent` of the contract. */
export interface HostContent {
  path: string;
  content: string;
  base64: boolean;
  /** Of the whole file. */
  size: number;
  /** Whether there is more after this. */
  truncated: boolean;
}

export const readHostContent = (wire: Wire): HostContent => ({
  path: wire.path,
  content: wire.content,
  base64: wire.base64,
  size: wire.size,
  truncated: wire.truncated,
});

/** `HostEntry` of the contract. */
export interface HostEntry {
  name: string;
  path: string;
  kind: "file" | "directory" | "link" | "other";
  size: number;
  modifiedAt: Date;
}

export const readHostEntry = (wire: Wire): HostEntry => ({
  name: wire.name,
  path: wire.path,
  kind: wire.kind,
  size: wire.size,
  modifiedAt: time(wire.modified_at),
});

/** `HostListing` of the contract. */
export interface HostListing {
  files: HostEntry[];
}

export const readHostListing = (wire: Wire): HostListing => ({
  files: ((items: Wire[]) => items.map(readHostEntry))(wire.files),
});

/** `HostResult` of the contract. */
export interface HostResult {
  /** 128 and the signal, when one ended it. */
  exitCode: number;
  stdout: string;
  stderr: string;
  timedOut: boolean;
  /** Whether there was more output than is kept. */
  truncated: boolean;
  durationMs: number;
}

export const readHostResult = (wire: Wire): HostResult => ({
  exitCode: wire.exit_code,
  stdout: wire.stdout,
  stderr: wire.stderr,
  timedOut: wire.timed_out,
  truncated: wire.truncated,
  durationMs: wire.duration_ms,
});

/** `HostWritten` of the contract. */
export interface HostWritten {
  path: string;
  size: number;
}

export const readHostWritten = (wire: Wire): HostWritten => ({
  path: wire.path,
  size: wire.size,
});

/** `Image` of the contract. */
export interface ImageInfo {
  name: string;
  source: "host" | "folder" | "catalog" | "registry" | "archive" | "sandbox";
  /** What it was made from: a recipe, a reference, a folder. */
  origin: string;
  /** Of the last attempt; one that failed leaves what was there. */
  status: "available" | "building" | "ready" | "failed";
  /** Of its root; null when its files are not kept by the server. */
  digest: string | null;
  /** Of the files that a sandbox sees. */
  sizeBytes: number;
  /** Whose interpreters it has. */
  languages: string[];
  /** That can start a sandbox on it now. */
  engines: string[];
  usable: boolean;
  /** Why the last attempt failed. */
  failure: string | null;
  updatedAt: Date | null;
}

export const readImageInfo = (wire: Wire): ImageInfo => ({
  name: wire.name,
  source: wire.source,
  origin: wire.origin,
  status: wire.status,
  digest: wire.digest,
  sizeBytes: wire.size_bytes,
  languages: wire.languages,
  engines: wire.engines,
  usable: wire.usable,
  failure: wire.failure,
  updatedAt: optional(time, wire.updated_at),
});

/** One way to build images of the catalog. */
export interface ImageBuilder {
  name: string;
  usable: boolean;
  /** Whether a build would go this way now. */
  used: boolean;
  /** Where it is, or what it begins with; where it cannot be used, why and what to do. */
  detail: string;
}

export const readImageBuilder = (wire: Wire): ImageBuilder => ({
  name: wire.name,
  usable: wire.usable,
  used: wire.used,
  detail: wire.detail,
});

/** `ImageList` of the contract. */
export interface ImageList {
  images: ImageInfo[];
  diskBytes: number;
}

export const readImageList = (wire: Wire): ImageList => ({
  images: ((items: Wire[]) => items.map(readImageInfo))(wire.images),
  diskBytes: wire.disk_bytes,
});

/** Exactly what an image was built of. */
export interface ImageLock {
  /** Name in the catalog. */
  image: string;
  /** Codename of the distribution's release. */
  release: string;
  architecture: string;
  /** Seconds; no file of the image is newer. */
  sourceDateEpoch: number;
  /** Where its packages came from; null: the host's own sources. */
  snapshot?: string | null | undefined;
  /** Of the image that came of it. */
  digest?: string | null | undefined;
  /** All that are installed, such as adduser:all=3.134. */
  packages: string[];
}

export const readImageLock = (wire: Wire): ImageLock => ({
  image: wire.image,
  release: wire.release,
  architecture: wire.architecture,
  sourceDateEpoch: wire.source_date_epoch,
  snapshot: wire.snapshot,
  digest: wire.digest,
  packages: wire.packages,
});

export const writeImageLock = (given: ImageLock): Wire => ({
  image: given.image,
  release: given.release,
  architecture: given.architecture,
  source_date_epoch: given.sourceDateEpoch,
  snapshot: given.snapshot,
  digest: given.digest,
  packages: given.packages,
});

/** How far the work on an image is. */
export interface ImageProgress {
  step: string;
  done: number;
  /** Null when nobody knows. */
  total: number | null;
  /** New lines. */
  log: string[];
}

export const readImageProgress = (wire: Wire): ImageProgress => ({
  step: wire.step,
  done: wire.done,
  total: wire.total,
  log: wire.log,
});

/** `ImportResult` of the contract. */
export interface ImportResult {
  /** All came. */
  success: boolean;
  files: ImportedFile[];
  error: string;
}

export const readImportResult = (wire: Wire): ImportResult => ({
  success: wire.success,
  files: ((items: Wire[]) => items.map(readImportedFile))(wire.files),
  error: wire.error,
});

/** `ImportedFile` of the contract. */
export interface ImportedFile {
  source: string;
  destination: string;
  success: boolean;
  files: number;
  /** Bytes of all files. */
  size: number;
  /** Links and the like that were left out of a folder. */
  skipped: number;
  error: string | null;
  code: string | null;
}

export const readImportedFile = (wire: Wire): ImportedFile => ({
  source: wire.source,
  destination: wire.destination,
  success: wire.success,
  files: wire.files,
  size: wire.size,
  skipped: wire.skipped,
  error: wire.error,
  code: wire.code,
});

/** `InstallPackages` of the contract. */
export interface InstallPackages {
  manager: "pip" | "npm" | "r";
  /** Names with or without a version, `six==1.17.0` or `is-odd@3.0.1`; no addresses, paths or options. */
  packages: string[];
  /** Let packages run code of their own while they are installed: npm's scripts, builds of Python's source distributions. */
  scripts?: boolean | undefined;
}

export const readInstallPackages = (wire: Wire): InstallPackages => ({
  manager: wire.manager,
  packages: wire.packages,
  scripts: wire.scripts,
});

export const writeInstallPackages = (given: InstallPackages): Wire => ({
  manager: given.manager,
  packages: given.packages,
  scripts: given.scripts,
});

/** `Installation` of the contract. */
export interface Installation {
  manager: string;
  /** The client said so and every package is there. */
  success: boolean;
  /** Those asked for, as they are now. */
  packages: InstalledPackage[];
  /** All that was chosen to be installed for them, with what they depend on. */
  resolved: InstalledPackage[];
  /** How many of their files the server had already. */
  filesCached: number;
  /** How many of them it fetched now, and has from now on. */
  filesFetched: number;
  exitCode: number;
  timedOut: boolean;
  stdout: string;
  stderr: string;
  durationMs: number;
  execId: string;
}

export const readInstallation = (wire: Wire): Installation => ({
  manager: wire.manager,
  success: wire.success,
  packages: ((items: Wire[]) => items.map(readInstalledPackage))(wire.packages),
  resolved: ((items: Wire[]) => items.map(readInstalledPackage))(wire.resolved),
  filesCached: wire.files_cached,
  filesFetched: wire.files_fetched,
  exitCode: wire.exit_code,
  timedOut: wire.timed_out,
  stdout: wire.stdout,
  stderr: wire.stderr,
  durationMs: wire.duration_ms,
  execId: wire.exec_id,
});

/** `InstalledPackage` of the contract. */
export interface InstalledPackage {
  name: string;
  /** As the sandbox tells; null: it is not there. */
  version: string | null;
}

export const readInstalledPackage = (wire: Wire): InstalledPackage => ({
  name: wire.name,
  version: wire.version,
});

/** `InstalledSkill` of the contract. */
export interface InstalledSkill {
  id: string;
  name: string;
  version: number;
  /** Of what was installed. */
  digest: string;
  /** Where its files are. */
  path: string;
  installedAt: Date;
}

export const readInstalledSkill = (wire: Wire): InstalledSkill => ({
  id: wire.id,
  name: wire.name,
  version: wire.version,
  digest: wire.digest,
  path: wire.path,
  installedAt: time(wire.installed_at),
});

/** `InstalledSkillList` of the contract. */
export interface InstalledSkillList {
  skills: InstalledSkill[];
}

export const readInstalledSkillList = (wire: Wire): InstalledSkillList => ({
  skills: ((items: Wire[]) => items.map(readInstalledSkill))(wire.skills),
});

/** `LanguageInfo` of the contract. */
export interface LanguageInfo {
  name: Language;
}

export const readLanguageInfo = (wire: Wire): LanguageInfo => ({
  name: wire.name,
});

/** `LanguageList` of the contract. */
export interface LanguageList {
  languages: LanguageInfo[];
}

export const readLanguageList = (wire: Wire): LanguageList => ({
  languages: ((items: Wire[]) => items.map(readLanguageInfo))(wire.languages),
});

/** `Measure` of the contract. */
export interface Measure {
  name: string;
  applied: boolean;
  detail: string;
}

export const readMeasure = (wire: Wire): Measure => ({
  name: wire.name,
  applied: wire.applied,
  detail: wire.detail,
});

/** Deny goes over allow, and what nothing allows is denied. Addresses that are not the internet are refused whatever a policy says. */
export interface NetworkPolicy {
  /** `observe` lets pass what no rule allows and notes it; only where the operator permits it. */
  mode?: "enforce" | "observe" | undefined;
  allow?: string[] | undefined;
  deny?: string[] | undefined;
  /** For example `packages` (the hosts that the server's pip, npm, cargo and apt use) and `github`. */
  presets?: string[] | undefined;
  /** Both ways, in all; 0 means no limit. */
  maxBytes?: number | undefined;
  /** Both ways; 0 means no limit, else at least 1024. */
  bytesPerSecond?: number | undefined;
}

export const readNetworkPolicy = (wire: Wire): NetworkPolicy => ({
  mode: wire.mode,
  allow: wire.allow,
  deny: wire.deny,
  presets: wire.presets,
  maxBytes: wire.max_bytes,
  bytesPerSecond: wire.bytes_per_second,
});

export const writeNetworkPolicy = (given: NetworkPolicy): Wire => ({
  mode: given.mode,
  allow: given.allow,
  deny: given.deny,
  presets: given.presets,
  max_bytes: given.maxBytes,
  bytes_per_second: given.bytesPerSecond,
});

/** `NewBudget` of the contract. */
export interface NewBudget {
  cpuSeconds: number | null;
  /** Both ways through the proxy. */
  egressBytes: number | null;
  /** Commands and cells. */
  executions: number | null;
}

export const readNewBudget = (wire: Wire): NewBudget => ({
  cpuSeconds: wire.cpu_seconds ?? null,
  egressBytes: wire.egress_bytes ?? null,
  executions: wire.executions ?? null,
});

/** `OutputChunk` of the contract. */
export interface OutputChunk {
  channel: "stdout" | "stderr";
  offset: number;
  data: string;
}

export const readOutputChunk = (wire: Wire): OutputChunk => ({
  channel: wire.channel,
  offset: wire.offset,
  data: wire.data,
});

/** `text`, of whole characters, or `base64` when that encoding was asked for: bytes as they come, which may end within one. The event's `id` is the offset to resume from, with `from` or the header `Last-Event-ID`. */
export interface OutputEvent {
  text: string | null;
  base64: string | null;
}

export const readOutputEvent = (wire: Wire): OutputEvent => ({
  text: wire.text ?? null,
  base64: wire.base64 ?? null,
});

/** `Pool` of the contract. */
export interface PoolInfo {
  imageId: string;
  imageName: string;
  warmPoolMin: number;
  warmPoolMax: number;
  /** Boxes that wait. */
  idleCount: number;
  /** How many should. */
  target: number;
  /** The engine; empty without a pool. */
  provider: string;
  /** Interpreters that run already in each box. */
  languages: string[];
  /** Creates that took a box. */
  hits: number;
  /** Creates that found none and started cold. */
  misses: number;
}

export const readPoolInfo = (wire: Wire): PoolInfo => ({
  imageId: wire.image_id,
  imageName: wire.image_name,
  warmPoolMin: wire.warm_pool_min,
  warmPoolMax: wire.warm_pool_max,
  idleCount: wire.idle_count,
  target: wire.target,
  provider: wire.provider,
  languages: wire.languages,
  hits: wire.hits,
  misses: wire.misses,
});

/** `PoolSummary` of the contract. */
export interface PoolSummary {
  totalImages: number;
  imagesWithPool: number;
  totalIdle: number;
  totalMinTarget: number;
  totalMaxTarget: number;
  /** Whether the settings let sandboxes be made ahead of need (`pool.sizes`, `pool.ahead`), be there a pool just now or not. */
  warmPoolEnabled: boolean;
  perImage: PoolInfo[];
}

export const readPoolSummary = (wire: Wire): PoolSummary => ({
  totalImages: wire.total_images,
  imagesWithPool: wire.images_with_pool,
  totalIdle: wire.total_idle,
  totalMinTarget: wire.total_min_target,
  totalMaxTarget: wire.total_max_target,
  warmPoolEnabled: wire.warm_pool_enabled,
  perImage: ((items: Wire[]) => items.map(readPoolInfo))(wire.per_image),
});

/** `PortLink` of the contract. */
export interface PortLink {
  /** As the server was addressed just now. A browser is led on to the app's own origin where it has one. */
  url: string;
  /** The same on this server, by whatever name it is addressed. */
  path: string;
  port: number;
  expiresAt: Date;
}

export const readPortLink = (wire: Wire): PortLink => ({
  url: wire.url,
  path: wire.path,
  port: wire.port,
  expiresAt: time(wire.expires_at),
});

/** `Problem` of the contract. */
export interface Problem {
  /** urn:carrel:error: and the code. */
  type: string;
  title: string;
  status: number;
  /** What is wrong, with the thing and the limit. */
  detail: string;
  code: "invalid_input" | "unauthenticated" | "forbidden" | "not_found" | "method_not_allowed" | "sandbox_not_found" | "exec_not_found" | "context_not_found" | "file_not_found" | "volume_not_found" | "snapshot_not_found" | "secret_not_found" | "approval_not_found" | "key_not_found" | "export_not_found" | "upload_not_found" | "skill_not_found" | "image_not_found" | "image_invalid" | "image_source_failed" | "language_not_available" | "engine_not_available" | "isolation_not_available" | "not_supported" | "key_reused" | "not_a_file" | "not_a_directory" | "file_exists" | "directory_not_empty" | "permission_denied" | "wrong_state" | "precondition_failed" | "range_not_satisfiable" | "too_large" | "no_space" | "limit_reached" | "egress_denied" | "web_failed" | "budget_exhausted" | "port_closed" | "app_failed" | "sandbox_gone" | "result_gone" | "guest_lost" | "engine_failed" | "store_busy" | "shutting_down" | "vault_damaged" | "internal";
  /** The field of the request at fault. */
  field: string | null;
  /** What to do about it. */
  hint: string | null;
  /** How a sandbox died. */
  cause: string | null;
  requestId: string;
}

export const readProblem = (wire: Wire): Problem => ({
  type: wire.type,
  title: wire.title,
  status: wire.status,
  detail: wire.detail,
  code: wire.code,
  field: wire.field ?? null,
  hint: wire.hint ?? null,
  cause: wire.cause ?? null,
  requestId: wire.request_id,
});

/** What was removed. */
export interface PrunedImages {
  removed: string[];
  freedBytes: number;
}

export const readPrunedImages = (wire: Wire): PrunedImages => ({
  removed: wire.removed,
  freedBytes: wire.freed_bytes,
});

/** `Queue` of the contract. */
export interface QueueStatus {
  lines: QueueLine[];
  /** One's own tenant's. */
  waiting: WaitingRequest[];
}

export const readQueueStatus = (wire: Wire): QueueStatus => ({
  lines: ((items: Wire[]) => items.map(readQueueLine))(wire.lines),
  waiting: ((items: Wire[]) => items.map(readWaitingRequest))(wire.waiting),
});

/** `QueueLine` of the contract. */
export interface QueueLine {
  kind: "create" | "execution";
  running: number;
  waiting: number;
  /** The most that run at once. */
  limit: number;
  maxWaiting: number;
}

export const readQueueLine = (wire: Wire): QueueLine => ({
  kind: wire.kind,
  running: wire.running,
  waiting: wire.waiting,
  limit: wire.limit,
  maxWaiting: wire.max_waiting,
});

/** `QueuedEvent` of the contract. */
export interface QueuedEvent {
  /** 1 is the next. */
  position: number;
}

export const readQueuedEvent = (wire: Wire): QueuedEvent => ({
  position: wire.position,
});

/** `Sandbox` of the contract. */
export interface SandboxInfo {
  id: string;
  status: SandboxStatus;
  image: string;
  engine: string;
  /** What the engine runs it with. */
  runtime: string;
  /** What was really applied; null before it runs. */
  isolation: Isolation | null;
  isolationMeasures: Measure[];
  workspacePath: string;
  /** The tenant. */
  userId: string;
  /** Who created it. */
  userName: string;
  /** The label inside the tenant whose secrets and rules are its own. */
  namespace: string;
  /** Only with engines that make containers. */
  containerId: string | null;
  /** Whether its files outlive its machine. */
  persistent: boolean;
  /** The name of your volume that it uses; null when it has one of its own, or none. */
  volume: string | null;
  /** The id of its volume; null where /workspace is in memory. */
  volumeName: string | null;
  createdAt: Date;
  lastActivityAt: Date;
  /** Its present or last machine. */
  startedAt: Date | null;
  stoppedAt: Date | null;
  /** When it goes with its files, unless it is started or changed before; null unless it has ended. */
  removalAt: Date | null;
  memoryMb: number;
  cpuCores: number;
  diskMb: number;
  /** Processes and threads at most. */
  pids: number;
  idleTimeoutSeconds: number;
  onIdle: OnIdle;
  maxLifeSeconds: number;
  /** Whether anything can get out. */
  networkEnabled: boolean;
  network: NetworkPolicy;
  isolated: boolean;
  rootfs: Rootfs;
  envVars: Record<string, string>;
  execCount: number;
  execTotalMs: number;
  bytesUploaded: number;
  bytesDownloaded: number;
  sessionKey: string | null;
  secrets: string[];
  /** Why it stands still until it is resumed or started by somebody: a canary secret was about to leave it. */
  frozen: string | null;
  metadata: Record<string, string>;
  /** What it was given, by name. */
  skills: InstalledSkill[];
  /** null: it has none of its own. */
  budget: BudgetInfo | null;
  /** What was installed at its making; null in every other answer. */
  packages: Installation[] | null;
  failure: Failure | null;
}

export const readSandboxInfo = (wire: Wire): SandboxInfo => ({
  id: wire.id,
  status: wire.status,
  image: wire.image,
  engine: wire.engine,
  runtime: wire.runtime,
  isolation: wire.isolation,
  isolationMeasures: ((items: Wire[]) => items.map(readMeasure))(wire.isolation_measures),
  workspacePath: wire.workspace_path,
  userId: wire.user_id,
  userName: wire.user_name,
  namespace: wire.namespace,
  containerId: wire.container_id,
  persistent: wire.persistent,
  volume: wire.volume,
  volumeName: wire.volume_name,
  createdAt: time(wire.created_at),
  lastActivityAt: time(wire.last_activity_at),
  startedAt: optional(time, wire.started_at),
  stoppedAt: optional(time, wire.stopped_at),
  removalAt: optional(time, wire.removal_at),
  memoryMb: wire.memory_mb,
  cpuCores: wire.cpu_cores,
  diskMb: wire.disk_mb,
  pids: wire.pids,
  idleTimeoutSeconds: wire.idle_timeout_seconds,
  onIdle: wire.on_idle,
  maxLifeSeconds: wire.max_life_seconds,
  networkEnabled: wire.network_enabled,
  network: readNetworkPolicy(wire.network),
  isolated: wire.isolated,
  rootfs: wire.rootfs,
  envVars: wire.env_vars,
  execCount: wire.exec_count,
  execTotalMs: wire.exec_total_ms,
  bytesUploaded: wire.bytes_uploaded,
  bytesDownloaded: wire.bytes_downloaded,
  sessionKey: wire.session_key,
  secrets: wire.secrets,
  frozen: wire.frozen,
  metadata: wire.metadata,
  skills: ((items: Wire[]) => items.map(readInstalledSkill))(wire.skills),
  budget: optional(readBudgetInfo, wire.budget),
  packages: optional(((items: Wire[]) => items.map(readInstallation)), wire.packages),
  failure: optional(readFailure, wire.failure),
});

/** `SandboxPage` of the contract. */
export interface SandboxPage {
  items: SandboxInfo[];
  total: number;
  page: number;
  pageSize: number;
  /** Of all your sandboxes by status. */
  statusCounts: Record<string, number>;
}

export const readSandboxPage = (wire: Wire): SandboxPage => ({
  items: ((items: Wire[]) => items.map(readSandboxInfo))(wire.items),
  total: wire.total,
  page: wire.page,
  pageSize: wire.page_size,
  statusCounts: wire.status_counts,
});

/** `SandboxSettings` of the contract. */
export interface SandboxSettings {
  /** For a create that names none. */
  defaultImage: string;
  memoryMb: number;
  cpuCores: number;
  diskMb: number;
  pids: number;
  /** 0: never. */
  idleTimeoutSeconds: number;
  maxIdleTimeoutSeconds: number;
  /** 0: for ever. */
  maxLifeSeconds: number;
  stoppedRetentionSeconds: number;
  /** The most that one sandbox may ask for. */
  maxMemoryMb: number;
  maxCpuCores: number;
  maxDiskMb: number;
  maxPids: number;
  /** Starting, running and paused ones on this server. */
  maxSandboxes: number;
  /** The same for one tenant. */
  defaultMaxPerUser: number;
  evictWhenFull: boolean;
  /** Whether sandboxes are made ahead of need, where `pool.sizes` or `pool.ahead` has any. */
  warmPoolEnabled: boolean;
  maxConcurrentCreates: number;
  maxConcurrentExecutions: number;
  /** Requests that may wait in each line. */
  maxQueued: number;
  /** The engine of a create that names none. */
  providerType: string;
  images: string[];
  /** What each setting is without a change. */
  configured: Record<string, unknown>;
  /** Names of those that were changed. */
  changed: string[];
}

export const readSandboxSettings = (wire: Wire): SandboxSettings => ({
  defaultImage: wire.default_image,
  memoryMb: wire.memory_mb,
  cpuCores: wire.cpu_cores,
  diskMb: wire.disk_mb,
  pids: wire.pids,
  idleTimeoutSeconds: wire.idle_timeout_seconds,
  maxIdleTimeoutSeconds: wire.max_idle_timeout_seconds,
  maxLifeSeconds: wire.max_life_seconds,
  stoppedRetentionSeconds: wire.stopped_retention_seconds,
  maxMemoryMb: wire.max_memory_mb,
  maxCpuCores: wire.max_cpu_cores,
  maxDiskMb: wire.max_disk_mb,
  maxPids: wire.max_pids,
  maxSandboxes: wire.max_sandboxes,
  defaultMaxPerUser: wire.default_max_per_user,
  evictWhenFull: wire.evict_when_full,
  warmPoolEnabled: wire.warm_pool_enabled,
  maxConcurrentCreates: wire.max_concurrent_creates,
  maxConcurrentExecutions: wire.max_concurrent_executions,
  maxQueued: wire.max_queued,
  providerType: wire.provider_type,
  images: wire.images,
  configured: wire.configured,
  changed: wire.changed,
});

/** `Secret` of the contract. */
export interface SecretInfo {
  namespace: string;
  name: string;
  /** Grows with each rotation; 0 for one of the environment. */
  version: number;
  canary: boolean;
  /** Where requests may carry it, while processes get a placeholder; empty: processes get it themselves. */
  hosts: string[];
  source: "store" | "environment";
  createdAt: Date | null;
  updatedAt: Date | null;
}

export const readSecretInfo = (wire: Wire): SecretInfo => ({
  namespace: wire.namespace,
  name: wire.name,
  version: wire.version,
  canary: wire.canary,
  hosts: wire.hosts,
  source: wire.source,
  createdAt: optional(time, wire.created_at),
  updatedAt: optional(time, wire.updated_at),
});

/** `SecretList` of the contract. */
export interface SecretList {
  secrets: SecretInfo[];
}

export const readSecretList = (wire: Wire): SecretList => ({
  secrets: ((items: Wire[]) => items.map(readSecretInfo))(wire.secrets),
});

/** `SignedArtifacts` of the contract. */
export interface SignedArtifacts {
  artifacts: ArtifactInfo[];
  skipped: SkippedArtifact[];
  /** There was more than is looked at at once. */
  truncated: boolean;
}

export const readSignedArtifacts = (wire: Wire): SignedArtifacts => ({
  artifacts: ((items: Wire[]) => items.map(readArtifactInfo))(wire.artifacts),
  skipped: ((items: Wire[]) => items.map(readSkippedArtifact))(wire.skipped),
  truncated: wire.truncated,
});

/** `SigningKey` of the contract. */
export interface SigningKey {
  id: string;
  algorithm: "Ed25519";
  /** X.509, base64. */
  publicKey: string;
}

export const readSigningKey = (wire: Wire): SigningKey => ({
  id: wire.id,
  algorithm: wire.algorithm,
  publicKey: wire.public_key,
});

/** `Skill` of the contract. */
export interface SkillInfo {
  id: string;
  name: string;
  description: string;
  sourceType: "zip" | "md";
  /** All that SKILL.md begins with. */
  skillMetadata: Record<string, unknown>;
  /** Of the names and contents of its files, whatever they were packed in. */
  digest: string;
  /** One more for each upload with another digest. */
  version: number;
  /** Of what was uploaded. */
  packageSizeBytes: number;
  /** Of its files. */
  sizeBytes: number;
  fileCount: number;
  createdBy: string;
  createdAt: Date;
  updatedAt: Date;
}

export const readSkillInfo = (wire: Wire): SkillInfo => ({
  id: wire.id,
  name: wire.name,
  description: wire.description,
  sourceType: wire.source_type,
  skillMetadata: wire.skill_metadata,
  digest: wire.digest,
  version: wire.version,
  packageSizeBytes: wire.package_size_bytes,
  sizeBytes: wire.size_bytes,
  fileCount: wire.file_count,
  createdBy: wire.created_by,
  createdAt: time(wire.created_at),
  updatedAt: time(wire.updated_at),
});

/** `SkillDetails` of the contract. */
export interface SkillDetails {
  id: string;
  name: string;
  description: string;
  sourceType: "zip" | "md";
  /** All that SKILL.md begins with. */
  skillMetadata: Record<string, unknown>;
  /** Of the names and contents of its files, whatever they were packed in. */
  digest: string;
  /** One more for each upload with another digest. */
  version: number;
  /** Of what was uploaded. */
  packageSizeBytes: number;
  /** Of its files. */
  sizeBytes: number;
  fileCount: number;
  createdBy: string;
  createdAt: Date;
  updatedAt: Date;
  /** By path. */
  files: SkillFile[];
}

export const readSkillDetails = (wire: Wire): SkillDetails => ({
  id: wire.id,
  name: wire.name,
  description: wire.description,
  sourceType: wire.source_type,
  skillMetadata: wire.skill_metadata,
  digest: wire.digest,
  version: wire.version,
  packageSizeBytes: wire.package_size_bytes,
  sizeBytes: wire.size_bytes,
  fileCount: wire.file_count,
  createdBy: wire.created_by,
  createdAt: time(wire.created_at),
  updatedAt: time(wire.updated_at),
  files: ((items: Wire[]) => items.map(readSkillFile))(wire.files),
});

/** `SkillFailure` of the contract. */
export interface SkillFailure {
  id: string;
  name: string;
  error: string;
  code: string;
}

export const readSkillFailure = (wire: Wire): SkillFailure => ({
  id: wire.id,
  name: wire.name,
  error: wire.error,
  code: wire.code,
});

/** `SkillFile` of the contract. */
export interface SkillFile {
  path: string;
  sizeBytes: number;
  executable: boolean;
  /** sha256: and hex of its bytes. */
  digest: string;
}

export const readSkillFile = (wire: Wire): SkillFile => ({
  path: wire.path,
  sizeBytes: wire.size_bytes,
  executable: wire.executable,
  digest: wire.digest,
});

/** `SkillInstallation` of the contract. */
export interface SkillInstallation {
  installed: InstalledSkill[];
  /** Whose files were in their place. */
  alreadyInstalled: InstalledSkill[];
  /** Ids or names of none. */
  notFound: string[];
  extractionErrors: SkillFailure[];
}

export const readSkillInstallation = (wire: Wire): SkillInstallation => ({
  installed: ((items: Wire[]) => items.map(readInstalledSkill))(wire.installed),
  alreadyInstalled: ((items: Wire[]) => items.map(readInstalledSkill))(wire.already_installed),
  notFound: wire.not_found,
  extractionErrors: ((items: Wire[]) => items.map(readSkillFailure))(wire.extraction_errors),
});

/** `SkillList` of the contract. */
export interface SkillList {
  skills: SkillInfo[];
}

export const readSkillList = (wire: Wire): SkillList => ({
  skills: ((items: Wire[]) => items.map(readSkillInfo))(wire.skills),
});

/** `SkippedArtifact` of the contract. */
export interface SkippedArtifact {
  path: string;
  reason: string;
}

export const readSkippedArtifact = (wire: Wire): SkippedArtifact => ({
  path: wire.path,
  reason: wire.reason,
});

/** `Snapshot` of the contract. */
export interface SnapshotInfo {
  id: string;
  /** Where it is from; that sandbox may be gone. */
  sandboxId: string;
  name: string | null;
  image: string;
  engine: string;
  /** Of the disk that it is a copy of. */
  sizeMb: number;
  /** On the host's disk. */
  usedBytes: number;
  createdAt: Date;
}

export const readSnapshotInfo = (wire: Wire): SnapshotInfo => ({
  id: wire.id,
  sandboxId: wire.sandbox_id,
  name: wire.name,
  image: wire.image,
  engine: wire.engine,
  sizeMb: wire.size_mb,
  usedBytes: wire.used_bytes,
  createdAt: time(wire.created_at),
});

/** `SnapshotList` of the contract. */
export interface SnapshotList {
  snapshots: SnapshotInfo[];
}

export const readSnapshotList = (wire: Wire): SnapshotList => ({
  snapshots: ((items: Wire[]) => items.map(readSnapshotInfo))(wire.snapshots),
});

/** `TerminalLink` of the contract. */
export interface TerminalLink {
  /** Of the WebSocket. */
  url: string;
  /** The same on this server, by whatever name it is addressed. */
  path: string;
  write: boolean;
  expiresAt: Date;
}

export const readTerminalLink = (wire: Wire): TerminalLink => ({
  url: wire.url,
  path: wire.path,
  write: wire.write,
  expiresAt: time(wire.expires_at),
});

/** `TerminalSize` of the contract. */
export interface TerminalSize {
  rows: number;
  cols: number;
}

export const readTerminalSize = (wire: Wire): TerminalSize => ({
  rows: wire.rows,
  cols: wire.cols,
});

export const writeTerminalSize = (given: TerminalSize): Wire => ({
  rows: given.rows,
  cols: given.cols,
});

/** `TextEvent` of the contract. */
export interface TextEvent {
  text: string;
}

export const readTextEvent = (wire: Wire): TextEvent => ({
  text: wire.text,
});

/** `Usage` of the contract. */
export interface SandboxUsage {
  id: string;
  status: string;
  engine: string;
  image: string;
  userId: string;
  /** Since its machine started: two looks give the load between them. */
  cpuSeconds: number;
  /** The limit. */
  cpuCores: number;
  memoryBytes: number;
  memoryLimitBytes: number;
  processes: number;
  /** The limit. */
  pids: number;
  /** Shortened; without its environment. */
  lastCommand: string | null;
  createdAt: Date;
  lastActivityAt: Date;
}

export const readSandboxUsage = (wire: Wire): SandboxUsage => ({
  id: wire.id,
  status: wire.status,
  engine: wire.engine,
  image: wire.image,
  userId: wire.user_id,
  cpuSeconds: wire.cpu_seconds,
  cpuCores: wire.cpu_cores,
  memoryBytes: wire.memory_bytes,
  memoryLimitBytes: wire.memory_limit_bytes,
  processes: wire.processes,
  pids: wire.pids,
  lastCommand: wire.last_command,
  createdAt: time(wire.created_at),
  lastActivityAt: time(wire.last_activity_at),
});

/** `UsageList` of the contract. */
export interface UsageList {
  at: Date;
  sandboxes: SandboxUsage[];
  truncated: boolean;
}

export const readUsageList = (wire: Wire): UsageList => ({
  at: time(wire.at),
  sandboxes: ((items: Wire[]) => items.map(readSandboxUsage))(wire.sandboxes),
  truncated: wire.truncated,
});

/** `Validation` of the contract. */
export interface Validation {
  valid: boolean;
  findings: Finding[];
  /** Lines that were missing. */
  imports: string[];
  /** The code with those lines. */
  fixedCode: string | null;
}

export const readValidation = (wire: Wire): Validation => ({
  valid: wire.valid,
  findings: ((items: Wire[]) => items.map(readFinding))(wire.findings),
  imports: wire.imports,
  fixedCode: wire.fixed_code,
});

/** `Volume` of the contract. */
export interface VolumeInfo {
  id: string;
  name: string;
  engine: string;
  /** Who uses it now. */
  sandboxId: string | null;
  sizeMb: number;
  /** On the host's disk. */
  usedBytes: number;
  createdAt: Date;
  usedAt: Date;
}

export const readVolumeInfo = (wire: Wire): VolumeInfo => ({
  id: wire.id,
  name: wire.name,
  engine: wire.engine,
  sandboxId: wire.sandbox_id,
  sizeMb: wire.size_mb,
  usedBytes: wire.used_bytes,
  createdAt: time(wire.created_at),
  usedAt: time(wire.used_at),
});

/** `VolumeList` of the contract. */
export interface VolumeList {
  volumes: VolumeInfo[];
}

export const readVolumeList = (wire: Wire): VolumeList => ({
  volumes: ((items: Wire[]) => items.map(readVolumeInfo))(wire.volumes),
});

/** `WaitingRequest` of the contract. */
export interface WaitingRequest {
  kind: "create" | "execution";
  /** 1 is the next. */
  position: number;
  since: Date;
  waitedMs: number;
  sandboxId: string | null;
}

export const readWaitingRequest = (wire: Wire): WaitingRequest => ({
  kind: wire.kind,
  position: wire.position,
  since: time(wire.since),
  waitedMs: wire.waited_ms,
  sandboxId: wire.sandbox_id,
});

/** `WatchChange` of the contract. */
export interface WatchChange {
  path: string;
  kind: "created" | "modified" | "deleted" | "moved_away" | "moved_here" | "overflow";
  directory: boolean;
}

export const readWatchChange = (wire: Wire): WatchChange => ({
  path: wire.path,
  kind: wire.kind,
  directory: wire.directory,
});

/** `WatchReady` of the contract. */
export interface WatchReady {
  path: string;
}

export const readWatchReady = (wire: Wire): WatchReady => ({
  path: wire.path,
});

/** `WebPage` of the contract. */
export interface WebPage {
  /** Where it was found, after redirects within its host. */
  url: string;
  status: number;
  /** Where another host is said to have it; that one was not asked. */
  redirectUrl: string | null;
  contentType: string;
  title: string;
  /** Markdown for HTML, the text itself for other text. */
  content: string;
  truncated: boolean;
  cached: boolean;
}

export const readWebPage = (wire: Wire): WebPage => ({
  url: wire.url,
  status: wire.status,
  redirectUrl: wire.redirect_url,
  contentType: wire.content_type,
  title: wire.title,
  content: wire.content,
  truncated: wire.truncated,
  cached: wire.cached,
});

/** A page that a search found. */
export interface WebResult {
  title: string;
  url: string;
  snippet: string;
}

export const readWebResult = (wire: Wire): WebResult => ({
  title: wire.title,
  url: wire.url,
  snippet: wire.snippet,
});

/** What a search found, best first. */
export interface WebResults {
  /** Who answered. */
  provider: string;
  results: WebResult[];
}

export const readWebResults = (wire: Wire): WebResults => ({
  provider: wire.provider,
  results: ((items: Wire[]) => items.map(readWebResult))(wire.results),
});

/** What `AddSecret` of the contract takes besides what it requires. */
export interface SecretOptions {
  namespace?: string | undefined;
  /** Nobody needs it: when it is about to leave a sandbox, that is told as `secret.canary` and the sandbox is frozen. */
  canary?: boolean | undefined;
  /** Where requests may carry it: `api.example.com`, `*.example.com` (which is example.com too), `example.com:8443`; port 443 where none is named. Not for canaries. Stays as it is when the secret is rotated. */
  hosts?: string[] | undefined;
}

export const writeSecretOptions = (given: SecretOptions): Wire => ({
  namespace: given.namespace,
  canary: given.canary,
  hosts: given.hosts,
});

/** What `ApprovalDecision` of the contract takes besides what it requires. */
export interface DecisionOptions {
  /** Instead of the one that was asked for. */
  scope?: "once" | "sandbox" | "namespace" | undefined;
  /** How long it holds; without it as long as the scope says. */
  validSeconds?: number | undefined;
  note?: string | undefined;
}

export const writeDecisionOptions = (given: DecisionOptions): Wire => ({
  scope: given.scope,
  valid_seconds: given.validSeconds,
  note: given.note,
});

/** What `AskApproval` of the contract takes besides what it requires. */
export interface ApprovalOptions {
  kind?: "egress" | "host_command" | "secret" | undefined;
  /** Required unless the scope is namespace. */
  sandboxId?: string | undefined;
  namespace?: string | undefined;
  scope?: "once" | "sandbox" | "namespace" | undefined;
  /** Without control characters other than line ends and tabs. */
  reason?: string | undefined;
  expiresSeconds?: number | undefined;
  waitSeconds?: number | undefined;
}

export const writeApprovalOptions = (given: ApprovalOptions): Wire => ({
  kind: given.kind,
  sandbox_id: given.sandboxId,
  namespace: given.namespace,
  scope: given.scope,
  reason: given.reason,
  expires_seconds: given.expiresSeconds,
  wait_seconds: given.waitSeconds,
});

/** What `BridgeData` of the contract takes besides what it requires. */
export interface BridgeOptions {
  /** Any JSON; of a table `{"columns": [{"name", "type", "values"}]}` with the types integer, number, boolean, string and datetime. */
  value?: unknown | undefined;
  language?: "python" | "node" | "r" | "bash" | undefined;
  /** Left out: the usual interpreter of the language. */
  contextId?: string | undefined;
  toSandboxId?: string | undefined;
  toLanguage?: "python" | "node" | "r" | "bash" | undefined;
  toContextId?: string | undefined;
  toName?: string | undefined;
  /** `table`: data frames, with the types of their columns. */
  format?: "json" | "table" | undefined;
}

export const writeBridgeOptions = (given: BridgeOptions): Wire => ({
  value: given.value,
  language: given.language,
  context_id: given.contextId,
  to_sandbox_id: given.toSandboxId,
  to_language: given.toLanguage,
  to_context_id: given.toContextId,
  to_name: given.toName,
  format: given.format,
});

/** What `CodeRequest` of the contract takes besides what it requires. */
export interface CodeOptions {
  /** `python`, `node`, `r` or `bash`, or a usual alias such as `js`. */
  language?: string | undefined;
  contextId?: string | undefined;
  /** At its end the code is interrupted; if that does not help the interpreter is killed, and `state` is `lost`. */
  timeoutSeconds?: number | undefined;
  /** Look at the code first, in this sandbox: what cannot be read is refused (422), with reject also dangerous calls. Left out: it is not looked at. */
  validate?: OnDanger | undefined;
  /** With `validate`: run it with the imports that are missing (Python). */
  autoFix?: boolean | undefined;
}

export const writeCodeOptions = (given: CodeOptions): Wire => ({
  language: given.language,
  context_id: given.contextId,
  timeout_seconds: given.timeoutSeconds,
  validate: given.validate,
  auto_fix: given.autoFix,
});

/** What `CreateContext` of the contract takes besides what it requires. */
export interface ContextOptions {
  /** Absolute. */
  cwd?: string | undefined;
  /** On top of the sandbox's own. */
  env?: Record<string, string> | undefined;
  /** Secrets of the sandbox's namespace that this interpreter gets in its environment. */
  secrets?: string[] | undefined;
  /** What a Python interpreter has imported when the context starts, where it is forked from a warm one: nothing, IPython, or IPython, numpy, pandas and matplotlib as far as the image has them. Default: `context.preload` of the server. */
  preload?: "plain" | "ipython" | "data" | undefined;
}

export const writeContextOptions = (given: ContextOptions): Wire => ({
  cwd: given.cwd,
  env: given.env,
  secrets: given.secrets,
  preload: given.preload,
});

/** What `CreateKey` of the contract takes besides what it requires. */
export interface KeyOptions {
  /** Whose it shall be; another's only for administrators. */
  tenant?: string | undefined;
  /** Whom it stands for; somebody else only for administrators. */
  principal?: string | undefined;
  role?: "user" | "admin" | undefined;
  /** What no role brings with it; given by administrators. */
  permissions?: Permission[] | undefined;
}

export const writeKeyOptions = (given: KeyOptions): Wire => ({
  tenant: given.tenant,
  principal: given.principal,
  role: given.role,
  permissions: given.permissions,
});

/** What `CreateSandbox` of the contract takes besides what it requires. */
export interface SandboxOptions {
  /** `host`, or the name of an image of this installation. */
  image?: string | undefined;
  /** Default: the server's own. */
  engine?: string | undefined;
  /** At least this strong. */
  isolation?: Isolation | undefined;
  memoryMb?: number | undefined;
  cpuCores?: number | undefined;
  diskMb?: number | undefined;
  pids?: number | undefined;
  /** 0 means never. */
  idleTimeoutSeconds?: number | undefined;
  /** Default: stop where files are kept, else pause. */
  onIdle?: OnIdle | undefined;
  /** How long one machine may run before it is stopped; 0 means for ever. Default and most are the server's settings. */
  maxLifeSeconds?: number | undefined;
  /** Keep files in memory. */
  ephemeral?: boolean | undefined;
  /** Your volume to use as /workspace, made when there is none; one sandbox at a time (409). */
  volume?: string | undefined;
  /** Begin with the files of this snapshot. */
  snapshotId?: string | undefined;
  /** Without `network`: true means the server's usual presets. */
  networkEnabled?: boolean | undefined;
  /** What it may reach; nothing by default. */
  network?: NetworkPolicy | undefined;
  /** As in the snapshot that it begins with, otherwise `read-only`. */
  rootfs?: Rootfs | undefined;
  /** No process of it is ever forked from an interpreter outside: its contexts start from scratch, with a hash seed and a layout of memory that no other sandbox shares. */
  isolated?: boolean | undefined;
  envVars?: Record<string, string> | undefined;
  /** Same key, same sandbox. */
  sessionKey?: string | undefined;
  /** The label inside the tenant whose secrets and rules are its own; never changes. */
  namespace?: string | undefined;
  /** Secrets of the namespace that all its processes get in their environment, with the value of the moment they start. */
  secrets?: string[] | undefined;
  metadata?: Record<string, string> | undefined;
  /** What it may use up in all, from its first moment on. One that is there already keeps its own. */
  budget?: NewBudget | undefined;
  /** Installed before the answer, through its own policy. A client that fails is told in `packages` of the answer; a rule or policy that forbids it is an error, and no sandbox is left. */
  packages?: InstallPackages[] | undefined;
}

export const writeSandboxOptions = (given: SandboxOptions): Wire => ({
  image: given.image,
  engine: given.engine,
  isolation: given.isolation,
  memory_mb: given.memoryMb,
  cpu_cores: given.cpuCores,
  disk_mb: given.diskMb,
  pids: given.pids,
  idle_timeout_seconds: given.idleTimeoutSeconds,
  on_idle: given.onIdle,
  max_life_seconds: given.maxLifeSeconds,
  ephemeral: given.ephemeral,
  volume: given.volume,
  snapshot_id: given.snapshotId,
  network_enabled: given.networkEnabled,
  network: given.network && writeNetworkPolicy(given.network),
  rootfs: given.rootfs,
  isolated: given.isolated,
  env_vars: given.envVars,
  session_key: given.sessionKey,
  namespace: given.namespace,
  secrets: given.secrets,
  metadata: given.metadata,
  budget: given.budget,
  packages: given.packages,
});

/** What `CreateVolume` of the contract takes besides what it requires. */
export interface VolumeOptions {
  /** Default: as a sandbox's disk_mb. */
  sizeMb?: number | undefined;
  /** Default: the server's own. */
  engine?: string | undefined;
}

export const writeVolumeOptions = (given: VolumeOptions): Wire => ({
  size_mb: given.sizeMb,
  engine: given.engine,
});

/** What `ExecRequest` of the contract takes besides what it requires. */
export interface ExecOptions {
  /** At its end the whole process tree is killed. Default and most are the server's settings. */
  timeoutSeconds?: number | undefined;
  /** Absolute. */
  cwd?: string | undefined;
  env?: Record<string, string> | undefined;
  /** Secrets of the sandbox's namespace that this command gets in its environment. */
  secrets?: string[] | undefined;
  /** Given to the command as its whole standard input. */
  stdin?: string | undefined;
  /** Keep standard input open for …/stdin. */
  stdinOpen?: boolean | undefined;
  /** Give it a terminal of this size. */
  terminal?: TerminalSize | undefined;
  /** Files and folders below /workspace to sign when it has ended, besides what it changed in /workspace/outputs. */
  artifacts?: string[] | undefined;
}

export const writeExecOptions = (given: ExecOptions): Wire => ({
  timeout_seconds: given.timeoutSeconds,
  cwd: given.cwd,
  env: given.env,
  secrets: given.secrets,
  stdin: given.stdin,
  stdin_open: given.stdinOpen,
  terminal: given.terminal && writeTerminalSize(given.terminal),
  artifacts: given.artifacts,
});

/** What `GlobRequest` of the contract takes besides what it requires. */
export interface GlobOptions {
  path?: string | undefined;
  /** At most as many as `file.max-entries` says. */
  limit?: number | undefined;
  hidden?: boolean | undefined;
}

export const writeGlobOptions = (given: GlobOptions): Wire => ({
  path: given.path,
  limit: given.limit,
  hidden: given.hidden,
});

/** What `GrepRequest` of the contract takes besides what it requires. */
export interface GrepOptions {
  path?: string | undefined;
  /** Only files of such names. */
  glob?: string | undefined;
  ignoreCase?: boolean | undefined;
  fixed?: boolean | undefined;
  hidden?: boolean | undefined;
  /** Lines around a match. */
  context?: number | undefined;
  /** At most as many as `file.max-matches` says. */
  limit?: number | undefined;
}

export const writeGrepOptions = (given: GrepOptions): Wire => ({
  path: given.path,
  glob: given.glob,
  ignore_case: given.ignoreCase,
  fixed: given.fixed,
  hidden: given.hidden,
  context: given.context,
  limit: given.limit,
});

/** What `HostExec` of the contract takes besides what it requires. */
export interface HostOptions {
  /** A folder that is lent out; default: the first of them. */
  cwd?: string | undefined;
  /** At most host.max-timeout. */
  timeoutSeconds?: number | undefined;
  /** For whom; approvals can be for one sandbox. */
  sandboxId?: string | undefined;
  namespace?: string | undefined;
}

export const writeHostOptions = (given: HostOptions): Wire => ({
  cwd: given.cwd,
  timeout_seconds: given.timeoutSeconds,
  sandbox_id: given.sandboxId,
  namespace: given.namespace,
});

/** What `ImportFile` of the contract takes besides what it requires. */
export interface ImportSource {
  /** Of `file_content`. */
  fileName?: string | undefined;
  fileContent?: string | undefined;
  encoding?: "text" | "base64" | undefined;
  url?: string | undefined;
  /** The sandbox that exported `path`; `session_id` is taken, too. */
  sandboxId?: string | undefined;
  /** Of `sandbox_id`: a path in its `/workspace`. */
  path?: string | undefined;
  /** A path of the host. */
  source?: string | undefined;
  /** Where it goes; its own name in `/workspace` unless said, and in a folder when it ends with a slash. */
  destination?: string | undefined;
  /** It is a zip or tar whose files are wanted, at the destination. */
  unpack?: boolean | undefined;
}

export const writeImportSource = (given: ImportSource): Wire => ({
  file_name: given.fileName,
  file_content: given.fileContent,
  encoding: given.encoding,
  url: given.url,
  sandbox_id: given.sandboxId,
  path: given.path,
  source: given.source,
  destination: given.destination,
  unpack: given.unpack,
});

/** What `OpenTerminal` of the contract takes besides what it requires. */
export interface TerminalOptions {
  /** A line of shell, or a program with its arguments; without it a login shell. */
  command?: string | string[] | undefined;
  /** Absolute; /workspace without it. */
  cwd?: string | undefined;
  env?: Record<string, string> | undefined;
  size?: TerminalSize | undefined;
  /** Names of secrets that it gets besides the sandbox's own. */
  secrets?: string[] | undefined;
}

export const writeTerminalOptions = (given: TerminalOptions): Wire => ({
  command: given.command,
  cwd: given.cwd,
  env: given.env,
  size: given.size && writeTerminalSize(given.size),
  secrets: given.secrets,
});

/** What `SandboxSettingsChange` of the contract takes besides what it requires. */
export interface SettingsChanges {
  defaultImage?: string | null | undefined;
  memoryMb?: number | null | undefined;
  cpuCores?: number | null | undefined;
  diskMb?: number | null | undefined;
  pids?: number | null | undefined;
  idleTimeoutSeconds?: number | null | undefined;
  maxIdleTimeoutSeconds?: number | null | undefined;
  maxLifeSeconds?: number | null | undefined;
  stoppedRetentionSeconds?: number | null | undefined;
  maxMemoryMb?: number | null | undefined;
  maxCpuCores?: number | null | undefined;
  maxDiskMb?: number | null | undefined;
  maxPids?: number | null | undefined;
  maxSandboxes?: number | null | undefined;
  defaultMaxPerUser?: number | null | undefined;
  evictWhenFull?: boolean | null | undefined;
  warmPoolEnabled?: boolean | null | undefined;
  maxConcurrentCreates?: number | null | undefined;
  maxConcurrentExecutions?: number | null | undefined;
  maxQueued?: number | null | undefined;
}

export const writeSettingsChanges = (given: SettingsChanges): Wire => ({
  default_image: given.defaultImage,
  memory_mb: given.memoryMb,
  cpu_cores: given.cpuCores,
  disk_mb: given.diskMb,
  pids: given.pids,
  idle_timeout_seconds: given.idleTimeoutSeconds,
  max_idle_timeout_seconds: given.maxIdleTimeoutSeconds,
  max_life_seconds: given.maxLifeSeconds,
  stopped_retention_seconds: given.stoppedRetentionSeconds,
  max_memory_mb: given.maxMemoryMb,
  max_cpu_cores: given.maxCpuCores,
  max_disk_mb: given.maxDiskMb,
  max_pids: given.maxPids,
  max_sandboxes: given.maxSandboxes,
  default_max_per_user: given.defaultMaxPerUser,
  evict_when_full: given.evictWhenFull,
  warm_pool_enabled: given.warmPoolEnabled,
  max_concurrent_creates: given.maxConcurrentCreates,
  max_concurrent_executions: given.maxConcurrentExecutions,
  max_queued: given.maxQueued,
});

/** What `SetBudget` of the contract takes besides what it requires. */
export interface BudgetLimits {
  cpuSeconds?: number | null | undefined;
  /** Both ways through the proxy. */
  egressBytes?: number | null | undefined;
  /** Commands and cells. */
  executions?: number | null | undefined;
  /** Begin to count anew; for administrators. */
  reset?: boolean | undefined;
}

export const writeBudgetLimits = (given: BudgetLimits): Wire => ({
  cpu_seconds: given.cpuSeconds,
  egress_bytes: given.egressBytes,
  executions: given.executions,
  reset: given.reset,
});

/** What `UpdateSandbox` of the contract takes besides what it requires. */
export interface SandboxChanges {
  memoryMb?: number | undefined;
  cpuCores?: number | undefined;
  diskMb?: number | undefined;
  pids?: number | undefined;
  idleTimeoutSeconds?: number | undefined;
  onIdle?: OnIdle | undefined;
  maxLifeSeconds?: number | undefined;
  networkEnabled?: boolean | undefined;
  /** Replaces the policy at once. */
  network?: NetworkPolicy | undefined;
  envVars?: Record<string, string> | undefined;
  metadata?: Record<string, string> | undefined;
}

export const writeSandboxChanges = (given: SandboxChanges): Wire => ({
  memory_mb: given.memoryMb,
  cpu_cores: given.cpuCores,
  disk_mb: given.diskMb,
  pids: given.pids,
  idle_timeout_seconds: given.idleTimeoutSeconds,
  on_idle: given.onIdle,
  max_life_seconds: given.maxLifeSeconds,
  network_enabled: given.networkEnabled,
  network: given.network && writeNetworkPolicy(given.network),
  env_vars: given.envVars,
  metadata: given.metadata,
});

/** What `ValidateRequest` of the contract takes besides what it requires. */
export interface ValidateOptions {
  /** Default: python. */
  language?: Language | undefined;
  /** Where to look; left out in one that is made for it. */
  sandboxId?: string | undefined;
  /** What a dangerous call means for `valid`; off: it is not told either. Default: warn. */
  onDanger?: OnDanger | undefined;
  /** Add missing imports. */
  autoFix?: boolean | undefined;
}

export const writeValidateOptions = (given: ValidateOptions): Wire => ({
  language: given.language,
  sandbox_id: given.sandboxId,
  on_danger: given.onDanger,
  auto_fix: given.autoFix,
});
