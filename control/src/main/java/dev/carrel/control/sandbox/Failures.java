package dev.carrel.control.sandbox;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Machine;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.util.Locale;
import java.util.Objects;

/** The ways a sandbox ends, each with what to do next, and what its callers are told then. */
final class Failures {
  private static final String WHEN_NEEDED = "start it when you need it";
  static final String MAX_LIFE = "max_life";

  private Failures() {}

  static Failure of(Machine.Death death) {
    String hint =
        switch (death.cause()) {
          case OUT_OF_MEMORY -> "give it more memory_mb, or make the code use less at a time";
          case KILLED -> "something on the host killed it: see the log";
          case CRASHED -> "do not run the same code again unchanged";
          case STOPPED -> "it was shut down from inside";
          case UNKNOWN -> "run 'carrel doctor' if it happens again";
        };
    return new Failure(death.cause().name().toLowerCase(Locale.ROOT), death.detail(), hint);
  }

  static Failure lost() {
    return new Failure(
        "lost",
        "its machine was gone when the server started",
        "a reboot of the host ends all machines");
  }

  static Failure startInterrupted() {
    return new Failure("start_failed", "the server ended while it started", "try it again");
  }

  static Failure startFailed(SandboxException reason) {
    return new Failure(
        "start_failed",
        reason.message(),
        reason.hint().orElse("run 'carrel doctor' to see what this host lacks"));
  }

  static Failure asked() {
    return new Failure("stopped", "it was stopped", WHEN_NEEDED);
  }

  static Failure idle(Duration timeout) {
    return new Failure(
        "idle",
        "it was not used for " + timeout.toSeconds() + " s",
        "give it a larger idle_timeout_seconds if that is too short; a command that is to keep it"
            + " alive while it waits is run in the background, not with & or nohup");
  }

  static Failure maxLife(Duration life) {
    return new Failure(
        MAX_LIFE,
        "it has run for " + life.toSeconds() + " s, as long as it may",
        "a start begins a new life; PATCH max_life_seconds to have a longer one");
  }

  static Failure retention(Duration retention) {
    return new Failure(
        "retention",
        "it ended " + retention.toSeconds() + " s ago, and nobody came back to it",
        "start it, or PATCH it, to keep its files for longer");
  }

  static Failure evicted() {
    return new Failure(
        "evicted", "it was idle and its place was needed", "start it when there is room again");
  }

  static Failure restored() {
    return new Failure("restored", "its files are being replaced", "try again in a moment");
  }

  static Failure shutdown() {
    return new Failure("shutdown", "its server ended", WHEN_NEEDED);
  }

  /** What to throw for one that has no machine. */
  static SandboxException notRunning(Sandbox row) {
    if (row.status() == SandboxStatus.DESTROYED) {
      return notFound(row.id());
    }
    if (row.status().live()) {
      return new SandboxException(
              ErrorCode.WRONG_STATE,
              "sandbox %s is %s".formatted(row.id(), row.status().wireName()))
          .withHint("try again in a moment");
    }
    Failure failure = Objects.requireNonNullElse(row.failure(), asked());
    String what = "sandbox %s is %s".formatted(row.id(), row.status().wireName());
    if (!failure.cause().equals(row.status().wireName())) {
      what += " (%s): %s".formatted(failure.cause(), failure.message());
    }
    // One that died is gone, with what ran in it, also when its files can come back.
    boolean stopped = row.status() == SandboxStatus.STOPPED && row.restartable();
    return new SandboxException(stopped ? ErrorCode.WRONG_STATE : ErrorCode.SANDBOX_GONE, what)
        .withHint(hint(row.restartable(), failure.hint()));
  }

  /** Throws when one that has ended is to be looked at before it runs again. */
  static void requireNotHeld(Sandbox row) {
    String why = row.held().orElse(null);
    if (why != null) {
      throw new SandboxException(
              ErrorCode.WRONG_STATE,
              "sandbox %s is %s and frozen: %s".formatted(row.id(), row.status().wireName(), why))
          .withHint("see what it did, then start it by its id or delete it");
    }
  }

  private static String hint(boolean restartable, String hint) {
    String more = hint.equals(WHEN_NEEDED) ? "" : "; " + hint;
    return restartable
        ? "start it again, its files are kept" + more
        : "create a new sandbox, its files were in memory and are gone" + more;
  }

  static SandboxException changed(SandboxId id) {
    return new SandboxException(
        ErrorCode.WRONG_STATE, "sandbox " + id + " changed its status meanwhile; look again");
  }

  static SandboxException notFound(SandboxId id) {
    return new SandboxException(ErrorCode.SANDBOX_NOT_FOUND, "there is no sandbox " + id);
  }
}
