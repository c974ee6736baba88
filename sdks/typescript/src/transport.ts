import { CarrelError } from "./errors.js";
import { Patience } from "./patience.js";

/** Anything that JSON can say. */
export type Json = any;
export type Query = Record<string, string | number | boolean | null | undefined>;

export interface ServerOptions {
  /** Where the server is; otherwise the variable CARREL_URL, or in a browser the page's own origin. */
  url?: string | undefined;
  /** Otherwise the variable CARREL_TOKEN. */
  token?: string | undefined;
  /** In place of the platform's own. */
  fetch?: typeof globalThis.fetch | undefined;
}

/** For what takes long: `signal` ends the waiting, and with it what was asked for, unless that has a key. */
export interface CallOptions {
  signal?: AbortSignal | undefined;
}

export interface KeyedOptions extends CallOptions {
  /**
   * A name of the caller's own for this one request. Sent twice it runs once; a lost answer is asked for again and a broken
   * stream gone on with; it is not ended by who goes away.
   */
  idempotencyKey?: string | undefined;
}

export interface Request extends KeyedOptions {
  query?: Query | undefined;
  json?: Json;
  body?: BodyInit | undefined;
  headers?: Record<string, string> | undefined;
}

/** Of an answer that is none of the server's: enough to know whose it is. */
const SHOWN = 100;

declare const process: { env: Record<string, string | undefined> } | undefined;
declare const location: { origin: string } | undefined;

/** One server over HTTP: bodies, errors, and asking again. */
export class Transport {
  readonly base: string;
  private readonly token: string;
  private readonly fetch: typeof globalThis.fetch;

  constructor(options: ServerOptions) {
    const variables = typeof process === "undefined" ? {} : process.env;
    const page = typeof location === "undefined" ? undefined : location.origin;
    const url = options.url ?? variables.CARREL_URL ?? page;
    const token = options.token ?? variables.CARREL_TOKEN;
    if (!url || !token) {
      const hint = "pass url and token, or set CARREL_URL and CARREL_TOKEN; `carrel serve` tells the address and where the token is";
      throw new CarrelError("invalid_input", url ? "no token is given" : "no server is named", { hint });
    }
    this.base = url.replace(/\/+$/, "");
    this.token = token;
    this.fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
  }

  async get(path: string, query?: Query): Promise<Json> {
    return this.json("GET", path, { query });
  }

  /** Also whether there is more than what came. */
  async cut(path: string, query: Query): Promise<{ value: Json; truncated: boolean }> {
    const response = await this.open("GET", path, { query });
    const value = this.parsed(response, await whole(response, (r) => r.text()));
    return { value, truncated: response.headers.get("X-Carrel-Truncated") === "true" };
  }

  /** Sends JSON and reads JSON, if there is any. With a key also when the answer is lost. */
  async json(method: string, path: string, request: Request = {}): Promise<Json> {
    const patience = new Patience();
    for (;;) {
      try {
        const response = await this.open(method, path, request);
        const text = await whole(response, (r) => r.text(), request.signal);
        return text === "" ? null : this.parsed(response, text);
      } catch (failure) {
        if (request.idempotencyKey === undefined || request.signal?.aborted) {
          throw failure;
        }
        await patience.after(failure);
      }
    }
  }

  /** An answer whose body is the caller's to read or cancel. */
  async open(method: string, path: string, request: Request = {}): Promise<Response> {
    const headers: Record<string, string> = { Authorization: `Bearer ${this.token}`, ...request.headers };
    let body = request.body;
    if (request.json !== undefined) {
      headers["Content-Type"] = "application/json";
      body = JSON.stringify(request.json);
    }
    if (request.idempotencyKey !== undefined) {
      headers["Idempotency-Key"] = request.idempotencyKey;
    }
    const init: RequestInit & { duplex?: "half" } = { method, headers, signal: request.signal ?? null };
    if (body !== undefined) {
      init.body = body;
      init.duplex = "half";
    }
    let response: Response;
    try {
      response = await this.fetch(this.base + path + query(request.query), init);
    } catch (cause) {
      throw request.signal?.aborted ? cause : CarrelError.unreachable(`no answer from ${this.base}: ${reason(cause)}`, cause);
    }
    if (!response.ok) {
      throw CarrelError.ofProblem(response.status, await problem(response));
    }
    return response;
  }

  private parsed(response: Response, text: string): Json {
    try {
      return JSON.parse(text);
    } catch (cause) {
      const { status, headers } = response;
      const what = `${headers.get("Content-Type") ?? "something"} that is no JSON: ${JSON.stringify(text.slice(0, SHOWN))}`;
      const hint = "something other than the server listens there or stands before it: pass the server's own url";
      throw new CarrelError("unknown", `${this.base} answers with status ${status} and ${what}`, { status, hint }, cause);
    }
  }
}

/** Reads all of an answer; one that breaks off is no answer, unless it is the caller who gave it up. */
export async function whole<T>(
  response: Response,
  read: (response: Response) => Promise<T>,
  signal?: AbortSignal | undefined,
): Promise<T> {
  try {
    return await read(response);
  } catch (cause) {
    throw signal?.aborted ? cause : CarrelError.unreachable(`the answer broke off: ${reason(cause)}`, cause);
  }
}

async function problem(response: Response): Promise<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(await response.text());
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

export function reason(cause: unknown): string {
  const error = cause as { message?: string; cause?: { message?: string } };
  return error.cause?.message ?? error.message ?? String(cause);
}

function query(given: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined && value !== null) {
      parameters.set(name, String(value));
    }
  }
  const text = parameters.toString();
  return text === "" ? "" : `?${text}`;
}

/** One segment of a URL. `fetch` resolves dots before it asks, so a dot must not get that far. */
export function segment(text: string, field: string): string {
  if (text === "" || text === "." || text === "..") {
    throw new CarrelError("invalid_input", `${field}: '${text}' names nothing`, { field });
  }
  return encodeURIComponent(text);
}

/** A file's path with each segment made safe; a leading slash stays. */
export function filePath(path: string): string {
  const parts = path.split("/");
  if (path === "" || parts.some((part) => part === "." || part === "..")) {
    throw new CarrelError("invalid_input", `path: no segment may be '.' or '..': '${path}'`, { field: "path" });
  }
  return parts.map(encodeURIComponent).join("/");
}
