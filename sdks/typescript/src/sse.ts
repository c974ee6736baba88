import { CarrelError } from "./errors.js";
import type { Json } from "./transport.js";

/** One server-sent event; its id is 0 unless given. */
export interface ServerEvent {
  name: string;
  data: Json;
  id: number;
}

/** Server-sent events out of text. Lines end at a line feed: JSON may hold any other separator of Unicode. */
export class EventParser {
  private rest = "";
  private name = "message";
  private data: string[] = [];
  private id = 0;

  *feed(text: string): Generator<ServerEvent> {
    const lines = (this.rest + text).split("\n");
    this.rest = lines.pop() ?? "";
    for (const line of lines) {
      const event = this.line(line.endsWith("\r") ? line.slice(0, -1) : line);
      if (event !== null) {
        yield event;
      }
    }
  }

  private line(line: string): ServerEvent | null {
    if (line === "") {
      const event = this.data.length === 0 ? null : this.event();
      this.name = "message";
      this.data = [];
      this.id = 0;
      return event;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "event") {
      this.name = value;
    } else if (field === "data") {
      this.data.push(value);
    } else if (field === "id") {
      this.id = Number(value);
    }
    return null;
  }

  private event(): ServerEvent {
    try {
      return { name: this.name, data: JSON.parse(this.data.join("\n")), id: this.id };
    } catch (cause) {
      throw CarrelError.unreachable(`an event that is not JSON: ${this.name}`, cause);
    }
  }
}
