import { CarrelError } from "./errors.js";
import { Files } from "./files.js";
import {
  type ActivityInfo,
  type ArtifactInfo,
  type ArtifactManifest,
  type BridgeOptions,
  type BridgeResult,
  type BudgetInfo,
  type BudgetLimits,
  type CodeOptions,
  type ContextInfo,
  type ContextOptions,
  type EgressAccess,
  type EgressDecision,
  type EgressInfo,
  type ExecInfo,
  type ExecOptions,
  type ExecResult,
  type Installation,
  type InstalledSkill,
  type NetworkPolicy,
  type SandboxChanges,
  type SandboxInfo,
  type SandboxOptions,
  type SandboxUsage,
  type PortLink,
  type SignedArtifacts,
  type SkillInstallation,
  type SnapshotInfo,
  type TerminalLink,
  type TerminalOptions,
  readActivityInfo,
  readArtifactInfo,
  readArtifactManifest,
  readBridgeResult,
  readBudgetInfo,
  readCodeResult,
  readContextInfo,
  readEgressAccess,
  readEgressDecision,
  readEgressInfo,
  readExecInfo,
  readExecResult,
  readSandboxInfo,
  readSandboxUsage,
  readInstallation,
  readInstalledSkill,
  readPortLink,
  readSignedArtifacts,
  readSkillInstallation,
  readSnapshotInfo,
  writeBridgeOptions,
  readTerminalLink,
  writeBudgetLimits,
  writeCodeOptions,
  writeContextOptions,
  writeExecOptions,
  writeNetworkPolicy,
  writeSandboxChanges,
  writeSandboxOptions,
  writeTerminalOptions,
} from "./generated/types.js";
import { type RichCodeResult, rich } from "./rich.js";
import { CodeStream, type EventStream, ExecStream, ResumedEvents, accept, news, running } from "./streams.js";
import { Transfers } from "./transfers.js";
import { type Json, type KeyedOptions, Transport, segment } from "./transport.js";

export const SANDBOXES = "/api/v1/sandboxes";

/** What has a way to its server: a `Carrel`. */
export interface Connected {
  readonly transport: Transport;
}

/**
 * An isolated machine with files, commands and interpreters. `await using` deletes a sandbox that `create` made; one with a
 * session key, or one that was looked up, lives on.
 */
export class Sandbox implements AsyncDisposable {
  readonly files: Files;
  readonly contexts: Contexts;
  readonly egress: Egress;
  readonly transfers: Transfers;
  readonly terminals: Terminals;
  private readonly path: string;
  private current: SandboxInfo;

  private constructor(
    private readonly transport: Transport,
    info: SandboxInfo,
    private owned: boolean,
  ) {
    this.current = info;
    this.path = `${SANDBOXES}/${info.id}`;
    this.files = new Files(transport, this.path);
    this.contexts = new Contexts(transport, this.path);
    this.egress = new Egress(transport, this.path);
    this.transfers = new Transfers(transport, this.path);
    this.terminals = new Terminals(transport, this.path, (id, from) => this.attach(id, from));
  }

  /**
   * Starts a sandbox, or finds the one with this session key; resolves once it runs. Without a client CARREL_URL and
   * CARREL_TOKEN name the server. An answer that is lost is asked for again: with a key of its own the request makes one
   * sandbox however often it is sent.
   */
  static async create(options: SandboxOptions & KeyedOptions = {}, carrel?: Connected): Promise<Sandbox> {
    const transport = carrel?.transport ?? new Transport({});
    const idempotencyKey = options.idempotencyKey ?? randomKey();
    const json = writeSandboxOptions(options);
    const wire = await transport.json("POST", SANDBOXES, { json, idempotencyKey, signal: options.signal });
    return new Sandbox(transport, readSandboxInfo(wire), options.sessionKey === undefined);
  }

  /** One that exists. */
  static async get(id: string, carrel?: Connected): Promise<Sandbox> {
    const transport = carrel?.transport ?? new Transport({});
    return new Sandbox(transport, readSandboxInfo(await transport.get(`${SANDBOXES}/${segment(id, "id")}`)), false);
  }

  get id(): string {
    return this.current.id;
  }

  /** As it was when the server last told; `refresh` asks again. */
  get info(): SandboxInfo {
    return this.current;
  }

