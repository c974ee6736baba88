export { Approvals, Audit, Carrel, type EventFilter, Sandboxes, Secrets, Snapshots, Volumes } from "./carrel.js";
export { CarrelError, type FailureCode } from "./errors.js";
export { type Content, type FileListing, Files } from "./files.js";
export type * from "./generated/types.js";
export { Host, Images, Keys, type SettingInfo, Settings } from "./operations.js";
export type { RichCodeResult } from "./rich.js";
export { Contexts, Egress, Sandbox, Terminals } from "./sandbox.js";
export { Skills } from "./skills.js";
export {
  type Bundle,
  type Channel,
  type CodeEvent,
  CodeStream,
  EventStream,
  type ExecEvent,
  ExecStream,
  FileWatch,
  Stream,
} from "./streams.js";
export { Transfers } from "./transfers.js";
export type { CallOptions, KeyedOptions, ServerOptions } from "./transport.js";

export const VERSION = "0.1.0";
