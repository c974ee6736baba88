import { CarrelError } from "./errors.js";
import {
  type CodeDone,
  type CodeError,
  type Event,
  type ExecExited,
  type ExecStarted,
  type WatchChange,
  readCodeDone,
  readCodeError,
  readEvent,
  readExecExited,
  readExecStarted,
  readWatchChange,
} from "./generated/types.js";
import { Patience } from "./patience.js";
import { EventParser, type ServerEvent } from "./sse.js";
import { type KeyedOptions, type Query, type Transport, reason } from "./transport.js";

export type Channel = "stdout" | "stderr";
/** One value by MIME type; text types hold text, all others base64. */
export type Bundle = Record<string, string>;

/**
 * What a command reports, in order: any queued, one started, any output and gap, one exited. A command that could not be
 * started is an exited alone.
 */
export type ExecEvent =
  | { kind: "queued"; position: number }
  | ({ kind: "started" } & ExecStarted)
  /** The text has whole characters: one that is split comes with its last byte. */
  | { kind: "output"; channel: Channel; bytes: Uint8Array; text: string; next: number }
  | { kind: "gap"; bytes: number }
  | ({ kind: "exited" } & ExecExited);

/**
 * What code reports, in order: any queued, one started, any output, display and gap, at most one result and one error, one
 * done.
 */
export type CodeEvent =
  | { kind: "queued"; position: number }
  | { kind: "started"; queuedMs: number }
  | { kind: "output"; channel: Channel; text: string }
  | { kind: "display"; bundle: Bundle }
  | { kind: "result"; bundle: Bundle }
  | { kind: "error"; error: CodeError }
  | { kind: "gap"; events: number }
  | ({ kind: "done" } & CodeDone);

/** Asks for the events after the one with this id; null: nothing came yet. */
export type Opening = (seen: number | null, signal: AbortSignal) => Promise<Response>;

/**
 * Events of something that may outlive its connection. When that breaks, another one goes on after the last event that
 * came.
 */
export class ResumedEvents {
  private readonly patience = new Patience();
  private readonly abort = new AbortController();
  private reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  private parser = new EventParser();
  private decoder = new TextDecoder();
  private ready: ServerEvent[] = [];
  private started = false;
  private over = false;

  constructor(
    private readonly opening: Opening,
    private readonly last: string | null,
    private readonly resumable: boolean,
    private seen: number | null = null,
    /** The caller's own, which the opening heeds. */
    private readonly given: AbortSignal | undefined = undefined,
  ) {}

  /** Waits for the next event; null after the last one. */
  async next(): Promise<ServerEvent | null> {
    while (!this.over && !this.abort.signal.aborted) {
      try {
        const event = await this.read();
        if (event === null && (this.resumable || this.last !== null)) {
          throw CarrelError.unreachable("the stream ended early");
        }
        if (event === null || this.isNew(event)) {
          return event;
        }
      } catch (failure) {
        if (this.abort.signal.aborted) {
          return null;
        }
        this.drop();
        if (!this.resumable) {
          // What was asked for is not asked for twice.
          this.over = true;
          throw failure;
        }
        await this.patience.after(failure);
      }
    }
    return null;
  }

  /** Connects, when it is not connected. */
  async open(): Promise<ReadableStreamDefaultReader<Uint8Array>> {
    if (this.reader === null) {
      const response = await this.opening(this.seen, this.abort.signal);
      this.patience.opened();
      this.reader = response.body!.getReader();
      this.parser = new EventParser();
      this.decoder = new TextDecoder();
      this.ready = [];
    }
    return this.reader;
  }

