import { CarrelError } from "./errors.js";
import {
  type FileEntry,
  type GlobOptions,
  type GlobResult,
  type GrepOptions,
  type GrepResult,
  readFileEntry,
  readGlobResult,
  readGrepResult,
  writeGlobOptions,
  writeGrepOptions,
} from "./generated/types.js";
import { FileWatch, ResumedEvents, accept } from "./streams.js";
import { type Json, type Transport, filePath, whole } from "./transport.js";

/** What a file can be written from; a stream is sent as it comes. */
export type Content = string | Uint8Array | Blob | ReadableStream<Uint8Array>;

/** The entries of a directory, as many as the server gives at once. */
export interface FileListing extends Array<FileEntry> {
  /** Whether there are more, which are not in this list. */
  readonly truncated: boolean;
}

/** The files of one sandbox. Paths are resolved inside it; a relative one starts at /workspace. Content may be of any size. */
export class Files {
  constructor(
    private readonly transport: Transport,
    private readonly sandboxPath: string,
  ) {}

  /** All of a file; a directory comes as a zip. */
  async read(path: string): Promise<Uint8Array> {
    const response = await this.transport.open("GET", this.file(path));
    return new Uint8Array(await whole(response, (r) => r.arrayBuffer()));
  }

  async readText(path: string): Promise<string> {
    return new TextDecoder().decode(await this.read(path));
  }

  /** A file piece by piece, so that it need not fit into memory. */
  async readStream(path: string): Promise<ReadableStream<Uint8Array>> {
    return (await this.transport.open("GET", this.file(path))).body!;
  }

  /** Takes the place of what was there at once; missing directories are made. `mode` is in octal. */
  async write(path: string, content: Content, options: { mode?: string; append?: boolean } = {}): Promise<void> {
    await this.transport.json("PUT", this.file(path), {
      body: content as BodyInit,
      headers: { "Content-Type": "application/octet-stream" },
      query: { mode: options.mode, append: options.append },
    });
  }

  /** What is in a directory; of a very large one not all, as `truncated` of the list tells. */
  async list(path = "/workspace", options: { depth?: number } = {}): Promise<FileListing> {
    const { value, truncated } = await this.transport.cut(`${this.sandboxPath}/files`, { path, depth: options.depth });
    return Object.defineProperty(value.map(readFileEntry), "truncated", { value: truncated }) as FileListing;
  }

  async stat(path: string): Promise<FileEntry> {
    return readFileEntry(await this.fs("stat", { path }));
  }

  async exists(path: string): Promise<boolean> {
    try {
      await this.stat(path);
      return true;
    } catch (failure) {
      if (failure instanceof CarrelError && failure.code === "file_not_found") {
        return false;
      }
      throw failure;
    }
  }

  /** Also those above it; one that exists is fine. */
  async makeDirectory(path: string): Promise<FileEntry> {
    return readFileEntry(await this.fs("mkdir", { path }));
  }

  async move(source: string, target: string, options: { overwrite?: boolean } = {}): Promise<FileEntry> {
    return readFileEntry(await this.fs("move", { from: source, to: target, ...options }));
  }

  /** A directory with all of it. */
  async copy(source: string, target: string, options: { overwrite?: boolean } = {}): Promise<FileEntry> {
    return readFileEntry(await this.fs("copy", { from: source, to: target, ...options }));
  }

  async delete(path: string, options: { recursive?: boolean } = {}): Promise<void> {
    await this.transport.json("DELETE", this.file(path), { query: { recursive: options.recursive } });
  }

  /** Files by name, newest first; `**` crosses directories. */
  async glob(pattern: string, options: GlobOptions = {}): Promise<GlobResult> {
    return readGlobResult(await this.fs("glob", { pattern, ...writeGlobOptions(options) }));
  }

  /** Lines by content. */
  async grep(pattern: string, options: GrepOptions = {}): Promise<GrepResult> {
    return readGrepResult(await this.fs("grep", { pattern, ...writeGrepOptions(options) }));
  }

  /** See changes as they happen, from the moment this resolves. */
  async watch(path = "/workspace", options: { recursive?: boolean } = {}): Promise<FileWatch> {
    const query = { path, recursive: options.recursive };
    const opening = (_: number | null, signal: AbortSignal) =>
      this.transport.open("GET", `${this.sandboxPath}/fs/watch`, { headers: accept(null), query, signal });
    return new FileWatch(new ResumedEvents(opening, null, false)).begin();
  }

  private fs(verb: string, json: object): Promise<Json> {
    return this.transport.json("POST", `${this.sandboxPath}/fs/${verb}`, { json });
  }

  private file(path: string): string {
    return `${this.sandboxPath}/files/${filePath(path)}`;
  }
}
