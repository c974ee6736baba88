package dev.carrel.control.sandbox;

import dev.carrel.spi.Machine;
import java.time.Duration;
import java.util.Locale;

/** The ways a sandbox ends other than by its owner's wish, each with what to do next. */
final class Failures {
  private Failures() {}

  static Failure of(Machine.Death death) {
    String hint =
        switch (death.cause()) {
          case OUT_OF_MEMORY ->
              "create a new sandbox with more memory_mb, or make the code use less at a time";
          case KILLED -> "something on the host killed it: create a new sandbox and see the log";
          case CRASHED -> "create a new sandbox; do not run the same code again unchanged";
          case STOPPED -> "create a new sandbox";
          case UNKNOWN -> "create a new sandbox, and run 'carrel doctor' if it happens again";
        };
    return new Failure(death.cause().name().toLowerCase(Locale.ROOT), death.detail(), hint);
  }

  static Failure lost() {
    return new Failure(
        "lost",
        "its machine was gone when the server started",
        "create a new sandbox; a reboot of the host ends all of them");
  }

  static Failure startInterrupted() {
    return new Failure("start_failed", "the server ended while it started", "create a new sandbox");
  }

  static Failure idle(Duration timeout) {
    return new Failure(
        "idle",
        "it was not used for " + timeout.toSeconds() + " s",
        "create a new sandbox, with a larger idle_timeout_seconds if need be");
  }
}
