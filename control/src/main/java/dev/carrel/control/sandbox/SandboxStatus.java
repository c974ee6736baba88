package dev.carrel.control.sandbox;

import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** Where a sandbox is in its life. */
public enum SandboxStatus {
  CREATING,
  RUNNING,
  /** Ended in order, for example after being idle; listed until deleted or forgotten. */
  STOPPED,
  /** Could not start, or its machine died; the reason is in {@link Sandbox#failure()}. */
  FAILED,
  /** Being removed: no caller sees it any more, a restarted server finishes the work. */
  DESTROYED;

  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** The statuses that a caller can see. */
  public static List<SandboxStatus> visible() {
    return List.of(CREATING, RUNNING, STOPPED, FAILED);
  }

  public static SandboxStatus parse(String name) {
    return Arrays.stream(values())
        .filter(status -> status.wireName().equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                SandboxException.invalid(
                    "status",
                    "unknown status '"
                        + Text.printable(name, 32)
                        + "'; one of "
                        + visible().stream().map(SandboxStatus::wireName).toList()));
  }
}
