import {
  type ExportInfo,
  type ExportResult,
  type ImportResult,
  type ImportSource,
  readExportInfo,
  readExportResult,
  readImportResult,
  writeImportSource,
} from "./generated/types.js";
import type { Content } from "./files.js";
import { type Transport, segment } from "./transport.js";

/** Files on their way into one sandbox and out of it. */
export class Transfers {
  constructor(
    private readonly transport: Transport,
    private readonly path: string,
  ) {}

  /** Brings files in, each for itself: `fileContent`, `url`, `sandboxId` with `path`, or `source` says from where. */
  async importFiles(...files: ImportSource[]): Promise<ImportResult> {
    const json = { files: files.map(writeImportSource) };
    return readImportResult(await this.transport.json("POST", `${this.path}/imports`, { json }));
  }

  /** Uploads a file; with `unpack` the files of a zip or tar, to a folder. */
  async upload(file: Content, destination: string, options: { unpack?: boolean } = {}): Promise<ImportResult> {
    const headers = { "Content-Type": "application/octet-stream" };
    const query = { path: destination, unpack: options.unpack ?? false };
    return readImportResult(await this.transport.json("POST", `${this.path}/imports`, { body: file as BodyInit, headers, query }));
  }

  /** Lets files and folders out, with a link to each that anybody can fetch it by for a while. */
  async export(paths: string[], options: { expiresInSeconds?: number } = {}): Promise<ExportResult> {
    const json = { paths, expires_in_seconds: options.expiresInSeconds };
    return readExportResult(await this.transport.json("POST", `${this.path}/exports`, { json }));
  }

  /** What may leave, by path. */
  async exports(): Promise<ExportInfo[]> {
    return (await this.transport.get(`${this.path}/exports`)).items.map(readExportInfo);
  }

  /** Takes an export back; its links are good for nothing then. */
  async removeExport(id: string): Promise<void> {
    await this.transport.json("DELETE", `${this.path}/exports/${segment(id, "id")}`);
  }
}
