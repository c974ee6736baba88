import type { ErrorCode } from "./generated/types.js";

/** A code of the server; `unreachable` when there was no whole answer; anything else is a code of a newer server. */
export type FailureCode = ErrorCode | "unreachable" | (string & {});

type Wire = Record<string, any>;

/**
 * A call that failed: the server refused it, or could not be reached. The message is meant for people; match on `code`.
 * A command or code that fails is a result, not an error.
 */
export class CarrelError extends Error {
  override readonly name = "CarrelError";
  readonly code: FailureCode;
  /** Of HTTP; 0 without an answer. */
  readonly status: number;
  /** What to do about it. */
  readonly hint: string | null;
  /** The input at fault. */
  readonly field: string | null;
  /** How a sandbox died. */
  readonly died: string | null;
  readonly requestId: string | null;

  constructor(code: FailureCode, message: string, problem: Wire = {}, cause?: unknown) {
    super(problem.hint ? `${message} (${problem.hint})` : message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = problem.status ?? 0;
    this.hint = problem.hint ?? null;
    this.field = problem.field ?? null;
    this.died = problem.cause ?? null;
    this.requestId = problem.request_id ?? null;
  }

  /** From the server's `application/problem+json`. */
  static ofProblem(status: number, problem: Wire): CarrelError {
    const message = problem.detail ?? problem.title ?? `HTTP status ${status}`;
    return new CarrelError(problem.code ?? "unknown", message, { status, ...problem });
  }

  static unreachable(message: string, cause?: unknown): CarrelError {
    return new CarrelError("unreachable", message, {}, cause);
  }
}
