import type { Approvals } from "./carrel.js";
import {
  type ApprovalInfo,
  type HostAccess,
  type HostContent,
  type HostEntry,
  type HostOptions,
  type HostResult,
  type HostWritten,
  type ImageInfo,
  type ImageList,
  type ImageLock,
  type ImageProgress,
  type KeyInfo,
  type KeyOptions,
  type PrunedImages,
  type SettingsChanges,
  readHostAccess,
  readHostContent,
  readHostEntry,
  readHostResult,
  readHostWritten,
  readImageInfo,
  readImageList,
  readImageLock,
  readImageProgress,
  readKeyInfo,
  readPrunedImages,
  writeHostOptions,
  writeImageLock,
  writeKeyOptions,
  writeSettingsChanges,
} from "./generated/types.js";
import { ResumedEvents, accept } from "./streams.js";
import { type Json, type Transport, segment, whole } from "./transport.js";

/** What sandboxes start on. Everybody may look, administrators may change. */
export class Images {
  private static readonly PATH = "/api/v1/images";

  constructor(private readonly transport: Transport) {}

  async list(): Promise<ImageList> {
    return readImageList(await this.transport.get(Images.PATH));
  }

  async get(name: string): Promise<ImageInfo> {
    return readImageInfo(await this.transport.get(this.one(name)));
  }

  /** Begins to build an image of the catalog; `follow` tells how it goes on. */
  async build(name: string, options: { lock?: ImageLock; snapshot?: string } = {}): Promise<ImageInfo> {
    const { lock, snapshot } = options;
    const json = { name, ...(lock && { lock: writeImageLock(lock) }), ...(snapshot && { snapshot }) };
    return readImageInfo(await this.transport.json("POST", `${Images.PATH}/build`, { json }));
  }

  /** Exactly what an image was built of. */
  async lock(name: string): Promise<ImageLock> {
    return readImageLock(await this.transport.get(`${this.one(name)}/lock`));
  }

  /** Begins to make an image of what a sandbox with `rootfs` overlay changed; `follow` tells how it goes on. */
  async commit(sandboxId: string, name: string): Promise<ImageInfo> {
    return readImageInfo(await this.transport.json("POST", `${Images.PATH}/commit`, { json: { sandbox_id: sandboxId, name } }));
  }

  /** Begins to pull an image; `follow` tells how it goes on, under the name of the answer. */
  async pull(reference: string, options: { platform?: string } = {}): Promise<ImageInfo> {
    return readImageInfo(await this.transport.json("POST", `${Images.PATH}/pull`, { json: { reference, ...options } }));
  }

  /** Takes in an OCI layout or what `docker save` writes; resolves when it can be used. */
  async importArchive(name: string, archive: Uint8Array | Blob | ReadableStream<Uint8Array>): Promise<ImageInfo> {
    const headers = { "Content-Type": "application/x-tar" };
    const request = { body: archive as BodyInit, headers, query: { name } };
    return readImageInfo(await this.transport.json("POST", `${Images.PATH}/import`, request));
  }

  /** A tar that both Docker and OCI tools read, piece by piece. */
  async export(name: string): Promise<ReadableStream<Uint8Array>> {
    return (await this.transport.open("GET", `${this.one(name)}/export`)).body!;
  }

  /** Follows the work on an image to its end. */
  async follow(name: string, progress: (step: ImageProgress) => void = () => {}): Promise<ImageInfo> {
    const opening = (_: number | null, signal: AbortSignal) =>
      this.transport.open("GET", `${this.one(name)}/progress`, { headers: accept(null), signal });
    const events = new ResumedEvents(opening, null, false);
    try {
      for (let event = await events.next(); event !== null; event = await events.next()) {
        if (event.name === "image") {
          return readImageInfo(event.data);
        }
        progress(readImageProgress(event.data));
      }
    } finally {
      await events.close();
    }
    return this.get(name);
  }

  /** What the last work on it said. */
  async log(name: string): Promise<string> {
    return whole(await this.transport.open("GET", `${this.one(name)}/log`), (response) => response.text());
  }

  /** Removes one that no sandbox is on. */
  async delete(name: string): Promise<void> {
    await this.transport.json("DELETE", this.one(name));
  }

