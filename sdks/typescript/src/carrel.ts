import {
  type ApprovalInfo,
  type ApprovalOptions,
  type ArtifactInfo,
  type AuditPage,
  type AuditVerdict,
  type BudgetInfo,
  type BudgetLimits,
  type DecisionOptions,
  type EngineInfo,
  type Event,
  type Health,
  type ImageBuilder,
  type PoolInfo,
  type QueueStatus,
  type SandboxOptions,
  type SandboxPage,
  type SandboxUsage,
  type SecretInfo,
  type SecretOptions,
  type SigningKey,
  type SnapshotInfo,
  type ValidateOptions,
  type Validation,
  type VolumeInfo,
  type VolumeOptions,
  type WebPage,
  type WebResults,
  readApprovalInfo,
  readArtifactInfo,
  readAuditPage,
  readAuditVerdict,
  readBudgetInfo,
  readEngineInfo,
  readEvent,
  readHealth,
  readImageBuilder,
  readPoolInfo,
  readQueueStatus,
  readSandboxPage,
  readSandboxUsage,
  readSecretInfo,
  readSigningKey,
  readSnapshotInfo,
  readValidation,
  readVolumeInfo,
  readWebPage,
  readWebResults,
  writeApprovalOptions,
  writeBudgetLimits,
  writeDecisionOptions,
  writeSecretOptions,
  writeValidateOptions,
  writeVolumeOptions,
} from "./generated/types.js";
import { Host, Images, Keys, Settings } from "./operations.js";
import { SANDBOXES, Sandbox } from "./sandbox.js";
import { Skills } from "./skills.js";
import { type EventStream, news } from "./streams.js";
import { type Json, type KeyedOptions, type Query, type ServerOptions, Transport, segment } from "./transport.js";

/** Which events are wanted; `type` is whole words or their first part, with commas: `execution,sandbox.stopped`. */
export interface EventFilter {
  type?: string;
  sandbox?: string;
  namespace?: string;
}

/** A Carrel server. Nothing is sent before the first call. */
export class Carrel {
  /** @internal */
  readonly transport: Transport;
  readonly sandboxes: Sandboxes;
  readonly secrets: Secrets;
  readonly volumes: Volumes;
  readonly snapshots: Snapshots;
  readonly skills: Skills;
  readonly approvals: Approvals;
  readonly audit: Audit;
  readonly images: Images;
  readonly keys: Keys;
  readonly settings: Settings;
  readonly host: Host;

  /** Without options CARREL_URL and CARREL_TOKEN name the server and the token. */
  constructor(options: ServerOptions = {}) {
    this.transport = new Transport(options);
    this.sandboxes = new Sandboxes(this);
    this.secrets = new Secrets(this.transport);
    this.volumes = new Volumes(this.transport);
    this.snapshots = new Snapshots(this.transport);
    this.skills = new Skills(this.transport);
    this.approvals = new Approvals(this.transport);
    this.audit = new Audit(this.transport);
    this.images = new Images(this.transport);
    this.keys = new Keys(this.transport);
    this.settings = new Settings(this.transport);
    this.host = new Host(this.transport, this.approvals);
  }

  async health(): Promise<Health> {
    return readHealth(await this.transport.get("/health"));
  }

  /** What the server can start sandboxes with, and what isolation each would really apply. */
  async engines(): Promise<EngineInfo[]> {
    return (await this.transport.get("/api/v1/engines")).engines.map(readEngineInfo);
  }

  /** What the server can build images of the catalog with. */
  async imageBuilders(): Promise<ImageBuilder[]> {
    return (await this.transport.get("/api/v1/engines")).builders.map(readImageBuilder);
  }

  /** Languages that contexts exist for. */
  async languages(): Promise<string[]> {
    return (await this.transport.get("/api/v1/languages")).languages.map((one: Json) => one.name);
  }

  /** What happens to your sandboxes, from the moment this resolves or after an event that was seen. */
  async events(options: EventFilter & { after?: number } = {}): Promise<EventStream> {
    const { after, ...filter } = options;
    return news(this.transport, "/api/v1/events", after, { ...filter }).begin();
  }

  /** The last events that the server remembers, oldest first. */
  async recentEvents(limit = 100, filter: EventFilter = {}): Promise<Event[]> {
    return (await this.transport.get("/api/v1/events", { recent: limit, ...filter })).events.map(readEvent);
  }

  /** Looks at code without running it. */
  async validate(code: string, options: ValidateOptions = {}): Promise<Validation> {
    const json = { code, ...writeValidateOptions(options) };
    return readValidation(await this.transport.json("POST", "/api/v1/validate", { json }));
  }