  /** Deletes the sandbox if `create` made it and it has no session key. */
  async close(): Promise<void> {
    if (!this.owned) {
      return;
    }
    this.owned = false;
    try {
      await this.delete();
    } catch (failure) {
      if (!(failure instanceof CarrelError && failure.code === "sandbox_not_found")) {
        throw failure;
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Ends every process in it and removes all its files. */
  async delete(): Promise<void> {
    await this.transport.json("DELETE", this.path);
  }

  async refresh(): Promise<this> {
    return this.became(await this.transport.get(this.path));
  }

  async update(changes: SandboxChanges): Promise<this> {
    return this.became(await this.transport.json("PATCH", this.path, { json: writeSandboxChanges(changes) }));
  }

  /** Starts it again with its files when it has stopped or failed; lets it go on when paused. */
  async start(): Promise<this> {
    return this.change("start");
  }

  /** Ends its machine and keeps its files. */
  async stop(): Promise<this> {
    return this.change("stop");
  }

  /** Holds every process where it is; the next call lets them go on. */
  async pause(): Promise<this> {
    return this.change("pause");
  }

  async resume(): Promise<this> {
    return this.change("resume");
  }

  /** A new sandbox like this one, with the files of this moment. */
  async fork(): Promise<Sandbox> {
    return new Sandbox(this.transport, readSandboxInfo(await this.post("fork")), true);
  }

  /** Keeps its files as they are now. */
  async snapshot(name?: string): Promise<SnapshotInfo> {
    return readSnapshotInfo(await this.post("snapshots", { name }));
  }

  async snapshots(): Promise<SnapshotInfo[]> {
    return (await this.transport.get(`${this.path}/snapshots`)).snapshots.map(readSnapshotInfo);
  }

  /** Gives it skills by name or id; where one is in its place already, nothing is done. */
  async installSkills(skills: string[]): Promise<SkillInstallation> {
    return readSkillInstallation(await this.post("skills", { skill_ids: skills }));
  }

  /** What it was given, by name. */
  async skills(): Promise<InstalledSkill[]> {
    return (await this.transport.get(`${this.path}/skills`)).skills.map(readInstalledSkill);
  }

  /** Gives it the files of a snapshot in place of its own. */
  async restore(snapshotId: string): Promise<this> {
    return this.became(await this.post("restore", { snapshot_id: snapshotId }));
  }

  /**
   * Runs a line of shell, or a program with its arguments, to its end. A command that fails is a result, not an error. With a
   * key it runs once however often it is asked for, and a lost answer is asked for again.
   */
  async exec(command: string | string[], options: ExecOptions & KeyedOptions = {}): Promise<ExecResult> {
    return readExecResult(await this.post("exec", { command, ...writeExecOptions(options) }, options));
  }

  /** Starts a command and follows it live. */
  async execStream(command: string | string[], options: ExecOptions & KeyedOptions = {}): Promise<ExecStream> {
    const json = { command, ...writeExecOptions(options) };
    const events = running(this.transport, `${this.path}/exec`, json, options, "exited", { encoding: "base64" });
    return new ExecStream(this.transport, this.path, events).begin();
  }

  /** Starts a command that goes on by itself; follow it with `attach`. */
  async execBackground(command: string | string[], options: ExecOptions & KeyedOptions = {}): Promise<ExecInfo> {
    const json = { command, background: true, ...writeExecOptions(options) };
    return readExecInfo(await this.post("exec", json, options));
  }

  /** Commands that run and those that ran lately, newest first. */
  async execs(): Promise<ExecInfo[]> {
    return (await this.transport.get(`${this.path}/execs`)).execs.map(readExecInfo);
  }

  /** Follows a command that was started before: its output from an offset on, then live. */
  attach(execId: string, from = 0): ExecStream {
    const path = `${this.path}/execs/${segment(execId, "execId")}/output`;
    const opening = (seen: number | null, signal: AbortSignal) =>
      this.transport.open("GET", path, { headers: accept(null), query: { encoding: "base64", from: seen ?? 0 }, signal });
    return new ExecStream(this.transport, this.path, new ResumedEvents(opening, "exited", true, from), execId);
  }

  /** Runs code, Python unless `language` says otherwise, in a context that keeps its state. Code that fails is a result. */
  async runCode(code: string, options: CodeOptions & KeyedOptions = {}): Promise<RichCodeResult> {
    return rich(readCodeResult(await this.post("code", { code, ...writeCodeOptions(options) }, options)));
  }

  /** Runs code and follows it live. */
  async runCodeStream(code: string, options: CodeOptions & KeyedOptions = {}): Promise<CodeStream> {
    const json = { code, ...writeCodeOptions(options) };
    return new CodeStream(running(this.transport, `${this.path}/code`, json, options, "done"));
  }

  /** What happens to it, from the moment this resolves or after an event that was seen. */
  async events(options: { after?: number } = {}): Promise<EventStream> {
    return news(this.transport, `${this.path}/events`, options.after, {}).begin();
  }

  /** What went on in it, newest first. */
  async activity(limit = 50): Promise<ActivityInfo[]> {
    return (await this.transport.get(`${this.path}/activity`, { limit })).activity.map(readActivityInfo);
  }

  /** What it uses now; zeros when it does not run. */
  async usage(): Promise<SandboxUsage> {
    return readSandboxUsage(await this.transport.get(`${this.path}/usage`));
  }

  /** A link to what listens on a port, or will, by HTTP and WebSocket. Whoever has it reaches this port and no other. */
  async link(port: number, options: { expiresInSeconds?: number } = {}): Promise<PortLink> {
    return readPortLink(await this.post(`ports/${port}/link`, { expires_in_seconds: options.expiresInSeconds ?? 3600 }));
  }

  /** Files of it that were signed, newest first. */
  async artifacts(options: { execId?: string; limit?: number } = {}): Promise<ArtifactInfo[]> {
    const query = { exec: options.execId, limit: options.limit };
    return (await this.transport.get(`${this.path}/artifacts`, query)).artifacts.map(readArtifactInfo);
  }

  /** Signs files, and folders with all that is in them, as they are now. */
  async sign(...paths: string[]): Promise<SignedArtifacts> {
    return readSignedArtifacts(await this.post("artifacts", paths.length === 0 ? {} : { paths }));
  }

  /** The last of each signed file, under one signature. */
  async artifactManifest(): Promise<ArtifactManifest> {
    return readArtifactManifest(await this.transport.get(`${this.path}/artifacts/manifest`));
  }

  /** What it may use up in all, and has used. */
  async budget(): Promise<BudgetInfo> {
    return readBudgetInfo(await this.transport.get(`${this.path}/budget`));
  }

  /** A limit that is left out is lifted. Whoever is no administrator can only make a budget smaller. */
  async setBudget(limits: BudgetLimits): Promise<BudgetInfo> {
    return readBudgetInfo(await this.transport.json("PUT", `${this.path}/budget`, { json: writeBudgetLimits(limits) }));
  }

  /**
   * Installs packages in it, through its own policy. The manager is pip, npm or r; with `scripts` packages may run code of their
   * own while they are installed.
   */
  async install(manager: string, packages: string[], options: { scripts?: boolean } = {}): Promise<Installation> {
    return readInstallation(await this.post("packages", { manager, packages, scripts: options.scripts ?? false }));
  }

  /** Carries the value of a variable between interpreters, or brings one in. */
  async bridge(name: string, options: BridgeOptions = {}): Promise<BridgeResult> {
    return readBridgeResult(await this.post("bridge", { name, ...writeBridgeOptions(options) }));
  }

  private async change(verb: string): Promise<this> {
    return this.became(await this.post(verb));
  }

  private post(verb: string, json: object = {}, options: KeyedOptions = {}): Promise<Json> {
    const { idempotencyKey, signal } = options;
    return this.transport.json("POST", `${this.path}/${verb}`, { json, idempotencyKey, signal });
  }

  private became(wire: Json): this {
    this.current = readSandboxInfo(wire);
    return this;
  }
}

/** The persistent interpreters of one sandbox. */
export class Contexts {
  private readonly path: string;

  constructor(
    private readonly transport: Transport,
    sandboxPath: string,
  ) {
    this.path = `${sandboxPath}/contexts`;
  }

  /** Starts an interpreter; resolves when it is ready. Give its id as `contextId` to `runCode`. */
  async create(language = "python", options: ContextOptions = {}): Promise<ContextInfo> {
    const json = { language, ...writeContextOptions(options) };
    return readContextInfo(await this.transport.json("POST", this.path, { json }));
  }

  async list(): Promise<ContextInfo[]> {
    return (await this.transport.get(this.path)).contexts.map(readContextInfo);
  }

  async get(id: string): Promise<ContextInfo> {
    return readContextInfo(await this.transport.get(this.one(id)));
  }

  /** Stops what runs and keeps all state. */
  async interrupt(id: string): Promise<void> {
    await this.transport.json("POST", `${this.one(id)}/interrupt`, { json: {} });
  }

  /** Starts it afresh under the same id; all state is lost. */
  async restart(id: string): Promise<ContextInfo> {
    return readContextInfo(await this.transport.json("POST", `${this.one(id)}/restart`, { json: {} }));
  }

  /** Ends it and everything it started. */
  async delete(id: string): Promise<void> {
    await this.transport.json("DELETE", this.one(id));
  }

  private one(id: string): string {
    return `${this.path}/${segment(id, "id")}`;
  }
}

/** Shells that outlive those who look at them. Each is a command of the sandbox, with its id. */
export class Terminals {
  private readonly path: string;

  constructor(
    private readonly transport: Transport,
    sandboxPath: string,
    private readonly follow: (id: string, from: number) => ExecStream,
  ) {
    this.path = `${sandboxPath}/terminals`;
  }

  /** Starts a login shell, or what `command` says; `attach` to it to see it. */
  async open(options: TerminalOptions = {}): Promise<ExecInfo> {
    return readExecInfo(await this.transport.json("POST", this.path, { json: writeTerminalOptions(options) }));
  }

  /** Those that run and those that ended lately, newest first. */
  async list(): Promise<ExecInfo[]> {
    return (await this.transport.get(this.path)).execs.map(readExecInfo);
  }

  /**
   * Its screen from an offset on, then live; also `write` to it and `resize` it. What breaks off is gone on with, and closing
   * leaves the shell running.
   */
  attach(id: string, from = 0): ExecStream {
    return this.follow(id, from);
  }

  /** A link to its WebSocket, for xterm.js and its like: to look at, or to type as well. */
  async link(id: string, options: { write?: boolean; expiresInSeconds?: number } = {}): Promise<TerminalLink> {
    const json = { write: options.write ?? false, expires_in_seconds: options.expiresInSeconds ?? 3600 };
    return readTerminalLink(await this.transport.json("POST", `${this.one(id)}/link`, { json }));
  }

  /** Ends it and everything it started. */
  async end(id: string): Promise<void> {
    await this.transport.json("DELETE", this.one(id));
  }

  private one(id: string): string {
    return `${this.path}/${segment(id, "id")}`;
  }
}

/** What one sandbox may reach. */
export class Egress {
  private readonly path: string;

  constructor(
    private readonly transport: Transport,
    sandboxPath: string,
  ) {
    this.path = `${sandboxPath}/egress`;
  }

  async get(): Promise<EgressInfo> {
    return readEgressInfo(await this.transport.get(this.path));
  }

  /** Holds at once; connections that are no longer allowed are cut. */
  async set(policy: NetworkPolicy): Promise<EgressInfo> {
    return readEgressInfo(await this.transport.json("PUT", this.path, { json: writeNetworkPolicy(policy) }));
  }

  /** What was decided since its machine started, latest first. */
  async decisions(): Promise<EgressDecision[]> {
    return (await this.transport.get(`${this.path}/decisions`)).decisions.map(readEgressDecision);
  }

  /**
   * A way to use the network as this sandbox from elsewhere, where the server is set up for it. The hosts are all that may be
   * reached with it, within the policy; none: what that allows.
   */
  async access(hosts: string[] = [], options: { ttlSeconds?: number } = {}): Promise<EgressAccess> {
    const json = { hosts: hosts.length === 0 ? undefined : hosts, ttl_seconds: options.ttlSeconds };
    return readEgressAccess(await this.transport.json("POST", `${this.path}/tokens`, { json }));
  }
}

/** Also on pages without TLS, where `crypto.randomUUID` is not there. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
