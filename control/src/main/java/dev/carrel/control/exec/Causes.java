package dev.carrel.control.exec;

import dev.carrel.guest.GuestEvent;
import dev.carrel.spi.ExecEvent.Cause;
import dev.carrel.spi.Machine;
import dev.carrel.spi.Text;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Why a process ended, from what the guest saw and from the machine's own counters before and
 * after. An exit code of 137 alone proves nothing.
 */
public final class Causes {
  private static final int SIGKILL = 9;
  private static final String PROGRAM = "cannot run the program";
  private static final String DIRECTORY = "cannot enter the working directory";
  private static final Map<Integer, String> CRASHES =
      Map.of(
          4, "illegal instruction",
          5, "trap",
          6, "abort",
          7, "bus error",
          8, "arithmetic error",
          11, "segmentation fault",
          31, "forbidden system call");

  private Causes() {}

  public static Cause of(GuestEvent.Exited exited, Machine.Usage before, Machine.Usage after) {
    boolean outOfMemory = after.oomKills() > before.oomKills();
    Integer signal = exited.signal();
    if (exited.timedOut()) {
      return Cause.TIMED_OUT;
    }
    if (exited.message() != null) {
      return Cause.NOT_STARTED;
    }
    if (signal != null) {
      if (outOfMemory && signal == SIGKILL && !exited.killed()) {
        return Cause.OUT_OF_MEMORY;
      }
      if (exited.killed()) {
        return Cause.KILLED;
      }
      return CRASHES.containsKey(signal) ? Cause.CRASHED : Cause.SIGNALLED;
    }
    Integer code = exited.code();
    if (code != null && code != 0) {
      // A shell whose child was killed returns like any other program; the counters tell.
      if (outOfMemory) {
        return Cause.OUT_OF_MEMORY;
      }
      if (after.pidsRefused() > before.pidsRefused()) {
        return Cause.PIDS_LIMIT;
      }
    }
    return Cause.RETURNED;
  }

  /** Why it could not be started, with what that is about: the guest tells the step alone. */
  static @Nullable String told(@Nullable String message, Exec exec) {
    if (message == null) {
      return null;
    }
    String cwd = exec.cwd();
    if (message.startsWith(PROGRAM)) {
      return naming(message, PROGRAM, exec.arguments().getFirst());
    }
    return cwd != null && message.startsWith(DIRECTORY) ? naming(message, DIRECTORY, cwd) : message;
  }

  private static String naming(String message, String step, String what) {
    return step + " '" + Text.printable(what, 200) + "'" + message.substring(step.length());
  }

  /** What to do about it; null when there is nothing to say. */
  public static @Nullable String hint(Cause cause, @Nullable Integer signal) {
    return switch (cause) {
      case RETURNED, SIGNALLED -> null;
      case NOT_STARTED -> "check that the program is in the image and in PATH, and that cwd exists";
      case TIMED_OUT ->
          "the whole process tree was ended; raise timeout_seconds, or run it in the background";
      case KILLED -> "it was ended on request";
      case CRASHED ->
          "%s: a bug in the program or a native library; the same input will do it again"
              .formatted(signal == null ? "crash" : CRASHES.getOrDefault(signal, "crash"));
      case OUT_OF_MEMORY ->
          "the sandbox reached its memory limit: process less at a time, or create one with more"
              + " memory_mb";
      case PIDS_LIMIT ->
          "the sandbox reached its limit of processes and threads: start fewer, or create one with"
              + " more pids";
      case SANDBOX_LOST -> "the sandbox is gone: see its status, and create a new one";
    };
  }
}