  /** Removes what failed and what nobody refers to any more; with `unused` also images that no sandbox is on. */
  async prune(options: { unused?: boolean } = {}): Promise<PrunedImages> {
    const json = { unused: options.unused ?? false };
    return readPrunedImages(await this.transport.json("POST", `${Images.PATH}/prune`, { json }));
  }

  private one(name: string): string {
    return `${Images.PATH}/${segment(name, "name")}`;
  }
}

/** Keys for clients. The server tells one once, and keeps no copy. */
export class Keys {
  private static readonly PATH = "/api/v1/keys";

  constructor(private readonly transport: Transport) {}

  async create(name: string, options: KeyOptions = {}): Promise<KeyInfo> {
    return readKeyInfo(await this.transport.json("POST", Keys.PATH, { json: { name, ...writeKeyOptions(options) } }));
  }

  /** Newest first, without the keys themselves. */
  async list(): Promise<KeyInfo[]> {
    return (await this.transport.get(Keys.PATH)).keys.map(readKeyInfo);
  }

  /** From now on nobody gets in with it. */
  async delete(id: string): Promise<void> {
    await this.transport.json("DELETE", `${Keys.PATH}/${segment(id, "id")}`);
  }
}

/** A setting of the server that can change while it runs. */
export interface SettingInfo {
  /** As the contract writes it: `memory_mb`. */
  name: string;
  value: number | boolean | string;
  /** What it is without a change. */
  configured: number | boolean | string;
  /** Whether an administrator changed it. */
  changed: boolean;
}

/** What an administrator may change while the server runs. */
export class Settings {
  private static readonly PATH = "/api/v1/settings/sandbox";

  constructor(private readonly transport: Transport) {}

  async list(): Promise<SettingInfo[]> {
    return settingsOf(await this.transport.get(Settings.PATH));
  }

  /** Changes all of these or none, at once and for good. Null: as configured again. */
  async change(changes: SettingsChanges): Promise<SettingInfo[]> {
    return settingsOf(await this.transport.json("PATCH", Settings.PATH, { json: writeSettingsChanges(changes) }));
  }

  /** Makes everything as configured again. */
  async reset(): Promise<SettingInfo[]> {
    return settingsOf(await this.transport.json("DELETE", Settings.PATH));
  }
}

function settingsOf(wire: Json): SettingInfo[] {
  return Object.entries<Json>(wire.configured).map(([name, configured]) => ({
    name,
    value: wire[name] ?? configured,
    configured,
    changed: wire.changed.includes(name),
  }));
}

/**
 * The machine that the server runs on, as far as it is lent out: off unless its operator enables it, and then for tokens that
 * have the permission `host`.
 */
export class Host {
  private static readonly PATH = "/api/v1/host";

  constructor(
    private readonly transport: Transport,
    private readonly approvals: Approvals,
  ) {}

  /** What is allowed, blocked, approved and asked for. */
  async access(): Promise<HostAccess> {
    return readHostAccess(await this.transport.get(Host.PATH));
  }

  /** Runs a command without a shell, and waits for its end. */
  async exec(command: string[], options: HostOptions = {}): Promise<HostResult> {
    return readHostResult(await this.post("exec", { command, ...writeHostOptions(options) }));
  }

  /** Reads a part of a file; a mebibyte without a limit. */
  async read(path: string, options: { offset?: number; limit?: number; base64?: boolean } = {}): Promise<HostContent> {
    return readHostContent(await this.post("read", { path, ...options }));
  }

  /** Writes a whole file; its folder must be there. The content is text, or bytes as base64. */
  async write(path: string, content: string, options: { base64?: boolean } = {}): Promise<HostWritten> {
    return readHostWritten(await this.post("write", { path, content, ...options }));
  }

  async list(path: string): Promise<HostEntry[]> {
    return (await this.post("list", { path })).files.map(readHostEntry);
  }

  async copy(source: string, destination: string): Promise<HostWritten> {
    return readHostWritten(await this.post("copy", { source, destination }));
  }

  /** Asks a person to allow a command, or a pattern of commands. */
  async ask(
    pattern: string,
    scope: "once" | "sandbox" | "namespace" = "once",
    options: { sandboxId?: string; reason?: string } = {},
  ): Promise<ApprovalInfo> {
    return this.approvals.ask(pattern, { kind: "host_command", scope, ...options });
  }

  private post(verb: string, json: object): Promise<Json> {
    return this.transport.json("POST", `${Host.PATH}/${verb}`, { json });
  }
}
