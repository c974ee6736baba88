package dev.carrel.control.exec;

import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One process in a sandbox, running or ended.
 *
 * @param queued how long it waited for its turn
 * @param principal who started it; empty when nobody knows any more
 * @param digest of the request, in hex; empty likewise
 * @param outputEnd bytes of both streams so far
 * @param exited null while it runs
 */
public record Exec(
    ExecId id,
    SandboxId sandbox,
    List<String> arguments,
    @Nullable String cwd,
    boolean background,
    boolean terminal,
    Duration queued,
    String principal,
    String digest,
    Instant startedAt,
    @Nullable Instant endedAt,
    long pid,
    long outputEnd,
    ExecEvent.@Nullable Exited exited) {
  public Exec {
    arguments = List.copyOf(arguments);
  }

  Exec with(
      long newPid,
      long newOutputEnd,
      @Nullable Instant newEndedAt,
      ExecEvent.@Nullable Exited newExited) {
    return new Exec(
        id,
        sandbox,
        arguments,
        cwd,
        background,
        terminal,
        queued,
        principal,
        digest,
        startedAt,
        newEndedAt,
        newPid,
        newOutputEnd,
        newExited);
  }

  /** The command as one would type it: a shell's line without the shell. */
  public String line() {
    return arguments.size() == 3 && arguments.get(1).equals("-c")
        ? arguments.getLast()
        : String.join(" ", arguments);
  }

  public boolean running() {
    return exited == null;
  }
}