  /** What the running sandboxes use now. */
  async usage(): Promise<SandboxUsage[]> {
    return (await this.transport.get("/api/v1/usage")).sandboxes.map(readSandboxUsage);
  }

  /** Who runs and who waits. */
  async queue(): Promise<QueueStatus> {
    return readQueueStatus(await this.transport.get("/api/v1/queue"));
  }

  /** Where a file came from, by its digest in hex; newest first, also from sandboxes that are gone. */
  async artifacts(sha256: string): Promise<ArtifactInfo[]> {
    return (await this.transport.get("/api/v1/artifacts", { sha256 })).artifacts.map(readArtifactInfo);
  }

  /** Sandboxes that wait for their owner; for administrators. */
  async pools(): Promise<PoolInfo[]> {
    return (await this.transport.get("/api/v1/settings/sandbox/pool-summary")).per_image.map(readPoolInfo);
  }

  /** What all sandboxes of a namespace together may use up, and have used. */
  async budget(namespace: string): Promise<BudgetInfo> {
    return readBudgetInfo(await this.transport.get(budgetPath(namespace)));
  }

  /** A limit that is left out is lifted. Whoever is no administrator can only make a budget smaller. */
  async setBudget(namespace: string, limits: BudgetLimits): Promise<BudgetInfo> {
    return readBudgetInfo(await this.transport.json("PUT", budgetPath(namespace), { json: writeBudgetLimits(limits) }));
  }

  /** A page of the web, readable; by the policy of a sandbox, or the server's. Fresh: what was read a while ago will not do. */
  async fetchPage(url: string, options: { sandbox?: string; fresh?: boolean } = {}): Promise<WebPage> {
    const json = { url, fresh: options.fresh ?? false, sandbox_id: options.sandbox };
    return readWebPage(await this.transport.json("POST", "/api/v1/web/fetch", { json }));
  }

  /** Searches the web; by the policy of a sandbox, or the server's. */
  async searchWeb(query: string, most = 5, options: { sandbox?: string } = {}): Promise<WebResults> {
    const json = { query, num: most, sandbox_id: options.sandbox };
    return readWebResults(await this.transport.json("POST", "/api/v1/web/search", { json }));
  }

  /** Sets of rules that a policy can name, with what each allows on this server. */
  async egressPresets(): Promise<Record<string, string[]>> {
    return (await this.transport.get("/api/v1/egress/presets")).presets;
  }

  /** Any other call of the contract: JSON in, JSON out, by the contract's own names. */
  async request(method: string, path: string, options: { json?: Json; query?: Query } = {}): Promise<Json> {
    return this.transport.json(method, path, options);
  }
}

function budgetPath(namespace: string): string {
  return `/api/v1/namespaces/${segment(namespace, "namespace")}/budget`;
}

/** The sandboxes of this token's owner. */
export class Sandboxes {
  constructor(private readonly carrel: Carrel) {}

  async create(options: SandboxOptions & KeyedOptions = {}): Promise<Sandbox> {
    return Sandbox.create(options, this.carrel);
  }

  async get(id: string): Promise<Sandbox> {
    return Sandbox.get(id, this.carrel);
  }

  /** Ends every process in it and removes all its files. */
  async delete(id: string): Promise<void> {
    await this.carrel.transport.json("DELETE", `${SANDBOXES}/${segment(id, "id")}`);
  }

  /** One page, newest first. */
  async list(
    options: {
      page?: number;
      pageSize?: number;
      status?: string;
      search?: string;
      image?: string;
      namespace?: string;
      sortBy?: string;
      sortOrder?: "asc" | "desc";
    } = {},
  ): Promise<SandboxPage> {
    const { pageSize, sortBy, sortOrder, ...rest } = options;
    const query = { ...rest, page_size: pageSize, sort_by: sortBy, sort_order: sortOrder };
    return readSandboxPage(await this.carrel.transport.get(SANDBOXES, query));
  }
}

/** Put in, listed by name, used by name, never read back. */
export class Secrets {
  private static readonly PATH = "/api/v1/vault/secrets";

  constructor(private readonly transport: Transport) {}

  async add(name: string, value: string, options: SecretOptions = {}): Promise<SecretInfo> {
    const json = { name, value, ...writeSecretOptions(options) };
    return readSecretInfo(await this.transport.json("POST", Secrets.PATH, { json }));
  }

  async list(namespace = "default"): Promise<SecretInfo[]> {
    return (await this.transport.get(Secrets.PATH, { namespace })).secrets.map(readSecretInfo);
  }