  private async read(): Promise<ServerEvent | null> {
    const reader = await this.open();
    while (this.ready.length === 0) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw this.given?.aborted ? cause : CarrelError.unreachable(`the stream of events broke off: ${reason(cause)}`, cause);
      });
      if (done) {
        return null;
      }
      this.ready.push(...this.parser.feed(this.decoder.decode(value, { stream: true })));
    }
    const event = this.ready.shift()!;
    if (event.name === "failure") {
      throw CarrelError.ofProblem(0, event.data);
    }
    return event;
  }

  private isNew(event: ServerEvent): boolean {
    this.patience.reset();
    if (event.id > (this.seen ?? 0)) {
      this.seen = event.id;
    }
    this.over = event.name === this.last;
    // Each connection to a command begins with the same word.
    const repeated = this.started && event.name === "started";
    this.started ||= event.name === "started";
    return !repeated;
  }

  private drop(): void {
    this.reader?.cancel().catch(() => undefined);
    this.reader = null;
  }

  close(): void {
    this.abort.abort();
    this.drop();
  }
}

/** Events as they come, for one reader. Leaving a `for await` over it closes it. */
export class Stream<E> implements AsyncIterable<E>, AsyncDisposable {
  protected readonly first: E[] = [];

  constructor(
    protected readonly events: ResumedEvents,
    private readonly parse: (event: ServerEvent) => E,
  ) {}

  /** Waits for the next event; null after the last one. */
  async next(): Promise<E | null> {
    return this.first.shift() ?? (await this.receive());
  }

  protected async receive(): Promise<E | null> {
    const event = await this.events.next();
    return event === null ? null : this.parse(event);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<E, void, undefined> {
    try {
      for (let event = await this.next(); event !== null; event = await this.next()) {
        yield event;
      }
    } finally {
      this.close();
    }
  }

  close(): void {
    this.events.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }
}

/** Running code, event by event. Closing it early interrupts the code, unless it has an idempotency key. */
export class CodeStream extends Stream<CodeEvent> {
  constructor(events: ResumedEvents) {
    super(events, codeEvent);
  }
}

/** What happens to sandboxes, as it happens; goes on by itself after a broken connection. */
export class EventStream extends Stream<Event> {
  constructor(events: ResumedEvents) {
    super(events, (event) => readEvent(event.data));
  }

  /** Once it resolves nothing more is missed. */
  async begin(): Promise<this> {
    await this.events.open();
    return this;
  }
}

/** Changes below a directory as they happen. */
export class FileWatch extends Stream<WatchChange> {
  constructor(events: ResumedEvents) {
    super(events, (event) => readWatchChange(event.data));
  }

  /** Once it resolves nothing more is missed. */
  async begin(): Promise<this> {
    if ((await this.events.next()) === null) {
      throw CarrelError.unreachable("the watch ended before it began");
    }
    return this;
  }
}

/**
 * A command that is being followed. Closing it early kills the command, unless it runs in the background or has an
 * idempotency key; then it is also followed over broken connections, and nothing is lost or comes twice.
 */
export class ExecStream extends Stream<ExecEvent> {
  /** How it ended, once it has. */
  exited: ExecExited | null = null;

  constructor(
    private readonly transport: Transport,
    private readonly sandboxPath: string,
    events: ResumedEvents,
    private known: string | null = null,
  ) {
    super(events, execEvents());
  }

  /** Reads up to the first event with the id, which every other call needs. */
  async begin(): Promise<this> {
    while (this.known === null) {
      const event = await this.receive();
      if (event === null) {
        throw CarrelError.unreachable("the stream ended before the command had an id");
      }
      this.first.push(event);
    }
    return this;
  }

  get id(): string {
    if (this.known === null) {
      throw new CarrelError("wrong_state", "the command has no id before its first event came");
    }
    return this.known;
  }

  protected override async receive(): Promise<ExecEvent | null> {
    const event = await super.receive();
    if (event?.kind === "started" || event?.kind === "exited") {
      this.known = event.id;
    }
    if (event?.kind === "exited") {
      this.exited = event;
    }
    return event;
  }

  /** Feeds standard input; resolves when the sandbox has taken it. */
  async write(data: string | Uint8Array, options: { eof?: boolean } = {}): Promise<void> {
    await this.transport.json("POST", `${this.path()}/stdin`, {
      body: data as BodyInit,
      headers: { "Content-Type": "application/octet-stream" },
      query: { eof: options.eof },
    });
  }

  async closeStdin(): Promise<void> {
    await this.write("", { eof: true });
  }

