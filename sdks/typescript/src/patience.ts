import { CarrelError } from "./errors.js";

const FIRST = 50;
const LONGEST = 2_000;
const IN_ALL = 30_000;

/** When to try again after a connection was lost, and when to give up. */
export class Patience {
  private next = FIRST;
  private waited = 0;
  private since: number | null = null;

  /** There is a connection. */
  opened(): void {
    this.since = Date.now();
  }

  /** Resolves when it is time to try again; throws the failure when trying again is no use. */
  async after(failure: unknown): Promise<void> {
    if (this.since !== null && Date.now() - this.since > IN_ALL) {
      // It held, though nothing may have come: the next one has all patience again.
      this.reset();
    }
    this.since = null;
    const passing =
      failure instanceof CarrelError && (failure.code === "unreachable" || failure.code === "shutting_down");
    if (!passing || this.waited > IN_ALL) {
      throw failure;
    }
    const delay = this.next;
    this.next = Math.min(2 * delay, LONGEST);
    this.waited += delay;
    await new Promise((resolve) => setTimeout(resolve, delay));
  }

  /** All is well again. */
  reset(): void {
    this.next = FIRST;
    this.waited = 0;
  }
}
