package dev.carrel.guest;

import dev.carrel.spi.Command;
import dev.carrel.spi.DataSize;
import java.time.Duration;
import java.util.Map;

/**
 * A command as the guest is to run it.
 *
 * @param environment the sandbox's own; the command's is laid over it, and nothing else is added
 * @param keep whether the process goes on when the connection ends; otherwise its tree is killed
 * @param control whether the program gets a control channel on descriptors 3 (reads) and 4 (writes)
 * @param changes whether file changes under /workspace are reported at the end
 * @param retain output kept in the guest for a later attach, at most 1 MiB
 * @param grace between the polite and the hard signal when the command's timeout has passed
 */
public record ExecRequest(
    Command command,
    Map<String, String> environment,
    boolean keep,
    boolean control,
    boolean changes,
    DataSize retain,
    Duration grace) {

  public ExecRequest {
    environment = Map.copyOf(environment);
  }

  public static ExecRequest of(Command command, Map<String, String> environment) {
    return new ExecRequest(
        command, environment, false, false, false, new DataSize(0), Duration.ofMillis(500));
  }

  public ExecRequest withKeep(boolean newKeep) {
    return new ExecRequest(command, environment, newKeep, control, changes, retain, grace);
  }

  public ExecRequest withControl(boolean newControl) {
    return new ExecRequest(command, environment, keep, newControl, changes, retain, grace);
  }

  public ExecRequest withChanges(boolean newChanges) {
    return new ExecRequest(command, environment, keep, control, newChanges, retain, grace);
  }

  public ExecRequest withRetain(DataSize newRetain) {
    return new ExecRequest(command, environment, keep, control, changes, newRetain, grace);
  }

  public ExecRequest withGrace(Duration newGrace) {
    return new ExecRequest(command, environment, keep, control, changes, retain, newGrace);
  }
}