  /** Sends a signal by name, for example `SIGINT`. */
  async signal(name: string, scope: "process" | "group" | "tree" = "group"): Promise<void> {
    await this.transport.json("POST", `${this.path()}/signal`, { json: { signal: name, scope } });
  }

  /** Kills the command and everything it started. */
  async kill(): Promise<void> {
    await this.signal("SIGKILL", "tree");
  }

  /** Tells the command's terminal its new size. */
  async resize(rows: number, cols: number): Promise<void> {
    await this.transport.json("POST", `${this.path()}/resize`, { json: { rows, cols } });
  }

  /** Reads on to the end and drops the output. */
  async wait(): Promise<ExecExited> {
    for await (const _ of this);
    if (this.exited === null) {
      throw CarrelError.unreachable("the stream ended before the command did");
    }
    return this.exited;
  }

  private path(): string {
    return `${this.sandboxPath}/execs/${this.id}`;
  }
}

/** Reads the events of one command. */
function execEvents(): (event: ServerEvent) => ExecEvent {
  let decoders = fresh();
  return (event) => {
    switch (event.name) {
      case "stdout":
      case "stderr": {
        const bytes = Uint8Array.from(atob(event.data.base64), (character) => character.charCodeAt(0));
        const text = decoders[event.name].decode(bytes, { stream: true });
        return { kind: "output", channel: event.name, bytes, text, next: event.id };
      }
      case "started":
        return { kind: "started", ...readExecStarted(event.data) };
      case "queued":
        return { kind: "queued", position: event.data.position };
      case "gap":
        // What comes next does not end what came last.
        decoders = fresh();
        return { kind: "gap", bytes: event.data.bytes };
      case "exited":
        return { kind: "exited", ...readExecExited(event.data) };
      default:
        throw unknown(event);
    }
  };
}

/** A mark of byte order is a character like others. */
function fresh(): Record<Channel, TextDecoder> {
  const decoder = () => new TextDecoder("utf-8", { ignoreBOM: true });
  return { stdout: decoder(), stderr: decoder() };
}

function codeEvent(event: ServerEvent): CodeEvent {
  switch (event.name) {
    case "stdout":
    case "stderr":
      return { kind: "output", channel: event.name, text: event.data.text };
    case "display":
    case "result":
      return { kind: event.name, bundle: event.data };
    case "error":
      return { kind: "error", error: readCodeError(event.data) };
    case "started":
      return { kind: "started", queuedMs: event.data.queued_ms };
    case "queued":
      return { kind: "queued", position: event.data.position };
    case "gap":
      return { kind: "gap", events: event.data.events };
    case "done":
      return { kind: "done", ...readCodeDone(event.data) };
    default:
      throw unknown(event);
  }
}

function unknown(event: ServerEvent): CarrelError {
  return CarrelError.unreachable(`an event that this client does not know: ${event.name}`);
}

/** Events of something that this request starts, or with a key that came before, finds. */
export function running(transport: Transport, path: string, json: object, options: KeyedOptions, last: string, query?: Query): ResumedEvents {
  const key = options.idempotencyKey;
  return new ResumedEvents((seen, signal) => {
    const headers = accept(key === undefined ? null : seen);
    const either = options.signal === undefined ? signal : AbortSignal.any([signal, options.signal]);
    return transport.open("POST", path, { json, headers, query, idempotencyKey: key, signal: either });
  }, last, key !== undefined, null, options.signal);
}

/**
 * News of sandboxes. The place to go on from is asked for before the first one comes: a connection may break earlier.
 */
export function news(transport: Transport, path: string, after: number | undefined, query: Query): EventStream {
  let begin = after ?? null;
  return new EventStream(
    new ResumedEvents(async (seen, signal) => {
      if (seen === null && begin === null) {
        const recent = (await transport.get("/api/v1/events", { recent: 1 })).events;
        begin = recent[0]?.id ?? null;
      }
      return transport.open("GET", path, { headers: accept(seen ?? begin), query, signal });
    }, null, true),
  );
}

export function accept(seen: number | null): Record<string, string> {
  return seen === null ? { Accept: "text/event-stream" } : { Accept: "text/event-stream", "Last-Event-ID": String(seen) };
}