  /** Gives it another value; processes that run keep the one they have. */
  async rotate(name: string, value: string, options: { namespace?: string } = {}): Promise<SecretInfo> {
    return readSecretInfo(await this.transport.json("POST", `${this.one(name)}/rotate`, { json: { value, ...options } }));
  }

  async delete(name: string, options: { namespace?: string } = {}): Promise<void> {
    await this.transport.json("DELETE", this.one(name), { query: { ...options } });
  }

  private one(name: string): string {
    return `${Secrets.PATH}/${segment(name, "name")}`;
  }
}

/** Files that outlive sandboxes. */
export class Volumes {
  private static readonly PATH = "/api/v1/volumes";

  constructor(private readonly transport: Transport) {}

  async create(name: string, options: VolumeOptions = {}): Promise<VolumeInfo> {
    const json = { name, ...writeVolumeOptions(options) };
    return readVolumeInfo(await this.transport.json("POST", Volumes.PATH, { json }));
  }

  async list(): Promise<VolumeInfo[]> {
    return (await this.transport.get(Volumes.PATH)).volumes.map(readVolumeInfo);
  }

  async get(name: string): Promise<VolumeInfo> {
    return readVolumeInfo(await this.transport.get(`${Volumes.PATH}/${segment(name, "name")}`));
  }

  /** With its files, unless a sandbox has it. */
  async delete(name: string): Promise<void> {
    await this.transport.json("DELETE", `${Volumes.PATH}/${segment(name, "name")}`);
  }
}

/** Copies of sandboxes' files. */
export class Snapshots {
  private static readonly PATH = "/api/v1/snapshots";

  constructor(private readonly transport: Transport) {}

  /** Newest first, also of sandboxes that are gone. */
  async list(): Promise<SnapshotInfo[]> {
    return (await this.transport.get(Snapshots.PATH)).snapshots.map(readSnapshotInfo);
  }

  async get(id: string): Promise<SnapshotInfo> {
    return readSnapshotInfo(await this.transport.get(`${Snapshots.PATH}/${segment(id, "id")}`));
  }

  /** Sandboxes made from it keep their files. */
  async delete(id: string): Promise<void> {
    await this.transport.json("DELETE", `${Snapshots.PATH}/${segment(id, "id")}`);
  }
}

/** What only a person may allow. */
export class Approvals {
  private static readonly PATH = "/api/v1/approvals";

  constructor(private readonly transport: Transport) {}

  /** Asks; the same question asked twice is one request. */
  async ask(subject: string, options: ApprovalOptions = {}): Promise<ApprovalInfo> {
    const json = { subject, ...writeApprovalOptions(options) };
    return readApprovalInfo(await this.transport.json("POST", Approvals.PATH, { json }));
  }

  async list(options: { status?: string; limit?: number } = {}): Promise<ApprovalInfo[]> {
    return (await this.transport.get(Approvals.PATH, { ...options })).approvals.map(readApprovalInfo);
  }

  /** As it is now, or when it was decided. */
  async get(id: string, options: { waitSeconds?: number } = {}): Promise<ApprovalInfo> {
    return readApprovalInfo(await this.transport.get(this.one(id), { wait_seconds: options.waitSeconds }));
  }

  /** For administrators; a grant takes effect at once. */
  async decide(id: string, approve: boolean, options: DecisionOptions = {}): Promise<ApprovalInfo> {
    const json = { approve, ...writeDecisionOptions(options) };
    return readApprovalInfo(await this.transport.json("POST", `${this.one(id)}/decision`, { json }));
  }

  /** Takes a request back, or what was granted. */
  async withdraw(id: string): Promise<ApprovalInfo> {
    return readApprovalInfo(await this.transport.json("DELETE", this.one(id)));
  }

  private one(id: string): string {
    return `${Approvals.PATH}/${segment(id, "id")}`;
  }
}

/** What was done, and by whom. */
export class Audit {
  private static readonly PATH = "/api/v1/audit";

  constructor(private readonly transport: Transport) {}

  /** A page, newest first; give its `next` as `before` for the one after it. */
  async list(
    options: { sandbox?: string; namespace?: string; action?: string; since?: Date; before?: number; limit?: number } = {},
  ): Promise<AuditPage> {
    const { since, ...rest } = options;
    return readAuditPage(await this.transport.get(Audit.PATH, { ...rest, since: since?.toISOString() }));
  }

  /** Looks for what was changed behind the server's back; for administrators. */
  async verify(): Promise<AuditVerdict> {
    return readAuditVerdict(await this.transport.json("POST", `${Audit.PATH}/verify`, { json: {} }));
  }

  /** The public key of what the server signs. */
  async key(): Promise<SigningKey> {
    return readSigningKey(await this.transport.get(`${Audit.PATH}/key`));
  }
}
